"""The verdict on an alarm's node goes on record, and what becomes of its plan, whoever else writes meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.domain.alert import BOT
from bot.domain.contracts import Ledger
from bot.domain.errors import Conflict, ImpossibleEvent
from bot.domain.events import Cancelled, IncidentEvent, PlanWithheld, Triaged
from bot.domain.fold import after, fold
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.response.proposal import ACTING_IS_OFF
from bot.response.record import Offer

INTERRUPTED = "The bot was stopped before the plan was offered. Check the node again: /zombie check."
OVER_BY_NOW = "Its source says that the alert is over."
_TRIES = 8


class Judged:
    """Writes verdicts down. Alerts may join or end while a node is read, so that its stream goes on meanwhile."""

    def __init__(self, ledger: Ledger, offer: Offer | None, log: Callable[..., None]) -> None:
        """`offer` decides what becomes of a verdict's plan; without it no plan is offered."""
        self._ledger = ledger
        self._offer = offer
        self._log = log

    async def triaged(self, incident_id: str, verdict: Verdict, playbook: Playbook) -> Incident:
        """Put the verdict on record, unless there is one, and return the incident as it then stands.

        Raises: LedgerUnavailable when it cannot be written down.
        """
        taken_at = verdict.snapshot.taken_at if verdict.snapshot is not None else None
        event = Triaged(replace(verdict, snapshot=None), playbook.name, playbook.version, taken_at)
        incident = fold(await self._ledger.read(incident_id))
        if incident.state is not State.OPENED:
            return incident
        # Asked before the verdict stands, so that next to no time is between the two in which somebody could die.
        offered = await self._offered(incident, verdict, playbook) if verdict.plan is not None else None
        told = await self._told(incident_id, State.OPENED, event)
        if offered is None or told is None:
            return told or fold(await self._ledger.read(incident_id))
        incident = await self._told(incident_id, State.TRIAGED, offered) or told
        if incident.is_over:  # by now, and it was not when the offer was made
            return await self._told(incident_id, State.PROPOSED, Cancelled(OVER_BY_NOW)) or incident
        return incident

    async def finished(self, incident: Incident) -> None:
        """End an incident whose runner died between its verdict and what becomes of its plan.

        Raises: LedgerUnavailable when it cannot be written down.
        """
        await self._told(incident.id, State.TRIAGED, PlanWithheld(incident.withholds or INTERRUPTED))

    async def _offered(self, incident: Incident, verdict: Verdict, playbook: Playbook) -> IncidentEvent:
        if incident.withholds:
            return PlanWithheld(incident.withholds)
        if incident.is_over:
            return PlanWithheld(OVER_BY_NOW)
        offered = await self._offer(verdict, playbook, incident.id) if self._offer is not None else None
        return offered or PlanWithheld(ACTING_IS_OFF)

    async def _told(self, incident_id: str, state: State, event: IncidentEvent) -> Incident | None:
        """Add the event while the incident is in that state; None where it is in another, and left as it is."""
        for _ in range(_TRIES):
            incident = fold(await self._ledger.read(incident_id))
            if incident.state is not state or incident.ended:
                return None
            try:
                return after(incident, await self._ledger.append(incident.id, incident.seq, event, BOT))
            except (Conflict, ImpossibleEvent) as no:
                self._log("verdict_written_again", incident=incident.id, because=no.sentence)
        return None
