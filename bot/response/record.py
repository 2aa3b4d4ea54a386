"""What is put on record of a check: that somebody asked, and what came of it."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.domain.alert import BOT, Alert, SourceKind
from bot.domain.contracts import Leases, Ledger
from bot.domain.errors import Conflict, ImpossibleEvent, LedgerError, UnreadableEntry
from bot.domain.events import AlertReceived, IncidentEvent, PlanWithheld, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.json_form import plain, read
from bot.domain.playbook import Playbook
from bot.domain.redaction import redacted
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.response.proposal import ACTING_IS_OFF

Offer: TypeAlias = Callable[[Verdict, Playbook, str], Awaitable[IncidentEvent | None]]  # of an incident, by its id


@dataclass(frozen=True, slots=True)
class Opening:
    """Somebody's wish, as it goes on record. `id` is the source's own name of it: the same twice is one wish."""

    kind: SourceKind
    id: str
    by: str
    text: str
    playbook: str

    @classmethod
    def of(cls, incident: Incident) -> Opening:
        """Return the opening that an incident's first entry tells of."""
        alert = incident.alert
        return cls(alert.kind, alert.id, alert.asked_by, alert.text, incident.playbook)

    @property
    def group(self) -> str:
        """The name that the incidents of this wish share; made from the wish, so that a repeated one meets itself."""
        return _short("group", self.kind, self.id)

    def incident(self, node: str) -> str:
        """The id of this wish's incident of one node."""
        return _short("incident", self.kind, self.id, node)

    def received(self, node: str) -> AlertReceived:
        """The first entry of that incident."""
        alert = Alert(self.kind, self.id, self.by, one_line(self.text, 1000))
        return AlertReceived(alert, node, self.group, self.playbook)


class Record:
    """Writes checks into the ledger. A ledger that cannot be asked never keeps a verdict from the person who asked."""

    def __init__(
        self, ledger: Ledger, log: Callable[..., None], offer: Offer | None = None, leases: Leases | None = None
    ) -> None:
        """`offer` decides what becomes of a verdict's plan; without it no plan is offered.

        `leases`: whoever opens an incident sees to it.
        """
        self._ledger = ledger
        self._log = log
        self._offer = offer
        self._leases = leases

    async def opened(self, opening: Opening, node: str) -> bool:
        """Open the incident of one node; False when it is on record already, from an earlier telling of the wish."""
        incident = opening.incident(node)
        try:
            if (await self._ledger.head(incident)).seq:
                return False
            # Before it is on record: until then nobody else can find it without somebody who sees to it.
            if self._leases is not None and not await self._leases.take(opening.group):
                return False
            await self._ledger.append(incident, 0, opening.received(node), opening.by)
        except Conflict:
            return False
        except LedgerError as error:
            self._log("record_failed", incident=incident, error=one_line(str(error)))
        return True

    async def owing(self, group: str) -> tuple[Incident, ...]:
        """Return a group in which whoever saw to it left a node without a verdict; nothing where every node has one.

        Raises: LedgerError when the ledger cannot be asked.
        """
        found = await self.together(group)
        return found if any(one.state is State.OPENED and not one.undoes for one in found) else ()

    async def together(self, group: str) -> tuple[Incident, ...]:
        """Return the incidents that are shown together, the oldest first; what cannot be read here is left out.

        Raises: LedgerError when the ledger cannot be asked.
        """
        folded = []
        for incident in await self._ledger.together(group):
            entries = await self._ledger.read(incident)
            try:
                folded.append(fold(entries))
            except (ImpossibleEvent, UnreadableEntry) as error:  # a newer program's, or a damaged one: not ours to end
                self._log("record_unreadable", incident=incident, error=one_line(str(error)))
        return tuple(folded)

    async def triaged(self, opening: Opening, verdict: Verdict, playbook: Playbook) -> None:
        """Put a verdict on record, and that its plan is not offered, where it has one."""
        incident = opening.incident(verdict.node)
        taken_at = verdict.snapshot.taken_at if verdict.snapshot is not None else None
        event = Triaged(replace(verdict, snapshot=None), playbook.name, playbook.version, taken_at)
        try:
            seq = (await self._ledger.head(incident)).seq
            if not seq:  # the ledger could not be asked when the wish came
                seq = (await self._ledger.append(incident, 0, opening.received(verdict.node), opening.by)).seq
            entry = await self._ledger.append(incident, seq, event, BOT)
            if verdict.plan is not None:
                offered = await self._offer(verdict, playbook, incident) if self._offer is not None else None
                await self._ledger.append(incident, entry.seq, offered or PlanWithheld(ACTING_IS_OFF), BOT)
        except LedgerError as error:
            self._log("record_failed", incident=incident, error=one_line(str(error)))


def without_secrets(verdict: Verdict) -> Verdict:
    """Return the verdict as it may be shown in a channel: what the record takes out is taken out here too."""
    shown: Verdict = read(Verdict, redacted(plain(verdict)))
    return replace(shown, node=verdict.node, snapshot=verdict.snapshot)  # the name is the inventory's, not the node's


def _short(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
