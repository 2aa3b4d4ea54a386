"""Opening incidents and carrying them on, one entry at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.domain.alert import BOT, Alert, SourceKind
from bot.domain.contracts import Ledger
from bot.domain.entry import Entry, is_stream
from bot.domain.errors import Conflict, UnknownIncident
from bot.domain.events import AlertReceived, IncidentEvent, Triaged
from bot.domain.fold import after, fold
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.safe_text import one_line
from bot.domain.verdict import Verdict

_DRAWS = 5  # an id that is taken already is next to impossible, five in a row are a broken source of randomness


@dataclass(frozen=True, slots=True)
class Casebook:
    """Incidents by id, on a ledger; `new_id` draws ids."""

    ledger: Ledger
    new_id: Callable[[], str]

    async def open(self, received: AlertReceived, by: str) -> Incident:
        """Open an incident.

        Raises: LedgerUnavailable when it cannot be written down.
        """
        for draw in range(1, _DRAWS + 1):
            try:
                return fold([await self.ledger.append(self.new_id(), 0, received, by)])
            except Conflict:
                if draw == _DRAWS:
                    raise
        raise AssertionError("unreachable")

    async def find(self, incident_id: str) -> Incident:
        """Return the incident as it stands.

        Raises: UnknownIncident when there is none of that id.
        """
        return fold(await self.story(incident_id))

    async def story(self, incident_id: str) -> tuple[Entry, ...]:
        """Return the incident's entries.

        Raises: UnknownIncident when there is none of that id.
        """
        entries = await self.ledger.read(incident_id) if is_stream(incident_id) and incident_id != HOUSE else ()
        if not entries:
            raise UnknownIncident(f"There is no incident {one_line(incident_id, 40)!r}.")
        return entries

    async def tell(self, incident: Incident, event: IncidentEvent, by: str) -> Incident:
        """Add one event to an incident and return it as it then stands.

        Raises: Conflict when it went on meanwhile: find it again and decide again. ImpossibleEvent when the event
        cannot come next.
        """
        return after(incident, await self.ledger.append(incident.id, incident.seq, event, by))


async def checked(book: Casebook, verdict: Verdict, playbook: Playbook, group: str, asked_by: str) -> Incident:
    """Open the incident of a check that is through already, and return it with its verdict."""
    alert = Alert(SourceKind.TERMINAL, group, asked_by, f"check {verdict.node}")
    incident = await book.open(AlertReceived(alert, verdict.node, group, playbook.name), asked_by)
    taken_at = verdict.snapshot.taken_at if verdict.snapshot is not None else None
    return await book.tell(incident, Triaged(verdict, playbook.name, playbook.version, taken_at), BOT)
