"""Incidents on record: how a request names them, how they are found again, and how one goes on by an entry."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.domain.alert import Alert, SourceKind
from bot.domain.contracts import Ledger, Log
from bot.domain.entry import Entry, is_stream
from bot.domain.errors import ImpossibleEvent, UnknownIncident, UnreadableEntry
from bot.domain.events import AlertReceived, IncidentEvent
from bot.domain.fold import after, fold
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.domain.transitions import State


def unheard(event: str, **fields: object) -> None:
    """Hears lines where nobody keeps a log."""


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

    def received(self, node: str) -> AlertReceived:
        """The first entry of that incident."""
        return received(self.unrecorded(node, datetime.min.replace(tzinfo=UTC)))

    def unrecorded(self, node: str, at: datetime) -> Incident:
        """That incident as it is before its first entry stands: its number is 0."""
        alert = Alert(self.kind, self.id, self.by, one_line(self.text, 1000))
        state = State.OPENED
        return Incident(self.incident(node), node, self.group, alert, state, at, at, 0, "", playbook=self.playbook)


def received(incident: Incident) -> AlertReceived:
    """Return the first entry of an incident that somebody asked for."""
    return AlertReceived(incident.alert, incident.node, incident.group, incident.playbook)


class Record:
    """Incidents in the ledger: found again, and carried on one entry at a time."""

    def __init__(self, ledger: Ledger, log: Log = unheard) -> None:
        self._ledger = ledger
        self._log = log

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

    async def tell(self, incident: Incident, event: IncidentEvent, by: str) -> Incident:
        """Add one event to an incident and return it as it then stands.

        Raises: Conflict when it went on meanwhile: find it again and decide again. ImpossibleEvent when the event
        cannot come next.
        """
        return after(incident, await self._ledger.append(incident.id, incident.seq, event, by))


def _short(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]
