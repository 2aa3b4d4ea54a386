"""The end of a step that has begun: only what the node then shows proves it, or says that it failed.

A step without effect is sent again, at most `MOST_ATTEMPTS` times, once its earlier command can no longer run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain.action import Action, Facts, Proof, Step
from bot.domain.claim import CLOCK_TOLERANCE, check_not_quiet
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import (
    ApprovalExpired,
    Braked,
    CannotRead,
    CauseInDoubt,
    HostKeyRejected,
    ProtectedUnit,
    QuietHours,
    StateChanged,
    Unreachable,
    WouldCutOff,
    WouldStopProtected,
)
from bot.domain.events import StepFailed, StepVerified
from bot.domain.incident import Incident, StepRecord
from bot.domain.node import Node
from bot.response.decision import guards
from bot.response.decision.preflight import added_side_effects, machine_drift
from bot.response.execution.node_access import NodeStatus, TooLate
from bot.response.execution.step_executor import (
    BOOTED,
    HELD_UP,
    POLL,
    SILENT,
    Attempt,
    Outcome,
    StepExecutor,
    fence_of,
    pause_of,
)
from bot.response.incident_record import as_evidence, expired, facts_before, plan_of, untrusted_node_question

MOST_ATTEMPTS = 3
OTHERWISE = "the node was booted otherwise, and the bot's own command was not run"


@dataclass(frozen=True, slots=True)
class StepProof:
    """Ends steps that `steps`, or another program, has begun."""

    steps: StepExecutor

    async def finish(self, incident: Incident, node: Node, record: StepRecord) -> Outcome:
        """Look for the proof of a step that has begun, also if another program began it."""
        key = (incident.id, record.number, record.attempt)
        if strange := self.steps.attempts.strange.pop(key, ""):
            return untrusted_node_question(strange)
        ours = key in self.steps.attempts.ran
        if not ours and (at_work := await self.steps.defer_to_other_runner(incident)) is not None:
            return at_work
        await self.steps.ledger.beat(incident.id, self.steps.runner)
        plan, bound = plan_of(incident)
        step = plan.steps[record.number - 1]
        action, before = self.steps.reach.actions[step.action], facts_before(record, {})
        patience = action.patience(before) or self.steps.policy.reboot_deadline
        try:
            seen = await self.steps.reach.look(node, (step,))
            if others := machine_drift(bound, node, seen):
                return untrusted_node_question(f"Another machine answers: {'; '.join(others)}.")
            proven = action.judge(step.args, before, seen.facts[0]) is Proof.PROVEN
            if proven and action.settles:
                seen, proven = await self._look_after_settling(incident, node, step, before, seen, patience)
        except HostKeyRejected as no:
            return untrusted_node_question(no.sentence)
        except (Unreachable, CannotRead) as no:
            return self._outcome_if_unreadable(incident, record, step, patience, no.sentence)
        if proven:
            took = max(timedelta(0), incident.clamped(self.steps.clock()) - record.started_at)
            # An earlier attempt, whose end was not heard, may have booted it itself.
            otherwise = OTHERWISE if record.attempt == 1 and self.steps.attempts.ran.get(key) == BOOTED else ""
            return StepVerified(record.number, (as_evidence(action, step, seen.facts[0]),), took, otherwise)
        outcome = await self._outcome_if_unproven(incident, node, record, seen, patience)
        if isinstance(outcome, StepFailed) and self.steps.attempts.never_ran(record, incident.id):
            return replace(outcome, never_ran=True)
        return outcome

    async def _look_after_settling(
        self, incident: Incident, node: Node, step: Step, before: Facts, first: NodeStatus, gap: timedelta
    ) -> tuple[NodeStatus, bool]:
        """Look again after the time in which systemd would have started the unit again."""
        rest = gap
        while rest > timedelta(0):
            pause = min(rest, SILENT / 3)
            await self.steps.sleep(pause.total_seconds())
            rest -= pause
            await self.steps.ledger.beat(incident.id, self.steps.runner)
        later = await self.steps.reach.look(node, (step,))
        proven = self.steps.reach.actions[step.action].judge(step.args, before, later.facts[0]) is Proof.PROVEN
        flat = first.facts[0].get("NRestarts") == later.facts[0].get("NRestarts")
        return later, proven and flat and not machine_drift(plan_of(incident)[1], node, later)

    def _began_and_now(self, incident: Incident, record: StepRecord) -> tuple[datetime, datetime]:
        """Return when a step began, and the time; of one that began at a time still to come, when it was first seen.

        A clock was ahead then, or this one is behind: to wait until it has caught up would hold the node for that long.
        Calls that go on in a further attempt began with the first: for how long they may is part of what is approved.
        """
        now, key = self.steps.clock(), (incident.id, record.number, record.attempt)
        by_calls = self.steps.reach.by_calls(plan_of(incident)[0].steps[record.number - 1])
        began = (record.first_at if by_calls else None) or record.started_at
        if began <= now + CLOCK_TOLERANCE:
            return began, incident.clamped(now)
        return self.steps.attempts.first_seen.setdefault(key, now), now

    def _outcome_if_unreadable(
        self, incident: Incident, record: StepRecord, step: Step, patience: timedelta, why: str
    ) -> Outcome:
        action, (began, now) = self.steps.reach.actions[step.action], self._began_and_now(incident, record)
        if now < began + patience + (action.limit if action.settles else timedelta(0)):
            # No node answers while it boots.
            return AdvanceLater(pause_of(began, now), why if not action.reboots else "")
        if not action.reboots:
            return untrusted_node_question(f"It is not known whether “{action.title_of(step.args)}” took effect: {why}")
        return StepFailed(record.number, f"the node did not come back: {why}")

    async def _outcome_if_unproven(
        self, incident: Incident, node: Node, record: StepRecord, seen: NodeStatus, patience: timedelta
    ) -> Outcome:
        step = plan_of(incident)[0].steps[record.number - 1]
        action, (began, now) = self.steps.reach.actions[step.action], self._began_and_now(incident, record)
        key = (incident.id, record.number, record.attempt)
        ours, failure = key in self.steps.attempts.ran, self.steps.attempts.ran.get(key)
        seen_now = (as_evidence(action, step, seen.facts[0]),)
        unanswered = failure is None and key not in self.steps.attempts.unsent  # also where another program sent it
        late = now >= began + patience + (action.limit if action.settles and unanswered else timedelta(0))
        if failure and (not action.reboots or now >= began + SILENT):
            return StepFailed(record.number, f"its command failed: {failure}", seen_now)
        in_rounds = ours and action.by_calls is not None
        if action.by_calls is not None and record.started is not None and record.started.boot_id != seen.boot_id:
            booted = "the node was rebooted meanwhile, so nothing more is sent to its cluster"  # no fence stops a call
            return StepFailed(record.number, self._left_words(booted, action, step, record, seen), seen_now)
        if late and (action.by_calls is not None or failure == ""):
            return StepFailed(record.number, self._deadline_words(key, action, step, record, seen), seen_now)
        if in_rounds:
            return await self._send_next_round(incident, node, step, record, now)
        # Also when it is late: what stopped its next attempt, such as the brake, may be over only now.
        if key not in self.steps.attempts.ended and self._may_run_again(incident, record, seen, now):
            return await self._send_again(incident, node, step, record, seen, now)
        if late:
            return StepFailed(record.number, self._deadline_words(key, action, step, record, seen), seen_now)
        return AdvanceLater(pause_of(began, now))

    def _may_run_again(self, incident: Incident, record: StepRecord, seen: NodeStatus, now: datetime) -> bool:
        """True if its end was not heard, and approval, plan and attempts left allow another attempt."""
        until = self.steps.policy.may_begin_until(incident)
        in_time = record.attempt < MOST_ATTEMPTS and until is not None and now < until
        return in_time and self._is_as_approved(incident, record, seen)

    async def _send_again(
        self, incident: Incident, node: Node, step: Step, record: StepRecord, seen: NodeStatus, now: datetime
    ) -> Outcome:
        """Send a step without effect again, once its earlier command can no longer begin.

        Its connection was cut or its runner is silent, so only the fence tells whether it can still run; a silent
        runner may wait for the end of a command that began in time, so its limit has to pass too. It is a new effect,
        so the brake, quiet hours and the hold on its node apply as to the first attempt; and where nothing of the plan
        was done before, what came on record since the yes does too. Calls may have done a part of it.
        """
        assert record.started is not None
        key, begins_until = (incident.id, record.number, record.attempt), record.started.until_uptime
        action, is_cut = self.steps.reach.actions[step.action], key in self.steps.attempts.ran
        until = begins_until + (0 if is_cut else action.limit.total_seconds())
        if begins_until and (seen.uptime is None or seen.uptime < until) and key not in self.steps.attempts.unsent:
            return AdvanceLater(POLL)
        bound = plan_of(incident)[1]
        try:
            await self.steps.check_approval_age(incident, node)
            guards.check_no_protected_alias(action, seen.facts[0])
            check_not_quiet(self.steps.policy.quiet, now)
            is_first = action.by_calls is None and all(done.started is None for done in incident.steps[:-1])
            if is_first and (because := await self.steps.why_approval_outdated(incident, node, now)):
                return StepFailed(record.number, because, (as_evidence(action, step, seen.facts[0]),))
            if others := await self.steps.unshown_data_stores(incident, node, step):
                return StepFailed(record.number, f"{StateChanged.__name__}: {'; '.join(others)}")
            around = seen
            if action.around is not None:
                around = await self.steps.reach.look(node, (), (step,), record.number)
        except ApprovalExpired as no:
            return expired(incident, no.sentence)
        except (ProtectedUnit, WouldStopProtected) as no:
            return StepFailed(record.number, no.sentence, (as_evidence(action, step, seen.facts[0]),))
        except (CauseInDoubt, QuietHours, WouldCutOff) as no:
            return AdvanceLater(pause_of(record.started_at, now), f"{no.name}: {no.sentence}")
        except HostKeyRejected as no:
            return untrusted_node_question(no.sentence)
        except (Unreachable, CannotRead) as no:
            return AdvanceLater(pause_of(record.started_at, now), no.sentence)
        if others := machine_drift(bound, node, around):
            return untrusted_node_question(f"Another machine answers: {'; '.join(others)}.")
        if others := added_side_effects(bound, around):
            return StepFailed(record.number, f"it would now stop something else: {'; '.join(others)}")
        started = replace(record.started, attempt=record.attempt + 1, runner=self.steps.runner)
        return await self.steps.run(incident, node, step, seen, started, is_first=is_first)

    async def _send_next_round(
        self, incident: Incident, node: Node, step: Step, record: StepRecord, now: datetime
    ) -> Outcome:
        """Send the next round of a step in rounds, while it holds the node.

        A round has new effects, so a brake pulled meanwhile stops it. The node stays as it is, even half drained: to
        allow pods again would be an effect too.
        """
        key = (incident.id, record.number, record.attempt)
        pause, in_time = pause_of(record.started_at, now), self.steps.make_deadline_check()
        held = await self.steps.ledger.current_hold(node.name)
        if held is None or (held.incident, held.step) != (incident.id, record.number):
            return AdvanceLater(pause, "another program went on with it")
        try:
            assert record.started is not None
            fence, before = fence_of(incident.id, plan_of(incident)[1], record.started), facts_before(record, {})
            await self.steps.check_brake()
            ended = await self.steps.reach.run(node, step, fence, before, in_time, self.steps.check_brake)
            self.steps.attempts.note_end(key, ended)
        except TooLate:
            return AdvanceLater(pause, HELD_UP)
        except Braked as no:
            return self.steps.attempts.note_brake(key, pause, no)
        except Unreachable as no:
            return AdvanceLater(pause, no.sentence)
        return AdvanceLater(pause, self.steps.attempts.said[key])

    def _is_as_approved(self, incident: Incident, record: StepRecord, seen: NodeStatus) -> bool:
        """True if this program acts, policy and plan are as approved, and the boot is that in which it began."""
        proposal, started = incident.proposal, record.started
        policy = self.steps.policy
        is_plan = proposal is not None and proposal.is_unaltered and proposal.binds.get("policy") == policy.digest
        return policy.acting and is_plan and started is not None and started.boot_id == seen.boot_id

    def _deadline_words(self, key: Attempt, action: Action, step: Step, record: StepRecord, seen: NodeStatus) -> str:
        """Say that there was no proof in time, what was heard last, and what stays as it is now."""
        never_ran = self.steps.attempts.never_ran(record, key[0])
        heard = self.steps.attempts.said.get(key, "") if action.by_calls or never_ran else ""
        what = "none of its commands ran by its deadline" if never_ran else "no sign of its effect by its deadline"
        words = "; ".join(filter(None, (what, heard)))
        return self._left_words(words, action, step, record, seen)

    def _left_words(self, because: str, action: Action, step: Step, record: StepRecord, seen: NodeStatus) -> str:
        """Say why a step failed, and what stays as it is now."""
        leaves = action.by_calls.leaves if action.by_calls is not None else lambda args, before, now: ""
        return "; ".join(filter(None, (because, leaves(step.args, facts_before(record, {}), seen.facts[0]))))
