"""Incidents on record: how they are opened, what is put on record of a check, and how they are found again."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.domain.alert import BOT, Alert, SourceKind
from bot.domain.contracts import Leases, Ledger
from bot.domain.entry import Entry, is_stream
from bot.domain.errors import (
    Conflict,
    ImpossibleEvent,
    LedgerError,
    LedgerUnavailable,
    UnknownIncident,
    UnreadableEntry,
)
from bot.domain.events import AlertReceived, IncidentEvent, PlanWithheld, Triaged
from bot.domain.fold import after, fold
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.response.proposal import ACTING_IS_OFF

Offer: TypeAlias = Callable[[Verdict, Playbook, str], Awaitable[IncidentEvent | None]]  # of an incident, by its id

_TRIES = 3  # on Conflict: read again, fold, decide again


def _unheard(event: str, **fields: object) -> None:
    """Hears lines where nobody keeps a log."""


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
    """Incidents in the ledger: opened, judged, found again, and carried on one entry at a time."""

    def __init__(
        self,
        ledger: Ledger,
        log: Callable[..., None] = _unheard,
        offer: Offer | None = None,
        leases: Leases | None = None,
    ) -> None:
        """`offer` decides what becomes of a verdict's plan; without it no plan is offered.

        `leases`: whoever opens an incident sees to it.
        """
        self._ledger = ledger
        self._log = log
        self._offer = offer
        self._leases = leases

    # --- what is there

    async def find(self, incident_id: str) -> Incident:
        """Return the incident as it stands.

        Raises: UnknownIncident when there is none of that id.
        """
        return fold(await self.story(incident_id))

    async def story(self, incident_id: str) -> tuple[Entry, ...]:
        """Return the incident's entries.

        Raises: UnknownIncident when there is none of that id.
        """
        entries = await self._ledger.read(incident_id) if is_stream(incident_id) and incident_id != HOUSE else ()
        if not entries:
            raise UnknownIncident(f"There is no incident {one_line(incident_id, 40)!r}.")
        return entries

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

    async def owing(self, group: str) -> tuple[Incident, ...]:
        """Return a group in which whoever saw to it left a node without a verdict; nothing where every node has one.

        Raises: LedgerError when the ledger cannot be asked.
        """
        found = await self.together(group)
        return found if any(one.state is State.OPENED and not one.undoes for one in found) else ()

    # --- what is added

    async def tell(self, incident: Incident, event: IncidentEvent, by: str) -> Incident:
        """Add one event to an incident and return it as it then stands.

        Raises: Conflict when it went on meanwhile: find it again and decide again. ImpossibleEvent when the event
        cannot come next.
        """
        return after(incident, await self._ledger.append(incident.id, incident.seq, event, by))

    async def opened(self, opening: Opening, node: str) -> bool:
        """Open the incident of one node; False when it is on record already, from an earlier telling of the wish.

        A ledger that cannot be asked never keeps anybody's node from being read.
        """
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

    async def triaged(self, opening: Opening, verdict: Verdict, playbook: Playbook) -> bool:
        """Put a verdict on record, and what becomes of its plan, where it has one; False: it has to be told again.

        A ledger that cannot be asked never keeps a verdict from whoever asked for it.
        """
        try:
            await self.offered(await self.judged(opening, verdict, playbook), verdict, playbook)
        except LedgerError as error:
            self._log("record_failed", incident=opening.incident(verdict.node), error=one_line(str(error)))
            return not isinstance(error, LedgerUnavailable)
        return True

    async def judged(self, opening: Opening, verdict: Verdict, playbook: Playbook) -> Incident:
        """Put a verdict on record, and before it its incident where that is not there yet; return the incident.

        Shape: one that has its verdict keeps it; that it was written down may not have been heard.
        Raises: LedgerError when it cannot be written down.
        """
        name = opening.incident(verdict.node)
        taken_at = verdict.snapshot.taken_at if verdict.snapshot is not None else None
        event = Triaged(replace(verdict, snapshot=None), playbook.name, playbook.version, taken_at)
        if not (await self._ledger.head(name)).seq:
            await self._ledger.append(name, 0, opening.received(verdict.node), opening.by)
        incident = await self.find(name)
        return await self._tell_now(incident, event) if incident.state is State.OPENED else incident

    async def offered(self, incident: Incident, verdict: Verdict, playbook: Playbook) -> Incident:
        """Put on record what becomes of a verdict's plan, where it has one; return the incident.

        Raises: LedgerError when it cannot be written down.
        """
        if verdict.plan is None or incident.state is not State.TRIAGED or incident.ended:
            return incident
        event = await self._offer(verdict, playbook, incident.id) if self._offer is not None else None
        return await self._tell_now(incident, event or PlanWithheld(ACTING_IS_OFF))

    async def _tell_now(self, incident: Incident, event: IncidentEvent) -> Incident:
        """Add an event of ours also where another alert joined the incident meanwhile."""
        for _ in range(_TRIES - 1):
            try:
                return await self.tell(incident, event, BOT)
            except Conflict:
                incident = await self.find(incident.id)
        return await self.tell(incident, event, BOT)


def _short(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
