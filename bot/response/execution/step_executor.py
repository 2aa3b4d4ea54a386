"""A step of a plan: begun only when every guard allows it, and ended only by what the node then shows.

Longer than 300 lines: beginning, sending, proving and retrying a step share its state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.domain.action import Action, Facts, Proof, Step
from bot.domain.alert import BOT
from bot.domain.claim import Claim
from bot.domain.contracts import ActingLedger, AdvanceLater, Clock, NodeDirectory, Sleep
from bot.domain.errors import (
    AlreadyTried,
    ApprovalExpired,
    BannerStalled,
    Braked,
    CannotDrain,
    CannotRead,
    ConnectionRefused,
    ConnectTimedOut,
    HostKeyRejected,
    LoginRefused,
    NameUnknown,
    ProtectedUnit,
    QuietHours,
    Refused,
    Unreachable,
    WouldStopProtected,
)
from bot.domain.events import (
    Cancelled,
    Escalated,
    IncidentEvent,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
)
from bot.domain.fence import SENT_WITHIN, Fence
from bot.domain.incident import Incident, StepRecord
from bot.domain.node import Node
from bot.domain.policy import Policy
from bot.response.decision import guards
from bot.response.decision.preflight import another_boot, another_machine, another_reach, further_reach
from bot.response.execution.attempts import HELD_UP, POLL, Attempt, Attempts, pause_of
from bot.response.execution.before_reboot import NOTHING, PreRebootReader, StoredReadings
from bot.response.execution.node_access import NodeAccess, NodeStatus, NotRun, TooLate
from bot.response.record import as_evidence, asked, earlier, expired, facts_of, plan_of, recorded, rest_of, stopped

SILENT = timedelta(seconds=10)  # a runner without a sign of life for this long counts as dead
IN_TIME = timedelta(seconds=30)  # after that others count it as dead, and may have done what it was about to send
MOST_ATTEMPTS = 3
NOT_LASTING = "It did not last: replace the node, or look by hand."
_NEVER_SENT = (NameUnknown, ConnectionRefused, ConnectTimedOut, BannerStalled, LoginRefused)

Outcome: TypeAlias = AdvanceLater | IncidentEvent


@dataclass(slots=True)
class StepExecutor:
    """Begins and ends steps. `runner` names this program among those that share the ledger.

    Shape: `before_reboot` stores what a reboot destroys; None: nothing is stored.
    """

    policy: Policy
    ledger: ActingLedger
    reach: NodeAccess
    nodes: NodeDirectory
    clock: Clock
    sleep: Sleep
    runner: str
    before_reboot: PreRebootReader | None = None
    _attempts: Attempts = field(default_factory=Attempts)

    # --- a step that has not begun

    async def begin(self, incident: Incident, node: Node, now: datetime) -> Outcome:
        """Begin the next step, or say why it does not begin."""
        plan, bound = plan_of(incident)
        until = self.policy.may_begin_until(incident)
        if until is None or now >= until:
            return expired(incident, "The time in which the approved plan could begin is over.")
        if not self.policy.acting:  # another program at this ledger may be allowed to act
            return AdvanceLater(pause_of(incident.updated_at, now), "this bot does not act")
        if bound.get("policy") != self.policy.digest or incident.proposal is None or not incident.proposal.is_whole:
            return stopped(incident, "The policy or the plan on record has changed since the approval.")
        steps = plan.steps[: incident.next_step]
        try:
            guards.units_are_named(self.policy, plan, self.reach.actions)
            guards.is_not_quiet(self.policy, now)
            kept = await self._kept(incident, node, steps[-1], until - now)  # first: the look has to be fresh
            in_time = self._in_time()
            lately = None if incident.steps else self.reach.recall(incident.id)
            around = steps[-1:] if incident.steps else plan.steps
            seen = lately or await self.reach.look(node, steps, around, incident.next_step if incident.steps else 1)
        except WouldStopProtected as no:
            return stopped(incident, f"{no.name}: {no.sentence}")
        except Refused as no:
            return AdvanceLater(pause_of(incident.updated_at, now), f"{no.name}: {no.sentence}")
        except HostKeyRejected as no:
            return asked(no.sentence)
        except (Unreachable, CannotRead) as no:
            return AdvanceLater(pause_of(incident.updated_at, now), no.sentence)
        if others := another_machine(bound, node, seen):
            return asked(f"Another machine answers: {'; '.join(others)}.")
        booted = another_boot(bound, seen)
        if booted and not incident.steps:
            return Cancelled("The node was rebooted before anything was done.", booted)
        if others := (further_reach if incident.steps else another_reach)(bound, seen):
            because = "The approved plan would now stop something else."
            return stopped(incident, f"{because} {'; '.join(others)}") if incident.steps else Cancelled(because, others)
        for record, step, facts in zip(incident.steps, steps, seen.facts, strict=False):
            action = self.reach.actions[step.action]
            if action.ended_by == steps[-1].action:
                continue
            if action.judge(step.args, recorded(record, facts), facts) is not Proof.PROVEN:
                return Escalated(f"{action.title_of(step.args)}: that is undone again.", rest_of(incident))
        if not in_time():
            return AdvanceLater(POLL, HELD_UP)
        return await self._start(incident, node, steps[-1], seen, bool(booted), kept)

    async def _kept(self, incident: Incident, node: Node, step: Step, left: timedelta) -> StoredReadings:
        """Store what the step destroys, if it reboots the node; takes seconds at most, and never stops the step."""
        if self.before_reboot is None or not self.reach.actions[step.action].reboots:
            return NOTHING
        return await self.before_reboot.of(incident, node, left)

    async def _start(
        self, incident: Incident, node: Node, step: Step, seen: NodeStatus, booted: bool, kept: StoredReadings
    ) -> Outcome:
        number, action, facts = incident.next_step, self.reach.actions[step.action], seen.facts[-1]
        try:
            guards.has_no_protected_alias(action, facts)
        except ProtectedUnit as no:
            return stopped(incident, f"{action.title_of(step.args)}: {no.sentence}")
        only_then = action.reboots or action.only_for_reboot  # all others run only in the approved boot
        if booted and (only_then or (action.by_calls is None and not self._rebooted(incident))):
            return StepSkipped(number, "the node was rebooted meanwhile")
        if action.judge(step.args, facts, facts) is Proof.PROVEN:
            return StepSkipped(number, f"{action.title_of(step.args)}: that is so already")
        if action.by_calls is not None:
            if why := action.by_calls.refuses(step.args, facts):
                return AdvanceLater(pause_of(incident.updated_at, self.clock()), f"{CannotDrain.__name__}: {why}")
            facts = action.by_calls.given(facts, earlier(incident))
        before = (as_evidence(action, step, facts),)
        started = StepStarted(number, 1, seen.boot_id, before, self.runner, kept=kept.case, kept_says=kept.says)
        return await self._run(incident, node, step, seen, started)

    def _rebooted(self, incident: Incident) -> bool:
        """True if a step of this plan has rebooted the node: later steps are meant for the new boot."""
        steps = plan_of(incident)[0].steps
        verified = [record.number for record in incident.steps if isinstance(record.outcome, StepVerified)]
        return any(self.reach.actions[steps[number - 1].action].reboots for number in verified)

    async def _run(self, incident: Incident, node: Node, step: Step, seen: NodeStatus, started: StepStarted) -> Outcome:
        """Record the start of a step together with its hold and its fence, and only then send it."""
        plan, bound = plan_of(incident)
        if not self.reach.by_calls(step):
            if seen.uptime is None:
                because = f"{node.name} does not say its uptime, and nothing is sent to it without a fence."
                return AdvanceLater(pause_of(incident.updated_at, self.clock()), because)
            until = math.ceil(seen.uptime + SENT_WITHIN.total_seconds()) + self.reach.spread(step)
            started = replace(started, until_uptime=until)
        claim = Claim(
            node.name,
            plan.remedy,
            self.runner,
            self.policy.limits,
            node.labels,
            since=incident.may_begin_since,
            until=self.policy.may_begin_until(incident),
            machine_id=bound.get("machine_id", ""),
            cure=plan.cure,
        )
        in_time = self._in_time()
        try:
            await self.ledger.begin(incident.id, incident.seq, started, BOT, claim)
        except AlreadyTried as no:
            return Escalated(no.sentence, NOT_LASTING)
        except ApprovalExpired as no:
            return expired(incident, no.sentence)
        except Refused as no:
            return AdvanceLater(pause_of(incident.updated_at, self.clock()), f"{no.name}: {no.sentence}")
        key = (incident.id, started.number, started.attempt)
        self._attempts.ran[key] = None
        try:
            fence = _fence(bound, started)
            before = facts_of(started.before)
            self._attempts.heard(key, await self.reach.run(node, step, fence, before, in_time, self._released))
        except TooLate:
            return self._attempts.not_sent(key, HELD_UP)
        except Braked as no:
            return self._attempts.braked(key, POLL, no)
        except HostKeyRejected as no:
            return self._attempts.not_there(key, no.sentence)
        except _NEVER_SENT as no:
            return self._attempts.not_sent(key, no.sentence)
        except NotRun as no:
            return self._attempts.kept_back(key, node, no.why)
        except Unreachable as no:  # it may have run: what the node shows next decides
            return AdvanceLater(POLL, no.sentence)
        return AdvanceLater(because="its proof is looked for")

    # --- a step that has begun

    async def finish(self, incident: Incident, node: Node, record: StepRecord, now: datetime) -> Outcome:
        """Look for the proof of a step that has begun, also if another program began it."""
        key = (incident.id, record.number, record.attempt)
        if strange := self._attempts.strange.pop(key, ""):
            return asked(strange)
        ours = key in self._attempts.ran
        if not ours and (at_work := await self.at_work(incident)) is not None:
            return at_work
        await self.ledger.beat(incident.id, self.runner)
        plan, bound = plan_of(incident)
        step = plan.steps[record.number - 1]
        action, before = self.reach.actions[step.action], recorded(record, {})
        patience = action.patience(before) or self.policy.reboot_deadline
        try:
            seen = await self.reach.look(node, (step,))
            if others := another_machine(bound, node, seen):
                return asked(f"Another machine answers: {'; '.join(others)}.")
            proven = action.judge(step.args, before, seen.facts[0]) is Proof.PROVEN
            if proven and action.settles:
                seen, proven = await self._settled(incident, node, step, before, seen, patience)
        except HostKeyRejected as no:
            return asked(no.sentence)
        except (Unreachable, CannotRead) as no:
            return self._unread(record, step, patience, no.sentence, now)
        if proven:
            took = max(timedelta(0), incident.clamped(self.clock()) - record.started_at)
            return StepVerified(record.number, (as_evidence(action, step, seen.facts[0]),), took)
        return await self._unproven(incident, node, record, seen, patience)

    async def at_work(self, incident: Incident) -> AdvanceLater | None:
        """Return how long to leave it to another runner that works on it; None where there is none."""
        held = await self.ledger.hold(incident.node)
        if held is None or held.runner == self.runner or held.silent_for >= SILENT:
            return None
        return AdvanceLater(SILENT - held.silent_for, f"{held.runner} is working on it")

    async def _settled(
        self, incident: Incident, node: Node, step: Step, before: Facts, first: NodeStatus, gap: timedelta
    ) -> tuple[NodeStatus, bool]:
        """Look again after the time in which systemd would have started the unit again."""
        rest = gap
        while rest > timedelta(0):
            pause = min(rest, SILENT / 3)
            await self.sleep(pause.total_seconds())
            rest -= pause
            await self.ledger.beat(incident.id, self.runner)
        later = await self.reach.look(node, (step,))
        proven = self.reach.actions[step.action].judge(step.args, before, later.facts[0]) is Proof.PROVEN
        flat = first.facts[0].get("NRestarts") == later.facts[0].get("NRestarts")
        return later, proven and flat and not another_machine(plan_of(incident)[1], node, later)

    def _unread(self, record: StepRecord, step: Step, patience: timedelta, why: str, now: datetime) -> Outcome:
        action = self.reach.actions[step.action]
        if now < record.started_at + patience + (action.limit if action.settles else timedelta(0)):
            return AdvanceLater(pause_of(record.started_at, now), why)
        if not action.reboots:
            return asked(f"It is not known whether “{action.title_of(step.args)}” took effect: {why}")
        return StepFailed(record.number, f"the node did not come back: {why}")

    async def _unproven(
        self, incident: Incident, node: Node, record: StepRecord, seen: NodeStatus, patience: timedelta
    ) -> Outcome:
        step = plan_of(incident)[0].steps[record.number - 1]
        action, now = self.reach.actions[step.action], incident.clamped(self.clock())
        key = (incident.id, record.number, record.attempt)
        ours, failure = key in self._attempts.ran, self._attempts.ran.get(key)
        seen_now = (as_evidence(action, step, seen.facts[0]),)
        unheard = ours and failure is None
        late = now >= record.started_at + patience + (action.limit if action.settles and unheard else timedelta(0))
        if failure and (not action.reboots or now >= record.started_at + SILENT):
            return StepFailed(record.number, f"its command failed: {failure}", seen_now)
        in_rounds = ours and action.by_calls is not None
        if late and (action.by_calls is not None or failure == ""):
            return StepFailed(record.number, self._too_late(key, action, step, record, seen), seen_now)
        if in_rounds:
            return await self._once_more(incident, node, step, record, now)
        # Also when it is late: what stopped its next attempt, such as the brake, may be over only now.
        if key not in self._attempts.ended and self._may_run_again(incident, record, seen, now):
            return await self._again(incident, node, step, record, seen, now)
        if late:
            return StepFailed(record.number, "no sign of its effect by its deadline", seen_now)
        return AdvanceLater(pause_of(record.started_at, now), "no sign of its effect yet")

    def _may_run_again(self, incident: Incident, record: StepRecord, seen: NodeStatus, now: datetime) -> bool:
        """True if its end was not heard, and approval, plan and attempts left allow another attempt."""
        until = self.policy.may_begin_until(incident)
        in_time = record.attempt < MOST_ATTEMPTS and until is not None and now < until
        return in_time and self._is_as_approved(incident, record, seen)

    async def _again(
        self, incident: Incident, node: Node, step: Step, record: StepRecord, seen: NodeStatus, now: datetime
    ) -> Outcome:
        """Send a step without effect again, once its earlier command can no longer begin.

        Its connection was cut or its runner died, so only the fence tells whether it can still run. It is a new
        effect, so the brake, quiet hours and the hold on its node apply as to the first attempt.
        """
        assert record.started is not None
        key, until = (incident.id, record.number, record.attempt), record.started.until_uptime
        if key not in self._attempts.unsent and until and (seen.uptime is None or seen.uptime < until):
            return AdvanceLater(
                POLL, "no sign of its effect yet: it is sent again once the first command can no longer run"
            )
        action, bound = self.reach.actions[step.action], plan_of(incident)[1]
        try:
            guards.has_no_protected_alias(action, seen.facts[0])
            guards.is_not_quiet(self.policy, now)
            around = await self.reach.look(node, (), (step,), record.number) if action.around is not None else seen
        except (ProtectedUnit, WouldStopProtected) as no:
            return StepFailed(record.number, no.sentence, (as_evidence(action, step, seen.facts[0]),))
        except QuietHours as no:
            return AdvanceLater(pause_of(record.started_at, now), f"{no.name}: {no.sentence}")
        except HostKeyRejected as no:
            return asked(no.sentence)
        except (Unreachable, CannotRead) as no:
            return AdvanceLater(pause_of(record.started_at, now), no.sentence)
        if others := another_machine(bound, node, around):
            return asked(f"Another machine answers: {'; '.join(others)}.")
        if others := further_reach(bound, around):
            return StepFailed(record.number, f"it would now stop something else: {'; '.join(others)}")
        started = replace(record.started, attempt=record.attempt + 1, runner=self.runner)
        return await self._run(incident, node, step, seen, started)

    async def _once_more(
        self, incident: Incident, node: Node, step: Step, record: StepRecord, now: datetime
    ) -> Outcome:
        """Send the next round of a step in rounds, while it holds the node.

        A round has new effects, so a brake pulled meanwhile stops it. The node stays as it is, even half drained: to
        allow pods again would be an effect too.
        """
        key = (incident.id, record.number, record.attempt)
        pause, in_time = pause_of(record.started_at, now), self._in_time()
        held = await self.ledger.hold(node.name)
        if held is None or (held.incident, held.step) != (incident.id, record.number):
            return AdvanceLater(pause, "another program went on with it")
        try:
            assert record.started is not None
            fence, before = _fence(plan_of(incident)[1], record.started), recorded(record, {})
            await self._released()
            self._attempts.heard(key, await self.reach.run(node, step, fence, before, in_time, self._released))
        except TooLate:
            return AdvanceLater(pause, HELD_UP)
        except Braked as no:
            return self._attempts.braked(key, pause, no)
        except Unreachable as no:
            return AdvanceLater(pause, no.sentence)
        return AdvanceLater(pause, self._attempts.said[key] or "no sign of its effect yet")

    async def _released(self) -> None:
        """Raises: Braked."""
        guards.is_released(await self.ledger.braked())

    def _is_as_approved(self, incident: Incident, record: StepRecord, seen: NodeStatus) -> bool:
        """True if this program acts, policy and plan are as approved, and the boot is that in which it began."""
        proposal, started = incident.proposal, record.started
        is_plan = proposal is not None and proposal.is_whole and proposal.binds.get("policy") == self.policy.digest
        return self.policy.acting and is_plan and started is not None and started.boot_id == seen.boot_id

    def _in_time(self) -> Callable[[], bool]:
        """Return a function that says whether a command begun now may still be sent; no if the clock is put back.

        A program that was paused has to look again: others may have done the step meanwhile, and undone it.
        """
        began_at = self.clock()
        return lambda: timedelta(0) <= self.clock() - began_at < IN_TIME

    def _too_late(self, key: Attempt, action: Action, step: Step, record: StepRecord, seen: NodeStatus) -> str:
        """Say that there was no proof in time, what was heard last, and what stays as it is now."""
        leaves = action.by_calls.leaves if action.by_calls is not None else lambda args, before, now: ""
        words = (
            "no sign of its effect by its deadline",
            self._attempts.said.get(key, "") if action.by_calls else "",
            leaves(step.args, recorded(record, {}), seen.facts[0]),
        )
        return "; ".join(filter(None, words))


def _fence(bound: Mapping[str, str], started: StepStarted) -> Fence:
    """Return the fence of an attempt: the approved machine, in the boot in which the step began."""
    return Fence(started.boot_id, bound.get("machine_id", ""), bound.get("host_key", ""), started.until_uptime)
