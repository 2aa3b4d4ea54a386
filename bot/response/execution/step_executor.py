"""A step of a plan is begun, if every guard allows it: on record with its hold and its fence, and only then sent.

How it ends is in `step_proof.py`.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.domain.action import PlanImpact, Proof, Step
from bot.domain.alert import BOT
from bot.domain.claim import CLOCK_TOLERANCE, Claim, check_brake_off, check_not_quiet
from bot.domain.command import Completed
from bot.domain.contracts import AdvanceLater, Clock, NodeDirectory, Sleep
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
    PlanChanged,
    ProtectedUnit,
    Refused,
    StateChanged,
    Unreachable,
    WouldStopProtected,
)
from bot.domain.events import (
    Cancelled,
    Escalated,
    IncidentEvent,
    StepSkipped,
    StepStarted,
    StepVerified,
)
from bot.domain.fence import SENT_WITHIN, Fence, FenceRefusal
from bot.domain.incident import Decision, Incident, StepRecord
from bot.domain.mute_record import mutes_in_force
from bot.domain.node import Node
from bot.domain.policy import Policy
from bot.domain.safe_text import one_line, redacted_line
from bot.ledger import Ledger
from bot.response.decision import guards
from bot.response.decision.preflight import (
    DriftDetected,
    Preflight,
    added_data_stores,
    added_side_effects,
    boot_drift,
    changed_side_effects,
    impact_newly_unread,
    machine_drift,
    unshown_losses,
)
from bot.response.execution.before_reboot import NOTHING, PreRebootReader, StoredReadings
from bot.response.execution.node_access import NodeAccess, NodeStatus, RefusedByFence, TooLate
from bot.response.incident_record import (
    NOT_LASTING,
    OVER_BY_NOW,
    as_evidence,
    cured_since,
    expired,
    facts_before,
    facts_before_steps,
    facts_of,
    facts_proving,
    plan_of,
    steps_not_done_words,
    stopped,
    untrusted_node_question,
)

SILENT = timedelta(seconds=10)  # a runner without a sign of life for this long counts as dead
IN_TIME = timedelta(seconds=30)  # after that others count it as dead, and may have done what it was about to send
POLL, LONGEST_POLL = timedelta(seconds=2), timedelta(seconds=5)
HELD_UP = "it was delayed before its command was sent"
_VERDICT, _ENDS = "verdict", "ends"
BOOTED = "it was not run, because the node was booted since it was read"
_NOBODY_SAYS = 124  # from here on, the exit status comes from whatever ended the command
_NEVER_SENT = (NameUnknown, ConnectionRefused, ConnectTimedOut, BannerStalled, LoginRefused)

Outcome: TypeAlias = AdvanceLater | IncidentEvent
EndsNow: TypeAlias = Callable[[Incident, Node], Awaitable[PlanImpact]]
Attempt: TypeAlias = tuple[str, int, int]  # incident, step, and which attempt at it


@dataclass(frozen=True, slots=True)
class Attempts:
    """For each attempt, the outcome of its command; lost with the program, and then only the node can tell.

    Shape: `ran` are attempts whose command this program sent, or may have sent: None while its end was not heard, a
    sentence if it failed, empty if it succeeded. `ended` are attempts whose end was heard: they are never sent again.
    Attempts in `unsent` were never sent, or were refused by their fence, or the rest of them was where they are in
    `ran_in_part`. `strange` notes that another machine answered, and `said` what the last round of calls returned, or
    why nothing was sent. `first_seen` is when this program first looked for the proof of an attempt that is dated later
    than that.
    """

    ran: dict[Attempt, str | None] = field(default_factory=dict)
    ended: set[Attempt] = field(default_factory=set)
    unsent: set[Attempt] = field(default_factory=set)
    ran_in_part: set[Attempt] = field(default_factory=set)
    strange: dict[Attempt, str] = field(default_factory=dict)
    first_seen: dict[Attempt, datetime] = field(default_factory=dict)
    said: dict[Attempt, str] = field(default_factory=dict)

    def note_end(self, key: Attempt, ended: Completed | None) -> None:
        """Note how the command of an attempt ended; None where that was not heard."""
        self.ran[key] = _failure(ended)
        if ended is not None and ended.exit_status is not None:
            self.ended.add(key)
        self.said[key] = one_line(ended.stdout, 500) if ended is not None else ""

    def note_not_sent(self, key: Attempt, because: str) -> AdvanceLater:
        """Note that an attempt was not sent, so that the next attempt need not wait for its fence."""
        self.ran.pop(key, None)
        self.unsent.add(key)
        self.said[key] = because
        return AdvanceLater(POLL, because)

    def never_ran(self, record: StepRecord, incident: str) -> bool:
        """True if it is known that no attempt at a step ran anything."""
        keys = [(incident, record.number, attempt) for attempt in range(1, record.attempt + 1)]
        return all((key in self.unsent or self.ran.get(key) == BOOTED) and key not in self.ran_in_part for key in keys)

    def note_other_machine(self, key: Attempt, because: str) -> AdvanceLater:
        """Note that another machine answered, and that nothing was sent to it or run there."""
        self.strange[key] = because
        return self.note_not_sent(key, because)

    def note_fence_refusal(self, key: Attempt, node: Node, why: FenceRefusal) -> AdvanceLater:
        """Note that the fence let nothing run, and why."""
        if why is FenceRefusal.BOOT:
            self.ran[key] = BOOTED
            return AdvanceLater(POLL, BOOTED)
        if why is FenceRefusal.MACHINE:
            return self.note_other_machine(key, f"Another machine answers as {node.name}: nothing was run there.")
        return self.note_not_sent(key, "its command came too late, and was not run")

    def note_brake(self, key: Attempt, pause: timedelta, no: Braked) -> AdvanceLater:
        """Note that the brake stops the rest of a step: that is reported too if its deadline passes meanwhile."""
        self.said[key] = f"{no.name}: {no.sentence}"
        return AdvanceLater(pause, self.said[key])


@dataclass(slots=True)
class StepExecutor:
    """Begins steps. `runner` names this program among those that share the ledger.

    Shape: `before_reboot` stores what a reboot destroys; None: nothing is stored. `ends_now` reads what a reboot would
    end, and `preflight` whether the node is as it was shown; None: that is not read.
    """

    policy: Policy
    ledger: Ledger
    reach: NodeAccess
    nodes: NodeDirectory
    clock: Clock
    sleep: Sleep
    runner: str
    before_reboot: PreRebootReader | None = None
    ends_now: EndsNow | None = None
    preflight: Preflight | None = None
    read_again: dict[tuple[str, str], datetime] = field(default_factory=dict)  # what was as shown, and when
    attempts: Attempts = field(default_factory=Attempts)

    async def begin(self, incident: Incident, node: Node, now: datetime) -> Outcome:
        """Begin the next step, or say why it does not begin."""
        plan, bound = plan_of(incident)
        until = self.policy.may_begin_until(incident)
        if until is None or now >= until:
            return expired(
                incident, f"The time in which the approved plan could begin is over.{await self._held_up_by(now)}"
            )
        if not self.policy.acting:
            return AdvanceLater(pause_of(incident.updated_at, now), "this bot does not act", elsewhere=True)
        if bound.get("policy") != self.policy.digest or incident.proposal is None or not incident.proposal.is_unaltered:
            return stopped(incident, "The policy or the plan on record has changed since the approval.")
        steps = plan.steps[: incident.next_step]
        try:
            await self.check_approval_age(incident, node)
            guards.check_units_named(self.policy, plan, self.reach.actions)
            check_not_quiet(self.policy.quiet, now)
            # Both first: the look has to be fresh. A decision of this moment has looked for databases, too; how old
            # another is, told by the ledger's clock, nobody knows by this one.
            if not incident.has_begun and (because := await self.why_approval_outdated(incident, node, now)):
                return stopped(incident, because)
            lately = None if incident.steps else self.reach.recall(incident.id)
            if lately is None and (others := await self.unshown_data_stores(incident, node, steps[-1])):
                return stopped(incident, f"{StateChanged.__name__}: {'; '.join(others)}")
            if lately is None and not incident.has_begun:
                await self.check_unchanged(incident)
            kept = await self._store_volatile_state(incident, node, steps[-1], until - now)
            lately, in_time = lately if kept is NOTHING else None, self.make_deadline_check()
            around = steps[-1:] if incident.steps else plan.steps
            seen = lately or await self.reach.look(node, steps, around, incident.next_step if incident.steps else 1)
        except ApprovalExpired as no:
            return expired(incident, no.sentence)
        except DriftDetected as found:
            return found.end
        except (PlanChanged, WouldStopProtected) as no:
            return stopped(incident, f"{no.name}: {no.sentence}")
        except Refused as no:
            return AdvanceLater(pause_of(incident.updated_at, now), f"{no.name}: {no.sentence}")
        except HostKeyRejected as no:
            return untrusted_node_question(no.sentence)
        except (Unreachable, CannotRead) as no:
            return AdvanceLater(pause_of(incident.updated_at, now), no.sentence)
        if others := machine_drift(bound, node, seen):
            return untrusted_node_question(f"Another machine answers: {'; '.join(others)}.")
        booted = boot_drift(bound, seen)
        if booted and not incident.has_begun:
            return Cancelled("The node was rebooted before anything was done.", booted)
        if others := (added_side_effects if incident.steps else changed_side_effects)(bound, seen):
            because = "The approved plan would now stop something else."
            return stopped(incident, f"{because} {'; '.join(others)}") if incident.steps else Cancelled(because, others)
        for record, step, facts in zip(incident.steps, steps, seen.facts, strict=False):
            action = self.reach.actions[step.action]
            only_then = action.reboots or action.only_for_reboot
            if action.ended_by == steps[-1].action or (booted and only_then and record.started is None):
                continue  # it was taken back, or somebody else's reboot came before it
            if action.reboots and facts_proving(record) not in ({}, facts):  # its cure was not watched in this boot
                return Escalated("The node was booted again.", steps_not_done_words(incident))
            if action.judge(step.args, facts_before(record, facts), facts) is not Proof.PROVEN:
                return Escalated(f"{action.title_of(step.args)}: that is undone again.", steps_not_done_words(incident))
        if not in_time():
            return AdvanceLater(POLL, HELD_UP)
        return await self._start(incident, node, steps[-1], seen, bool(booted), kept)

    async def why_approval_outdated(self, incident: Incident, node: Node, now: datetime) -> str:
        """Say what came on record since the yes with which nobody would be asked for one; empty if nothing did.

        A plan may wait long for its turn after the yes, and for the yes the node was read after the record. So does a
        first command that never ran, until it is sent again.
        Raises: CauseInDoubt, which a person may lift while the yes lives.
        """
        if incident.is_over:
            return OVER_BY_NOW
        guards.check_cause_trusted(self.policy, incident, await self.ledger.doubts())
        cause = incident.verdict.cause if incident.verdict is not None else None
        if cause is None:  # an undo restores the earlier state, sick or well
            return ""
        for mute in mutes_in_force(await self.ledger.mutes(), now):
            if mute.cause == cause and mute.covers(node):
                return f"{cause} is muted on {one_line(mute.selector, 60)} since then: {one_line(mute.reason, 200)}"
        machine_id = plan_of(incident)[1].get("machine_id", "")
        begun, _ = await self.ledger.begun_incidents(incident, cause, machine_id, timedelta(0))
        return next(filter(None, (cured_since(incident, other) for other in begun)), "")

    async def check_unchanged(self, incident: Incident) -> None:
        """Read the node again as for a yes: one that waited long for its turn is about a node that may be well by now.

        Raises: DriftDetected; a refusal where that cannot be told.
        """
        if self.preflight is None or incident.approval is None or self._was_just_read(incident, _VERDICT):
            return
        if not await self.is_before(incident, incident.approval.at + IN_TIME):
            await self.preflight.check_unchanged(incident)
            self._note_as_read(incident, _VERDICT, _ENDS)

    async def is_before(self, incident: Incident, until: datetime) -> bool:
        """True if it is not so late yet, by the ledger's time."""
        try:
            await self.ledger.check_claim_in_time(Claim(incident.node, "", self.runner, until=until))
        except ApprovalExpired:
            return False
        return True

    def _was_just_read(self, incident: Incident, what: str) -> bool:
        read_at = self.read_again.get((incident.id, what))
        return read_at is not None and timedelta(0) <= self.clock() - read_at < IN_TIME

    def _note_as_read(self, incident: Incident, *what: str) -> None:
        now = self.clock()
        self.read_again = {key: at for key, at in self.read_again.items() if now - at < IN_TIME}
        self.read_again |= {(incident.id, each): now for each in what}

    async def unshown_data_stores(self, incident: Incident, node: Node, step: Step) -> tuple[str, ...]:
        """Return each database and member that a reboot, or the drain before it, would end, and that was not shown.

        A plan may wait long for its turn after the yes, which looked for them; so does a command that is sent again.
        Raises: Unreachable; CannotRead when the node does not tell.
        """
        action, (plan, _) = self.reach.actions[step.action], plan_of(incident)
        if self.ends_now is None or plan.ends is None or not (action.reboots or action.only_for_reboot):
            return ()
        if self._was_just_read(incident, _ENDS):
            return ()
        ends = await self.ends_now(incident, node)
        if others := tuple(added_data_stores(plan.ends, ends)):
            return others
        if unread := tuple(impact_newly_unread(plan.ends, ends)):
            raise CannotRead("; ".join(unread))
        self._note_as_read(incident, _ENDS)
        return ()

    async def _store_volatile_state(
        self, incident: Incident, node: Node, step: Step, left: timedelta
    ) -> StoredReadings:
        """Store what the step destroys, if it reboots the node; takes seconds at most, and never stops the step."""
        if self.before_reboot is None or not self.reach.actions[step.action].reboots:
            return NOTHING
        return await self.before_reboot.read_and_store(incident, node, left)

    async def _start(
        self, incident: Incident, node: Node, step: Step, seen: NodeStatus, booted: bool, kept: StoredReadings
    ) -> Outcome:
        number, action, facts = incident.next_step, self.reach.actions[step.action], seen.facts[-1]
        try:
            guards.check_no_protected_alias(action, facts)
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
            if others := unshown_losses(incident, action.by_calls.affects(step.args, facts)):
                return stopped(incident, f"{StateChanged.__name__}: {'; '.join(others)}")
            facts = action.by_calls.given(facts, facts_before_steps(incident))
        before = (as_evidence(action, step, facts),)
        started = StepStarted(number, 1, seen.boot_id, before, self.runner, kept=kept.case, kept_says=kept.says)
        return await self.run(incident, node, step, seen, started, is_first=not incident.has_begun)

    def _rebooted(self, incident: Incident) -> bool:
        """True if a step of this plan has rebooted the node: later steps are meant for the new boot."""
        steps = plan_of(incident)[0].steps
        verified = [record.number for record in incident.steps if isinstance(record.outcome, StepVerified)]
        return any(self.reach.actions[steps[number - 1].action].reboots for number in verified)

    async def run(
        self, incident: Incident, node: Node, step: Step, seen: NodeStatus, started: StepStarted, *, is_first: bool
    ) -> Outcome:
        """Record the start of a step together with its hold and its fence, and only then send it.

        Shape: `is_first` where nothing of the plan has run: a doubt about its cause stops that.
        """
        _, bound = plan_of(incident)
        if not self.reach.by_calls(step):
            if seen.uptime is None:
                because = f"{node.name} does not say its uptime, and nothing is sent to it without a fence."
                return AdvanceLater(pause_of(incident.updated_at, self.clock()), because)
            until = math.ceil(seen.uptime + SENT_WITHIN.total_seconds()) + self.reach.seconds_after_fence(step)
            started = replace(started, until_uptime=until)
        in_time, asked = self.make_deadline_check(), 0

        def next_in_time() -> bool:  # asked before each command, once the one before has succeeded
            nonlocal asked
            asked += 1
            return in_time()

        try:
            if is_first:  # asked once more: reading the node takes seconds
                guards.check_cause_trusted(self.policy, incident, await self.ledger.doubts())
            await self.ledger.begin(incident.id, incident.seq, started, BOT, self._claim(incident, node))
        except AlreadyTried as no:
            return Escalated(no.sentence, NOT_LASTING)
        except ApprovalExpired as no:
            return expired(incident, no.sentence)
        except Refused as no:
            return AdvanceLater(pause_of(incident.updated_at, self.clock()), f"{no.name}: {no.sentence}")
        key = (incident.id, started.number, started.attempt)
        self.attempts.ran[key] = None
        try:
            fence, before = fence_of(incident.id, bound, started), facts_of(started.before)
            why = journal_reason(incident, started.number, self.reach.actions[step.action].words(step.args))
            self.attempts.note_end(
                key, await self.reach.run(node, step, fence, before, next_in_time, self.check_brake, why)
            )
        except TooLate:
            return self.attempts.note_not_sent(key, HELD_UP)
        except Braked as no:
            return self.attempts.note_brake(key, POLL, no)
        except HostKeyRejected as no:
            return self.attempts.note_other_machine(key, no.sentence)
        except _NEVER_SENT as no:
            return self.attempts.note_not_sent(key, no.sentence)
        except RefusedByFence as no:
            return self.attempts.note_fence_refusal(key, node, no.why)
        except Unreachable:  # it may have run: what the node shows next decides
            return AdvanceLater(POLL)
        finally:
            if asked > 1:
                self.attempts.ran_in_part.add(key)
        return AdvanceLater()

    def _claim(self, incident: Incident, node: Node) -> Claim:
        plan, bound = plan_of(incident)
        return Claim(
            node.name,
            plan.remedy,
            self.runner,
            self.policy.limits,
            node.labels,
            since=incident.may_begin_since,
            until=self.policy.may_begin_until(incident),
            machine_id=bound.get("machine_id", ""),
            cure=plan.cure,
            quiet=self.policy.quiet,
        )

    async def check_approval_age(self, incident: Incident, node: Node) -> None:
        """Raises: ApprovalExpired where what allows the step is from a time that comes yet, by the ledger's clock too.

        Asked first: whatever else the step waits for, that time may have come by then.
        """
        if (since := incident.may_begin_since) is not None and self.clock() < since - CLOCK_TOLERANCE:
            await self.ledger.check_claim_in_time(self._claim(incident, node))

    async def defer_to_other_runner(self, incident: Incident) -> AdvanceLater | None:
        """Return how long to leave it to another runner that works on it; None where there is none."""
        held = await self.ledger.current_hold(incident.node)
        if held is None or held.runner == self.runner or held.silent_for >= SILENT:
            return None
        return AdvanceLater(SILENT - held.silent_for, f"{held.runner} is working on it")

    async def _held_up_by(self, now: datetime) -> str:
        """Say which of the things that hold up any step does so now; empty if none."""
        try:
            check_not_quiet(self.policy.quiet, now)
            await self.check_brake()
        except Refused as no:
            return f" {no.name}: {no.sentence}"
        return ""

    async def check_brake(self) -> None:
        """Raises: Braked."""
        check_brake_off(await self.ledger.brake_pull())

    def make_deadline_check(self) -> Callable[[], bool]:
        """Return a function that says whether a command begun now may still be sent; no if the clock is put back.

        A program that was paused has to look again: others may have done the step meanwhile, and undone it.
        """
        began_at = self.clock()
        return lambda: timedelta(0) <= self.clock() - began_at < IN_TIME


def fence_of(incident: str, bound: Mapping[str, str], started: StepStarted) -> Fence:
    """Return the fence of an attempt: the approved machine, in the boot in which the step began."""
    machine_id, host_key = bound.get("machine_id", ""), bound.get("host_key", "")
    return Fence(started.boot_id, machine_id, host_key, started.until_uptime, incident)


def journal_reason(incident: Incident, number: int, words: str) -> str:
    """Return what the node's journal is told of a step: who approved it, and why; the names come first."""
    every = [each for each in (*incident.endorsements, incident.approval) if each is not None]
    lapsed = {person for each in every for person in getattr(each.event, "lapsed", ())}
    said = [each for each in every if each.by not in lapsed or each is incident.approval]
    people = ", ".join(_person(each) for each in said)
    reasons = " / ".join(one_line(each.event.reason) for each in said if each.event.reason.strip())
    return f"incident {incident.id}, step {number}, {words}: approved by {people or 'nobody'}; why: {reasons or '-'}"


def _person(decision: Decision) -> str:
    login = decision.os_user
    return one_line(f"{decision.by} (login {login})" if login else decision.by, 100)


def pause_of(since: datetime, now: datetime) -> timedelta:
    """Return the pause before the next look: short at first, longer for what takes minutes."""
    return min(max(POLL, (now - since) / 10), LONGEST_POLL)


def _failure(ended: Completed | None) -> str | None:
    """Why a command failed; empty if it succeeded, None if that is not known."""
    if ended is None or ended.exit_status is None or ended.exit_status >= _NOBODY_SAYS:
        return None
    return "" if ended.exit_status == 0 else redacted_line(ended.stderr, 200) or f"exit status {ended.exit_status}"
