"""What is put on record of a check: that somebody asked, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.domain.alert import BOT, Alert, SourceKind
from bot.domain.contracts import Ledger
from bot.domain.errors import Conflict, LedgerError
from bot.domain.events import AlertReceived, PlanWithheld, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.safe_text import one_line
from bot.domain.verdict import Verdict

ACTING_IS_OFF = "This bot shows what would help and does not act."


@dataclass(frozen=True, slots=True)
class Opening:
    """Somebody's wish, as it goes on record. `id` is the source's own name of it: the same twice is one wish."""

    kind: SourceKind
    id: str
    by: str
    text: str
    playbook: str

    @property
    def group(self) -> str:
        """The name that the incidents of this wish share; made from the wish, so that a repeated one meets itself."""
        return _short("group", self.kind, self.id)

    def incident(self, node: str) -> str:
        """The id of this wish's incident of one node."""
        return _short("incident", self.kind, self.id, node)


class Record:
    """Writes checks into the ledger. A ledger that cannot be asked never keeps a verdict from the person who asked."""

    def __init__(self, ledger: Ledger, log: Callable[..., None]) -> None:
        self._ledger = ledger
        self._log = log

    async def opened(self, opening: Opening, nodes: Sequence[str]) -> Mapping[str, str] | None:
        """Open one incident a node and return their ids by node; None when this wish is on record already."""
        incidents = {node: opening.incident(node) for node in nodes}
        alert = Alert(opening.kind, opening.id, opening.by, one_line(opening.text, 1000))
        for node, incident in incidents.items():
            try:
                await self._ledger.append(
                    incident, 0, AlertReceived(alert, node, opening.group, opening.playbook), opening.by
                )
            except Conflict:
                return None
            except LedgerError as error:
                self._log("ledger_unavailable", incident=incident, error=one_line(str(error)))
        return incidents

    async def owing(self) -> tuple[Incident, ...]:
        """Return the incidents that an earlier run of the program left without a verdict."""
        found = []
        for stream in await self._ledger.open_streams():
            incident = fold(await self._ledger.read(stream))
            if incident.triage is None:
                found.append(incident)
        return tuple(found)

    async def triaged(self, incident: str, verdict: Verdict, playbook: Playbook) -> None:
        """Put a verdict on record, and that its plan is not offered, where it has one."""
        kept = replace(verdict, snapshot=None)
        taken_at = verdict.snapshot.taken_at if verdict.snapshot is not None else None
        try:
            entry = await self._ledger.append(
                incident, 1, Triaged(kept, playbook.name, playbook.version, taken_at), BOT
            )
            if verdict.plan is not None:
                await self._ledger.append(incident, entry.seq, PlanWithheld(ACTING_IS_OFF), BOT)
        except LedgerError as error:
            self._log("ledger_unavailable", incident=incident, error=one_line(str(error)))


def _short(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
