"""What nodes showed lately, by incident, for as long as this program runs and there is room: the record keeps none."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.domain.incident import Incident
from bot.domain.probe import Snapshot
from bot.domain.verdict import Verdict
from bot.response.diagnosis.progress import Underway

MOST = 64  # each is some hundred kB


@dataclass(slots=True)
class Snapshots:
    """Keeps the newest of them; a `Follower` of diagnoses."""

    _kept: OrderedDict[str, tuple[Snapshot, str]] = field(default_factory=OrderedDict)

    def keep(self, incident_id: str, verdict: Verdict, playbook: str) -> None:
        """Keep what a verdict was made of; nothing where nobody reached the node."""
        if verdict.snapshot is None:
            return
        self._kept[incident_id] = (verdict.snapshot, playbook)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)

    def of(self, incident_id: str) -> tuple[Snapshot, str] | None:
        """Return an incident's snapshot and its playbook's name, None where it is not kept."""
        return self._kept.get(incident_id)

    async def begun(self, group: Sequence[Incident], reading: Sequence[Incident]) -> None:
        """Hear that nodes are about to be read."""

    def moved(self, underway: Underway) -> None:
        """Hear how far a reading has come."""

    async def concluded(self, incident: Incident, verdict: Verdict) -> None:
        """Keep what the verdict was made of."""
        self.keep(incident.id, verdict, incident.playbook)

    def ended(self, incident: Incident) -> None:
        """Hear that nothing more comes."""
