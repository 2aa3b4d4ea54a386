"""A person's decision: every guard is asked, the node is read again, and the first decision on record counts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from weakref import WeakValueDictionary

from bot.domain.alert import BOT
from bot.domain.claim import DecisionRecord, Doubts, busy_words, check_brake_off, check_not_quiet
from bot.domain.contracts import Clock, NodeDirectory
from bot.domain.entry import Entry
from bot.domain.errors import (
    AlreadyCured,
    AlreadyTried,
    ApprovalExpired,
    CannotTell,
    Conflict,
    NodeBusy,
    NotEnoughApprovers,
    UnknownIncident,
)
from bot.domain.events import (
    GIVE_UP,
    GO_ON,
    Approved,
    Cancelled,
    Declined,
    Endorsed,
    Escalated,
    Expired,
    IncidentEvent,
    PlanProposed,
    QuestionAnswered,
)
from bot.domain.incident import Incident
from bot.domain.policy import SAME_AGAIN, Approval, ApproverLookup, Policy
from bot.domain.safe_text import one_line
from bot.ledger import Ledger
from bot.response.decision import guards
from bot.response.decision.braking import set_brake
from bot.response.decision.preflight import DriftDetected, Preflight
from bot.response.decision.undo_proposer import UndoProposer
from bot.response.execution.node_access import NodeAccess
from bot.response.incident_record import (
    IncidentRecord,
    already_tried_hint,
    cured_since,
    is_incident_id,
    refusals_noted,
    unknown,
    with_left_behind,
)

_TRIES = 3  # on Conflict: read again, fold, decide again
_TOO_FAST = "The incident changes faster than it can be decided."


@dataclass(frozen=True, slots=True)
class Responder:
    """Takes decisions; what it needs is handed in. `lookup` is None where people's present standing cannot be asked."""

    policy: Policy
    record: IncidentRecord
    ledger: Ledger
    reach: NodeAccess
    nodes: NodeDirectory
    preflight: Preflight
    clock: Clock
    lookup: ApproverLookup | None = None
    _turns: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def decide(self, incident_id: str, approval: Approval) -> Incident:
        """Approve the incident's plan and return the updated incident.

        Shape: still `proposed`, with another endorsement, where others have to say yes too.
        Raises: Refused, by its name and with a sentence, when the plan may not run; the refusal is recorded too.
        UnknownIncident for an unknown id.
        """
        async with refusals_noted(self.ledger, "approve", approval.by, incident_id):
            turn = self._turns.setdefault(incident_id, asyncio.Lock())
            if turn.locked():  # a person who may not decide is told at once, without waiting for the node to be read
                await self._check_guards(await self._decision_record(incident_id), approval)
            async with turn:
                return await self._decide_in_turn(incident_id, approval)

    async def decide_in_wave(self, incident: Incident, approvals: Sequence[Approval]) -> Incident:
        """Approve an incident of a wave with all yeses of the wave, the last yes last.

        Shape: the guards and the look at the node are those of `decide`, for each yes.
        Raises: Refused as `decide`; Conflict when the incident changed meanwhile.
        """
        proposal, record = None, replace(await self._decision_record(incident.id), incident=incident)
        for approval in approvals:
            proposal = await self._check_guards(record, approval, in_wave=True)
        if proposal is None:
            raise NotEnoughApprovers("Nobody has said yes to the wave.")
        await self._recheck_drift(incident)
        await self._check_in_time(incident)
        needed = max(proposal.approvals_needed, len(approvals))
        if len(approvals) < needed:
            raise NotEnoughApprovers(f"{needed} have to say yes, and {len(approvals)} have.")
        before = {earlier.by for earlier in incident.endorsements}  # recorded by a program that died on the way
        for approval in approvals[:-1]:
            if approval.by not in before:
                yes = Endorsed(proposal.digest, approval.reason, approval.os_user, needed)
                incident = await self.record.append(incident, yes, approval.by)
        last = approvals[-1]
        return await self.record.append(incident, Approved(proposal.digest, last.reason, last.os_user, needed), last.by)

    async def decline(self, incident_id: str, approval: Approval) -> Incident:
        """Decline the incident's plan; approvers and the asker may do this.

        Raises: as `decide`.
        """

        def declined(incident: Incident) -> Declined:
            guards.check_reason(approval)
            guards.check_asker_or_approver(self.policy, incident, approval)
            return Declined(approval.reason, guards.require_open_proposal(incident).digest, approval.os_user)

        return await self._append_decision("decline", incident_id, approval, declined)

    async def cancel(self, incident_id: str, approval: Approval) -> Incident:
        """Cancel the incident before its first step, by the asker or an approver; a reason is optional.

        Raises: as `decide`.
        """

        def cancelled(incident: Incident) -> Cancelled:
            guards.check_asker_or_approver(self.policy, incident, approval)
            guards.check_not_begun(incident)
            reason = one_line(approval.reason.strip(), 500)
            return Cancelled(f"{approval.by} called it off{f': {reason}' if reason else '.'}")

        return await self._append_decision("cancel", incident_id, approval, cancelled)

    async def answer(
        self, incident_id: str, answer: str, approval: Approval, asked_at: datetime | None = None
    ) -> Incident:
        """Answer the question on which an incident is parked, `GO_ON` or `GIVE_UP`; only approvers may.

        Shape: to go on means to look again. If another machine still answers, the question is asked again: an answer
        never makes the bot send anything to it. `asked_at` as for `guards.is_asked`.
        Raises: as `decide`.
        """

        def answered(incident: Incident) -> QuestionAnswered | Escalated:
            guards.check_reason(approval)
            guards.check_approver(self.policy, approval)
            question = guards.require_open_question(incident, answer, asked_at)
            reason = approval.reason.strip()
            if answer == GIVE_UP:
                because = f"{approval.by} gave it up: {one_line(reason, 500)}"
                end = Escalated(because, f"The question was: {question.question}")
                return with_left_behind(end, incident, self.reach.actions)
            return QuestionAnswered(GO_ON, reason)

        return await self._append_decision("answer", incident_id, approval, answered)

    async def undo(self, incident_id: str, approval: Approval) -> Incident:
        """Open an incident that would undo this incident, and return it: it needs its own approval.

        Shape: the person who requests it is its asker. Its alert's id is `undo ID NUMBER`; `undoes` names the incident.
        Raises: as `decide`; NothingToUndo, and StateChanged when the node is not as the incident left it.
        """
        async with refusals_noted(self.ledger, "undo", approval.by, incident_id):
            incident = await self.record.find(incident_id)
            guards.check_asker_or_approver(self.policy, incident, approval)
            guards.check_acting(self.policy)
            return await UndoProposer(self.policy, self.ledger, self.reach, self.nodes).propose(incident, approval)

    async def brake(
        self,
        on: bool,
        approval: Approval,
        *,
        pull: int = 0,
        asked_at: datetime | None = None,
        anybody: bool = False,
        request: str = "",
    ) -> Entry | None:
        """Pull the brake or release it, and return the entry of the pull that is on: see `set_brake`.

        Raises: Refused; the refusal is recorded too.
        """
        return await set_brake(
            self.policy,
            self.ledger,
            approval,
            on=on,
            pull=pull,
            asked_at=asked_at,
            anybody=anybody,
            request=request,
        )

    async def _decide_in_turn(self, incident_id: str, approval: Approval) -> Incident:
        """Decide in turn: of many at the same time the first has the node read, and the others are told."""
        looked = False
        counter = guards.ApprovalCounter(self.policy, self.ledger, self.lookup)
        for _ in range(_TRIES):
            record = await self._decision_record(incident_id)
            incident, proposal = record.incident, await self._check_guards(record, approval)
            if not looked:
                await self._recheck_drift(incident)
                looked = True
                await self._check_in_time(incident)  # again, because reading the node may have taken long
            needed, lapsed = await counter.needed(incident, proposal)
            said = Approved if len(incident.endorsements) + 1 >= needed else Endorsed
            more = needed if needed > proposal.approvals_needed else 0
            event = said(proposal.digest, approval.reason.strip(), approval.os_user, more, lapsed)
            with contextlib.suppress(Conflict):
                return await self.record.append(incident, event, approval.by)
        raise CannotTell(_TOO_FAST, "Try again.")

    async def _append_decision(
        self, action: str, incident_id: str, approval: Approval, event_of: Callable[[Incident], IncidentEvent]
    ) -> Incident:
        """Append the event that follows from the incident; worked out again where another entry was first."""
        async with refusals_noted(self.ledger, action, approval.by, incident_id):
            for _ in range(_TRIES):
                incident = await self.record.find(incident_id)
                with contextlib.suppress(Conflict):
                    return await self.record.append(incident, event_of(incident), approval.by)
            raise CannotTell(_TOO_FAST, "Try again.")

    async def _decision_record(self, incident_id: str) -> DecisionRecord:
        """Return the incident with all that a decision about it depends on. Raises: UnknownIncident."""
        found = await self.ledger.decision_record(incident_id, SAME_AGAIN) if is_incident_id(incident_id) else None
        if found is None:
            raise unknown(incident_id)
        return found

    def require_approvable(
        self,
        incident: Incident,
        approval: Approval,
        pulled: Entry | None,
        doubts: Doubts,
        *,
        in_wave: bool = False,
    ) -> PlanProposed:
        """Return the proposal, as far as that is known without the node, its hold and what was tried.

        Shape: the same guards stand before each decision; a dialog asks them too. Nothing is recorded.
        Raises: Refused.
        """
        guards.check_approver(self.policy, approval)
        guards.check_self_approval(self.policy, incident, approval)
        proposal = guards.require_open_proposal(incident)
        if not in_wave:
            guards.check_not_in_wave(incident)
            guards.check_not_yet_approved_by(self.policy, incident.endorsements, incident.approvals_needed, approval)
        guards.check_in_time(self.policy, incident, self._now(incident))
        guards.check_same_plan(self.policy, proposal, approval)
        guards.check_known_actions(self.reach.actions.keys(), proposal.plan)
        guards.check_units_named(self.policy, proposal.plan, self.reach.actions)
        check_brake_off(pulled)
        guards.check_cause_trusted(self.policy, incident, doubts)
        check_not_quiet(self.policy.quiet, self._now(incident))
        return proposal

    async def _check_guards(self, record: DecisionRecord, approval: Approval, *, in_wave: bool = False) -> PlanProposed:
        incident = record.incident
        guards.check_reason(approval)
        try:
            proposal = self.require_approvable(incident, approval, record.pulled, record.doubts, in_wave=in_wave)
        except ApprovalExpired as no:
            if not incident.ended:
                await self._append_end(incident, Expired(no.sentence))
            raise
        if record.hold is not None and record.hold.incident != incident.id:
            raise NodeBusy(busy_words(record.hold, incident.node), "Wait until it has ended.")
        again = record.tried
        if again is not None and again != incident.id:
            await self._check_not_cured(incident, again)
            tried = AlreadyTried(f"Incident {again} carried out the same plan on {incident.node} less than a day ago.")
            try_next = await already_tried_hint(self.ledger, self.reach.actions, proposal.plan, again)
            await self._append_end(incident, Escalated(tried.sentence, try_next))
            raise tried
        return proposal

    async def _check_not_cured(self, incident: Incident, again: str) -> None:
        """Raises: AlreadyCured, which ends the incident, if another incident cured the node since it was read."""
        with contextlib.suppress(UnknownIncident):
            if because := cured_since(incident, await self.record.find(again)):
                await self._append_end(incident, Cancelled(because))
                raise AlreadyCured(because, "Check the node again to see how it is now.")

    async def _check_in_time(self, incident: Incident) -> None:
        """Raises: ApprovalExpired, which ends the incident."""
        try:
            guards.check_in_time(self.policy, incident, self._now(incident))
        except ApprovalExpired as no:
            await self._append_end(incident, Expired(no.sentence))
            raise

    async def _recheck_drift(self, incident: Incident) -> None:
        """Read the deciding probes again; a difference ends the incident.

        Raises: StateChanged, AlreadyCured, WouldStopProtected, MissingRight or CannotTell.
        """
        try:
            seen = await self.preflight.check_unchanged(incident)
        except DriftDetected as found:
            await self._append_end(incident, found.end)
            raise found.kind(
                f"Read again: {found.what}: {'; '.join(found.differences)}", "Check the node again for a new plan."
            ) from None
        if seen.facts:
            self.reach.remember(incident.id, seen)

    async def _append_end(self, incident: Incident, event: IncidentEvent) -> None:
        with contextlib.suppress(Conflict):  # the entry that was first says how it goes on
            await self.record.append(incident, event, BOT)

    def _now(self, incident: Incident) -> datetime:
        return incident.clamped(self.clock())
