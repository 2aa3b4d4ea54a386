"""What the engine does next for an incident of any source and state: one thing, then it asks again."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.alert import BOT
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import Conflict, ImpossibleEvent
from bot.domain.events import PlanWithheld
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.response.diagnosis.diagnosis import LOOK_AGAIN, Diagnosis, is_to_be_read
from bot.response.execution.remediation import Remediation
from bot.response.incident_record import IncidentRecord

INTERRUPTED = "The bot was stopped before the plan was offered. Check the node again: /zombie check."


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Takes an incident from its opening to its end. `people` are the kinds of alerts that people ask for."""

    record: IncidentRecord
    diagnosis: Diagnosis
    remediation: Remediation
    people: frozenset[str]

    async def advance(self, incident_id: str) -> AdvanceLater | None:
        """Do the next thing for an incident; None once it has ended.

        Raises: UnknownIncident for an unknown id; LedgerUnavailable when the record cannot be read.
        """
        if self.diagnosis.is_reading(incident_id):
            return LOOK_AGAIN
        incident = await self.record.find(incident_id)
        if is_to_be_read(incident):
            return await self.diagnosis.advance(incident)
        # Where a person asked, another program may be about to offer the plan.
        if incident.state is State.TRIAGED and not incident.ended and incident.alert.kind not in self.people:
            return await self._withhold(incident)
        return await self.remediation.step(incident)

    async def _withhold(self, incident: Incident) -> AdvanceLater | None:
        """End an incident that an older program left between its verdict and its proposal."""
        try:
            after = await self.record.append(incident, PlanWithheld(incident.withholds or INTERRUPTED), BOT)
        except (Conflict, ImpossibleEvent):
            return AdvanceLater()
        return None if after.ended else AdvanceLater()
