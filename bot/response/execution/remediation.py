"""Carries out an approved plan: fold the record, do one thing, append; safe while other programs do the same.

Any call of `advance` may be the first, a second at the same time, or the first after a crash. So each entry is appended
at its own number; a step that has begun is looked at before anything is done; its command is idempotent or carries its
own fence.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile

from bot.domain.alert import BOT, TERMINAL
from bot.domain.contracts import AdvanceLater, NodeDirectory
from bot.domain.errors import (
    Conflict,
    ImpossibleEvent,
    InventoryError,
    LedgerError,
    UnknownIncident,
)
from bot.domain.events import (
    Cancelled,
    Escalated,
    Expired,
    IncidentEvent,
    QuestionAsked,
    StepFailed,
    StepSkipped,
    StepVerified,
    ValidationStarted,
)
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.safe_text import redacted_text
from bot.domain.transitions import State
from bot.domain.verdict import Status
from bot.response.execution.step_executor import Outcome, StepExecutor, pause_of
from bot.response.execution.step_proof import StepProof
from bot.response.execution.validation import MOST_BETWEEN, Diagnose, next_sample, resolved, why_not_watchable
from bot.response.incident_record import (
    IncidentRecord,
    cured_since,
    plan_of,
    steps_not_done_words,
    stopped,
    with_left_behind,
)

_OUT_OF_BAND = "Use another way in: the console, or the cloud provider's reboot."


@dataclass(slots=True)
class Remediation:
    """Runs approved plans; everything from outside is handed in.

    Shape: `validation` replaces the policy's duration, but for a node in a wave.
    """

    record: IncidentRecord
    stepping: StepExecutor
    nodes: NodeDirectory
    diagnose: Diagnose
    validation: timedelta | None = None

    async def advance(self, incident_id: str) -> AdvanceLater | None:
        """Do the next thing for an incident; None once it has ended.

        Raises: UnknownIncident when there is none of that id; LedgerUnavailable when the record cannot be asked.
        """
        return await self.step(await self.record.find(incident_id))

    async def step(self, incident: Incident) -> AdvanceLater | None:
        """Do the next thing for this incident; None once it has ended.

        Raises: LedgerUnavailable when the record cannot be asked.
        """
        if incident.ended:
            return None
        try:
            now = incident.clamped(self.stepping.clock())
            outcome = await (
                self._defer_unknown_plan(incident, now)
                if self._is_foreign(incident)
                else self._advance_state(incident, now)
            )
            if isinstance(outcome, Escalated):
                outcome = with_left_behind(outcome, incident, self.stepping.reach.actions)
            if isinstance(outcome, AdvanceLater):  # shown without being recorded, so it was not redacted yet
                return replace(outcome, because=redacted_text(outcome.because))
            after = await self.record.append(incident, outcome, BOT)
        except (Conflict, ImpossibleEvent):
            return AdvanceLater()  # another program went on with it
        if after.state is State.RESOLVED:
            await self._cancel_superseded_proposals(after)
        return None if after.ended else AdvanceLater()

    async def _cancel_superseded_proposals(self, cured: Incident) -> None:
        """End what was proposed for this node before it was cured: no card may go on asking for what is done.

        Whoever dies before this leaves the card as it is; a yes is then refused, and ends it in the same words.
        """
        with contextlib.suppress(LedgerError):
            for summary in await self.stepping.ledger.incidents(only_open=True, node=cured.node):
                if summary.state is not State.PROPOSED:
                    continue
                with contextlib.suppress(LedgerError, UnknownIncident):
                    beside = await self.record.find(summary.id)
                    if beside.state is State.PROPOSED and (because := cured_since(beside, cured)):
                        await self.record.append(beside, Cancelled(because), BOT)

    async def _advance_state(self, incident: Incident, now: datetime) -> Outcome:
        match incident.state:
            case State.APPROVED | State.ACTING:
                return await self._do_next_step(incident, now)
            case State.VERIFYING:
                await self.stepping.ledger.beat(incident.id, self.stepping.runner)
                return await self._validate(incident, now)
            case State.OPENED if incident.undoes:  # the program that proposed it died on the way
                never_said = Cancelled("The undo was never proposed.")
                return self._wait_or_expire(incident.updated_at, now, never_said)
            case State.OPENED if incident.alert.kind == TERMINAL:  # a terminal opens it with its verdict
                never_judged = Cancelled("The check in the terminal ended before its verdict was on record.")
                return self._wait_or_expire(incident.updated_at, now, never_judged)
            case State.TRIAGED:
                never = Expired("Its plan was never shown to approvers.")
                return self._wait_or_expire(incident.updated_at, now, never)
            case State.PROPOSED:
                since = incident.proposed_at or incident.updated_at
                policy = self.stepping.policy
                late = since + policy.decided_within(incident) - policy.approval_expires
                return self._wait_or_expire(late, now, Expired("Nobody decided in time."))
            case State.UNKNOWN:
                since = incident.asked_at or incident.updated_at
                asked = incident.question.question if incident.question is not None else ""
                return self._wait_or_expire(since, now, Escalated(f"Nobody answered: {asked}", _OUT_OF_BAND))
        return AdvanceLater(self.stepping.policy.approval_expires, "it has no verdict yet")

    def _is_foreign(self, incident: Incident) -> bool:
        """True if a newer program proposed it with actions that this program does not know."""
        known = self.stepping.reach.actions
        is_decided = incident.state in (State.APPROVED, State.ACTING, State.VERIFYING)
        return is_decided and any(step.action not in known for step in plan_of(incident)[0].steps)

    async def _defer_unknown_plan(self, incident: Incident, now: datetime) -> Outcome:
        """Leave it to a newer program for a time: its node must not be held for ever."""
        at_work = await self.stepping.defer_to_other_runner(incident)
        because = "Its plan is not known to this program: a newer program proposed it."
        return at_work or self._wait_or_expire(incident.updated_at, now, stopped(incident, because))

    def _wait_or_expire(self, since: datetime, now: datetime, event: IncidentEvent) -> Outcome:
        left = since + self.stepping.policy.approval_expires - now
        # Without a reason, which would stay on the card after the decision, as what the approved plan waits for.
        return AdvanceLater(left) if left > timedelta(0) else event

    async def _do_next_step(self, incident: Incident, now: datetime) -> Outcome:
        try:
            node = self.nodes.find(incident.node)
        except InventoryError as no:
            at_work = (
                await self.stepping.defer_to_other_runner(incident) if incident.step_under_way is not None else None
            )
            return at_work or stopped(incident, no.sentence)
        if (under_way := incident.step_under_way) is not None:
            return await StepProof(self.stepping).finish(incident, node, under_way)
        last = incident.steps[-1].outcome if incident.steps else None
        if isinstance(last, StepFailed):
            try_next = f"{_OUT_OF_BAND} {steps_not_done_words(incident)}".rstrip()
            return Escalated(f"Step {last.number} failed: {last.because.rstrip('.')}.", try_next)
        if incident.validation is None and incident.steps_left <= self._steps_after_cure(incident):
            return await self._begin_validation(incident, node, now)
        return await self.stepping.begin(incident, node, now) if incident.steps_left else resolved(incident)

    def _steps_after_cure(self, incident: Incident) -> int:
        """How many of the plan's last steps wait for the cure to hold: none where nothing comes before them."""
        steps, actions = plan_of(incident)[0].steps, self.stepping.reach.actions
        last = list(takewhile(lambda step: actions[step.action].once_cured, reversed(steps)))
        return len(last) if len(last) < len(steps) else 0

    async def _begin_validation(self, incident: Incident, node: Node, now: datetime) -> Outcome:
        """Begin to watch the node; where it belongs to a cluster, once its cluster finds it Ready in its new boot.

        Past the time for that it is watched all the same: what keeps it from being Ready refutes the cure.
        """
        if incident.steps_left:
            await self.stepping.ledger.beat(incident.id, self.stepping.runner)
            why = await why_not_watchable(incident, node, self.stepping.reach)
            if isinstance(why, QuestionAsked):
                return why
            since = max(step.ended_at or step.started_at for step in incident.steps)
            if why and now < since + self.stepping.policy.reboot_deadline:
                return AdvanceLater(pause_of(since, now), why)
        outcomes = [step.outcome for step in incident.steps]
        skipped = [each.because for each in outcomes if isinstance(each, StepSkipped)]
        skipped += [each.otherwise for each in outcomes if isinstance(each, StepVerified) and each.otherwise]
        own = self.validation if not incident.wave else None  # others have their turn once this one held
        window = own or self.stepping.policy.validation
        return ValidationStarted(window, "; ".join(skipped), incident.steps_left)

    async def _validate(self, incident: Incident, now: datetime) -> Outcome:
        """Look whether the cure holds; where it just has, begin what waited for it.

        While that may not begin, look on. A node with another grave fault is not given back.
        """
        is_new_until = (incident.sampled_at or incident.updated_at) + MOST_BETWEEN  # this program may have been away
        if incident.cure_has_held and incident.steps_left and await self.stepping.is_before(incident, is_new_until):
            last = incident.samples[-1]
            if last.beside.startswith(Status.CRITICAL):
                sick = f"{incident.node} is {last.beside} now: {last.seen[0].says.rstrip('.')}"
                return Escalated(f"The cure holds, but {sick}.", steps_not_done_words(incident))
            return await self._do_next_step(incident, now)
        wait, event = await next_sample(incident, now, self.nodes, self.stepping.reach, self.diagnose)
        return AdvanceLater(wait) if event is None else event
