"""What the tools answer: nodes are read and the record is shown, with the parts that all surfaces use."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain.alert import MCP
from bot.domain.contracts import Clock, Fresh, NodeDirectory, unheard
from bot.domain.errors import LedgerError, Refused, UnknownIncident, UsageError
from bot.domain.fold import fold, triaged_in
from bot.domain.playbook import Playbook, Playbooks
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Status, Verdict
from bot.extras.cases.explaining import Explainer
from bot.extras.cases.why_document import why_body, why_text
from bot.extras.mcp.tools import Answer
from bot.ledger import CaseStore, Ledger
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.scheduler import CheckScheduler
from bot.response.incident_record import IncidentRecord, IncidentRequest, note_refusal, null_log, received
from bot.surfaces.document import document_body
from bot.surfaces.incidents import incident_body, incident_text, incidents_body, incidents_text
from bot.surfaces.verdict_text import summary, verdict_text
from bot.view.context import ViewContext
from bot.view.plan_words import PlanWords

MOST_LISTED = 200  # incidents in an answer; the rest is counted
WITHHELD = "It was asked through MCP, which offers no plan: check the node in Slack or a terminal to get its plan."


@dataclass(frozen=True, slots=True)
class Asker:
    """Who makes these calls, as the record names people; `os_user` is the login in a terminal."""

    by: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class ToolAnswers:
    """Answers from nodes and from the record; without a ledger checks are not recorded, and there are no incidents.

    Shape: each check opens an incident of the kind `mcp` for each node; its plan is never offered. `cases` keeps what
    the nodes said; without `cases` nothing is explained.
    """

    asker: Asker
    reads: CheckScheduler
    nodes: NodeDirectory
    playbooks: Playbooks
    words: PlanWords
    clock: Clock
    fresh: Fresh
    explainer: Explainer
    ledger: Ledger | None = None
    cases: CaseStore | None = None

    async def check(self, nodes: Sequence[str]) -> Answer:
        """Read the nodes, put the verdicts on record, and return them in the order asked for.

        Raises: InventoryError for a name that is not in the inventory, before anything is read.
        """
        known = [self.nodes.find(name) for name in nodes]
        playbook = self.playbooks.get("")
        answers = await asyncio.gather(*(self.reads.ask(self.asker.by, node, playbook, unheard) for node in known))
        verdicts = [verdict for verdict in answers if verdict is not None]
        if len(verdicts) < len(known):
            raise UsageError("The bot is stopping.", "Ask again in a moment.")
        ids, trouble = await self._record_incidents(verdicts, playbook)
        text = "\n".join(verdict_text(verdict, words=self.words) for verdict in verdicts)
        if len(verdicts) > 1:
            text += f"\n{summary(verdicts, len(verdicts))}\n"
        text += "".join(f"Incident {incident} of {node}.\n" for node, incident in ids.items())
        return Answer(document_body(verdicts, ids), text + trouble)

    async def _record_incidents(self, verdicts: Sequence[Verdict], playbook: Playbook) -> tuple[dict[str, str], str]:
        """Open an incident for each verdict; the verdicts are returned even when the ledger fails."""
        if self.ledger is None:
            return {}, ""
        text = f"check {' '.join(verdict.node for verdict in verdicts)}"
        opening = IncidentRequest(MCP, self.fresh(), self.asker.by, text, playbook.name, self.asker.os_user)
        recorder, ids = VerdictRecorder(self.ledger, None, null_log, self.cases), dict[str, str]()
        try:
            for verdict in verdicts:
                incident = opening.unrecorded(verdict.node, self.clock())
                begun = replace(received(incident), withheld=WITHHELD)
                entry = await self.ledger.append(incident.id, 0, begun, self.asker.by)
                await recorder.record(replace(incident, seq=entry.seq, head=entry.hash), verdict, playbook)
                ids[verdict.node] = incident.id
        except LedgerError as no:
            return ids, f"This is not all on record: {one_line(no.sentence)}\n"
        return ids, ""

    async def incidents(self, state: State | None) -> Answer:
        """Return the newest incidents of that state, or of all."""
        found = await self.ledger.incidents() if self.ledger is not None else ()
        meant = [summary for summary in found if state is None or summary.state is state]
        shown = meant[:MOST_LISTED]
        left = {"left_off": len(meant) - len(shown)} if len(meant) > len(shown) else {}
        return Answer({"incidents": incidents_body(shown), **left}, incidents_text(shown))

    async def incident(self, incident_id: str) -> Answer:
        """Return an incident. Raises: UnknownIncident."""
        entries = await IncidentRecord(self._ledger_or_refuse(incident_id)).entries(incident_id)
        incident = fold(entries)
        text = incident_text(incident, entries, context=ViewContext(words=self.words))
        return Answer(incident_body(incident, entries), text)

    async def explain(self, incident_id: str) -> Answer:
        """Evaluate what an incident's node said again, with one change at a time.

        Raises: UnknownIncident; UsageError when what it said is not kept; CaseError when it is damaged; PlaybookError.
        """
        entries = await IncidentRecord(self._ledger_or_refuse(incident_id)).entries(incident_id)
        triaged = triaged_in(entries)
        if triaged is None or triaged.verdict.status is Status.UNREACHABLE:
            nobody = "Nobody could talk to its node" if triaged is not None else "There is no verdict yet"
            raise UsageError(f"{nobody}, so there is nothing to explain of incident {incident_id}.")
        case = await self.cases.of_verdict(incident_id, triaged) if self.cases is not None else None
        if case is None:
            raise UsageError(
                f"What the node of incident {incident_id} said is not kept.",
                "Check the node again, and explain that incident.",
            )
        explanation = await self.explainer.told(case)
        lines = (*explanation.remarks, *why_text(explanation, self.words))
        said = "".join(f"{line}\n" for line in lines)
        return Answer(why_body(explanation, self.words), said)

    async def record_refused_call(self, no: Refused, action: str) -> None:
        """Put on record that something was not done, where there is a record."""
        if self.ledger is not None:
            await note_refusal(self.ledger, action, self.asker.by, no)

    def _ledger_or_refuse(self, incident_id: str) -> Ledger:
        if self.ledger is None:
            raise UnknownIncident(f"There is no incident {one_line(incident_id, 64)}.", "There is no record here.")
        return self.ledger
