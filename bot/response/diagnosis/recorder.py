"""Records the verdict on an incident's node together with its proposal, also while others write.

Both are appended in a single transaction, so that no crash can part them. Alerts may join or end while a node is read,
which adds entries meanwhile; then the incident is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain.alert import BOT
from bot.domain.contracts import Log
from bot.domain.errors import Conflict, ImpossibleEvent
from bot.domain.events import Cancelled, IncidentEvent, PlanProposed, PlanWithheld, Triaged
from bot.domain.fold import fold_entry
from bot.domain.growth import CountHistory
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.transitions import State
from bot.domain.verdict import Verdict, recorded_verdict
from bot.ledger import CaseStore, Ledger, ReadingStore
from bot.probes.host import machine_id_of
from bot.response.diagnosis.count_growth import store_count_and_growth
from bot.response.diagnosis.proposal import ACTING_IS_OFF, Proposer
from bot.response.diagnosis.relapses import WITHIN, no_second_reboot_within, relapse_of, withheld_after_reboot
from bot.response.incident_record import OVER_BY_NOW, log_unreadable, received

_TRIES = 8
_MOST_FOLDED = 60  # for a node that is checked every hour, the newest are enough to say how often it was sick
_LONGEST_PLAN = timedelta(days=7)  # from a plan's first step to its reboot


@dataclass(slots=True, eq=False)
class VerdictRecorder:
    """Records verdicts. Without a `proposer` no plan is ever offered.

    Shape: `cases` stores what the nodes said, `readings` what was counted there; None: nothing is stored. `before`
    know counts from before the record began.
    """

    ledger: Ledger
    proposer: Proposer | None
    log: Log
    cases: CaseStore | None = None
    readings: ReadingStore | None = None
    before: Sequence[CountHistory] = ()

    async def record_opening(self, incident: Incident) -> None:
        """Record the incident's first entry, unless it is there.

        Raises: LedgerError when it cannot be written.
        """
        if not (await self.ledger.head(incident.id)).seq:
            try:
                await self.ledger.append(incident.id, 0, received(incident), incident.alert.asked_by or BOT)
            except Conflict:
                return  # another writer was first, or the answer to an earlier try was lost

    async def record(self, incident: Incident, verdict: Verdict, playbook: Playbook) -> Incident:
        """Record the verdict and its proposal; return the updated incident.

        Shape: an incident that is not on record yet is opened first. An incident that has a verdict or has ended is
        left as it is.
        Raises: LedgerError when it cannot be written.
        """
        if not incident.seq:
            await self.record_opening(incident)
        past = await self._earlier(incident, verdict)
        again = await self._withheld_again(incident, verdict, playbook)
        triaged: Triaged | None = None
        offer: IncidentEvent | None = None
        for _ in range(_TRIES):
            incident = await self.ledger.incident(incident.id) or incident
            if incident.state is not State.OPENED:
                return incident
            triaged = triaged or await self._triaged_event(incident, verdict, playbook, past)
            offer = offer or _unless_again(await self._plan_event(incident, verdict, playbook), again)
            try:
                entries = await self.ledger.append_all(
                    incident.id, incident.seq, _events(incident, triaged, offer), BOT
                )
            except (Conflict, ImpossibleEvent) as no:
                self.log("verdict_written_again", incident=incident.id, because=no.sentence)
                continue
            for entry in entries:
                incident = fold_entry(incident, entry)
            return incident
        return incident

    async def _earlier(self, incident: Incident, verdict: Verdict) -> tuple[Incident, ...]:
        """The node's incidents of the last 30 days, also under the machine's other names, oldest first.

        Empty where none of them had the verdict's cause; unreadable incidents are left out.
        """
        if verdict.cause is None:
            return ()
        found = await self.ledger.earlier(incident, verdict.cause, machine_id_of(verdict), WITHIN, _MOST_FOLDED)
        return log_unreadable(*found, self.log)

    async def _withheld_again(self, incident: Incident, verdict: Verdict, playbook: Playbook) -> PlanWithheld | None:
        """Return why the verdict's plan is not offered again so soon; None where it is."""
        if verdict.cause is None or (lasts := no_second_reboot_within(verdict, playbook)) is None:
            return None
        machine_id, within = machine_id_of(verdict), lasts + _LONGEST_PLAN
        begun, unreadable = await self.ledger.begun_incidents(incident, verdict.cause, machine_id, within)
        return withheld_after_reboot(incident, verdict, playbook, begun, unreadable)

    async def _triaged_event(
        self, incident: Incident, verdict: Verdict, playbook: Playbook, past: Sequence[Incident]
    ) -> Triaged:
        """The verdict's event; what the node said is stored first, so that the event can name it."""
        snapshot = verdict.snapshot
        kept = ""
        if self.cases is not None and snapshot is not None and snapshot.case is not None:
            kept = await self.cases.keep(incident.id, replace(snapshot.case, judged=recorded_verdict(verdict)))
        growth = None
        if self.readings is not None and snapshot is not None:
            growth = await store_count_and_growth(
                self.readings, verdict.node, snapshot, playbook, verdict.cause, self.before
            )
        taken_at = snapshot.taken_at if snapshot is not None else None
        whole = replace(verdict, snapshot=None)
        machine_id = machine_id_of(verdict)
        return Triaged(
            whole,
            playbook.name,
            playbook.version,
            taken_at,
            machine_id=machine_id,
            relapse=relapse_of(incident, verdict, past, machine_id) if past else None,
            case=kept,
            growth=growth,
        )

    async def _plan_event(self, incident: Incident, verdict: Verdict, playbook: Playbook) -> IncidentEvent | None:
        """The event about the verdict's plan; None without a plan."""
        if verdict.plan is None:
            return None
        if incident.withholds:
            return PlanWithheld(incident.withholds)
        if incident.is_over:
            return PlanWithheld(OVER_BY_NOW)
        if self.proposer is None:
            return PlanWithheld(ACTING_IS_OFF)
        return await self.proposer.event(verdict, playbook, incident)


def _unless_again(offer: IncidentEvent | None, again: PlanWithheld | None) -> IncidentEvent | None:
    """Return why the plan is not offered again, if it would be offered or shown."""
    shown = isinstance(offer, PlanProposed) or offer == PlanWithheld(ACTING_IS_OFF)
    return again if again is not None and shown else offer


def _events(incident: Incident, triaged: Triaged, offer: IncidentEvent | None) -> tuple[IncidentEvent, ...]:
    if offer is None:
        return (triaged,)
    if isinstance(offer, PlanProposed) and incident.is_over:  # it ended after the offer was made
        return triaged, offer, Cancelled(OVER_BY_NOW)
    return triaged, offer
