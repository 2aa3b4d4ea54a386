"""Runs a wave: fold its record, do one thing, append; safe while other programs do the same.

It sends nothing to any node. It gives incident after incident its turn, applies the wave's approval to it through
the same guards and the same look at the node as any yes, and notes the outcome. Each entry is appended at its own
number, and the ledger refuses a step of an incident whose wave does not run or has not given it the turn: so any number
of programs may call `advance`, be killed, or be late.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.domain.alert import BOT
from bot.domain.claim import Claim, check_not_quiet
from bot.domain.contracts import AdvanceLater, NodeDirectory
from bot.domain.errors import (
    AlreadyCured,
    AlreadyDecided,
    AlreadyTried,
    ApprovalExpired,
    Braked,
    BudgetSpent,
    CannotTell,
    CauseInDoubt,
    Conflict,
    ImpossibleEvent,
    InventoryError,
    MissingRight,
    NodeBusy,
    NotAnApprover,
    NotEnoughApprovers,
    NothingProposed,
    PlanChanged,
    QuietHours,
    Refused,
    SelfApproval,
    StateChanged,
    WouldStopProtected,
)
from bot.domain.incident import Incident, Result
from bot.domain.policy import Policy
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.extras.waves.events import (
    TurnEnded,
    TurnGiven,
    TurnOutcome,
    WaveDeclined,
    WaveEnded,
    WaveEnding,
    WaveEvent,
    WaveMember,
    WaveStopped,
)
from bot.extras.waves.wave import Turn, Wave, WaveState
from bot.extras.waves.wave_service import CONTROLS_GONE, WaveService
from bot.response.decision.responder import Responder

POLL, RETRY = timedelta(seconds=2), timedelta(seconds=10)
MOST_TRIED = 20  # members tried in search of a node with room: the first, and as many at random
# Refusals of an ended or decided incident: its outcome is read from its record.
_SETTLES = (StateChanged, AlreadyCured, WouldStopProtected, AlreadyTried, ApprovalExpired, AlreadyDecided)
# Refusals that make the whole approval void.
_STOPS = (NotAnApprover, SelfApproval, NotEnoughApprovers, PlanChanged, CauseInDoubt)
_OUTCOMES = {
    None: TurnOutcome.DROPPED,
    Result.CURED: TurnOutcome.CURED,
    Result.CONTAINED: TurnOutcome.CONTAINED,
}


GoesOn: TypeAlias = Callable[[Incident], Awaitable[None]]


async def _nobody(_: Incident) -> None:
    pass


@dataclass(frozen=True, slots=True)
class WaveRun:
    """Runs waves. `goes_on` is told of each incident that has the turn and is decided: here somebody may act on it."""

    service: WaveService
    responder: Responder
    nodes: NodeDirectory
    runner: str = ""
    goes_on: GoesOn = _nobody

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self.service.policy

    async def advance(self, wave_id: str) -> AdvanceLater | None:
        """Do the next thing for a wave; None once it has ended.

        Raises: UnknownIncident for an unknown id; LedgerError when the record cannot be read.
        """
        wave = await self.service.find(wave_id)
        if wave.ended:
            await self.service.close(wave)
            return None
        try:
            return await self._advance_state(wave, max(wave.updated_at, await self.service.waves.now()))
        except (Conflict, ImpossibleEvent):
            return AdvanceLater(timedelta(seconds=0.2), "another program went on with it")

    async def _advance_state(self, wave: Wave, now: datetime) -> AdvanceLater | None:
        if wave.state is WaveState.PROPOSED:
            left = wave.opened_at + self.policy.approval_expires - now
            if left > timedelta(0) and not wave.proposal.controls:
                return AdvanceLater(min(left, POLL), "it waits for approval")
            await self.service.close(wave)
            return await self._append_event(wave, WaveDeclined(_why_over(wave, now) or "Nobody decided in time."))
        why_over = _why_over(wave, now)
        unread = ""
        for turn in wave.under_way:
            incident = await self.service.incident(turn.member)
            if incident is None:
                unread = f"How {turn.member.node} stands cannot be read here."
            over = _outcome(incident) if incident is not None else _lost(wave, now, unread)
            if over is not None:
                outcome, because = over
                # Alerts that came while nobody looked at the wave count from the cure, not from this entry.
                cured_at = incident.sampled_at if incident is not None and outcome is TurnOutcome.CURED else None
                ended = TurnEnded(turn.member.incident, turn.member.node, outcome, one_line(because, 500), cured_at)
                return await self._append_event(wave, ended)
        if wave.state is WaveState.RUNNING and not why_over:
            if not self.policy.acting:  # another program at this ledger may be allowed to act
                return AdvanceLater(RETRY, "this bot does not act")
            if reasons := await self.service.why_stop(wave):
                return await self._append_event(wave, WaveStopped(reasons[0].words))
        for turn in wave.under_way:
            if (again := await self._approve_turn(wave, turn, now, why_over)) is not None:
                return again
        if not wave.under_way and (why_over or (wave.state is WaveState.RUNNING and not wave.waiting)):
            await self.service.close(wave)  # before the end is recorded: after a crash here it is done again
            is_left = bool(wave.waiting)
            how = WaveEnding.EXPIRED if is_left else WaveEnding.COMPLETED
            return await self._append_event(wave, WaveEnded(how, why_over if is_left else ""))
        if unread:  # while it is, nothing else of the wave begins
            return AdvanceLater(RETRY, unread)
        if wave.state is WaveState.RUNNING and not why_over:
            return await self._next_turn(wave)
        why = f": {one_line(wave.stop.because, 300)}" if wave.stop is not None else ""
        return AdvanceLater(POLL, f"it is {wave.state}{why}")

    # --- a turn

    async def _next_turn(self, wave: Wave) -> AdvanceLater | None:
        """Give the turn to the next member that fits the stage and every budget."""
        if not wave.room:
            return AdvanceLater(POLL, f"the stage of {wave.stage} is under way")
        if wave.under_way and len(wave.under_way) >= self.policy.limits.most_at_once:
            return AdvanceLater(POLL, "the limit of nodes with a turn at once is reached")
        because = "no node has room within its budget"
        first, behind = wave.waiting[:MOST_TRIED], wave.waiting[MOST_TRIED:]
        drawn = self.service.chance.sample(range(len(behind)), min(MOST_TRIED, len(behind)))
        for member in (*first, *(behind[at] for at in sorted(drawn))):  # the first of them may never have room
            if (incident := await self.service.incident(member)) is None:
                because = f"How {member.node} stands cannot be read here."
                continue
            try:
                await self._check_room(wave, member, incident)
            except (Braked, QuietHours) as no:  # it would hold up any node, and a turn lasts no longer for it
                return AdvanceLater(POLL, f"{no.name}: {no.sentence}")
            except (BudgetSpent, NodeBusy) as no:
                because = f"{no.name}: {no.sentence}"
                continue
            return await self._append_event(wave, TurnGiven(member.incident, member.node))
        return AdvanceLater(POLL, because)

    async def _check_room(self, wave: Wave, member: WaveMember, incident: Incident) -> None:
        if incident.ended or incident.proposal is None:
            return  # its turn ends at once
        labels = self._labels(member.node)
        alike = [self._labels(turn.member.node) for turn in wave.under_way]
        for label, most in self.policy.limits.per_label.items():
            if Counter(other.get(label) for other in alike)[labels.get(label)] >= most:
                raise BudgetSpent(f"{most} nodes {label} = {labels.get(label)} may have their turn at once.")
        plan = incident.proposal.plan
        machine_id = incident.proposal.binds.get("machine_id", "")
        claim = Claim(
            member.node,
            plan.remedy,
            self.runner,
            self.policy.limits,
            labels,
            machine_id=machine_id,
            cure=plan.cure,
            quiet=self.policy.quiet,
        )
        with contextlib.suppress(AlreadyTried):  # the decision reports this on the incident's own record
            await self.service.waves.check_claim_fits(incident.id, claim)

    def _labels(self, node: str) -> Mapping[str, str]:
        try:
            return self.nodes.find(node).labels
        except InventoryError:
            return {}

    async def _approve_turn(self, wave: Wave, turn: Turn, now: datetime, over: str) -> AdvanceLater | None:
        """Apply the wave's approval to the incident that has the turn; None where there is nothing to do for it.

        Shape: `over` says why no turn is given any more; empty while turns are given.
        """
        incident = await self.service.incident(turn.member)
        if incident is None:
            return None
        if incident.state is not State.PROPOSED:
            if self.policy.acting:
                await self.goes_on(incident)
            return None
        is_late, late = now >= turn.given_at + self.policy.approval_expires, "It could not begin in its turn."
        if over or (is_late and wave.state is not WaveState.RUNNING):
            return await self._cancel_and_advance(incident, over or late)
        if wave.state is not WaveState.RUNNING:
            return None
        try:
            try:  # what holds up any node alike is no reason to leave out this one
                check_not_quiet(self.policy.quiet, now)
                digest = turn.member.digest
                approvals = [await self.service.refreshed_approval(each, digest, wave) for each in wave.approvals]
            except (QuietHours, CannotTell) as no:
                return AdvanceLater(RETRY, f"{no.name}: {no.sentence}")
            await self.responder.decide_in_wave(incident, approvals)
        except _STOPS as no:
            return await self._append_event(wave, WaveStopped(f"{no.name}: {no.sentence}"))
        except MissingRight as no:
            return await self._cancel_and_advance(incident, f"{no.name}: {no.sentence}")
        except (*_SETTLES, NothingProposed):
            return AdvanceLater()
        except Refused as no:
            if is_late:
                return await self._cancel_and_advance(incident, f"{late} {no.name}: {no.sentence}")
            return AdvanceLater(RETRY, f"{turn.member.node}: {no.name}: {no.sentence}")
        return AdvanceLater()

    async def _cancel_and_advance(self, incident: Incident, because: str) -> AdvanceLater:
        await self.service.cancel_incident(incident, because)
        return AdvanceLater()

    async def _append_event(self, wave: Wave, event: WaveEvent) -> AdvanceLater | None:
        await self.service.append(wave.id, wave.seq, event, BOT)
        return AdvanceLater()


def _why_over(wave: Wave, now: datetime) -> str:
    """Return why no further turn may be given; empty if one may, or before the approval."""
    if wave.proposal.controls:
        return CONTROLS_GONE
    return "The time of the wave's approval is over." if wave.until is not None and now >= wave.until else ""


def _lost(wave: Wave, now: datetime, unread: str) -> tuple[TurnOutcome, str] | None:
    """Return the outcome of a turn whose incident cannot be read, once whoever can read it would have noted its end."""
    is_lost = wave.until is not None and now >= wave.until + wave.proposal.expires
    return (TurnOutcome.FAILED, unread) if is_lost else None


def _outcome(incident: Incident) -> tuple[TurnOutcome, str] | None:
    """Return the outcome of an incident's turn; None while it goes on.

    Shape: one that waits for a person's answer may go on after it. Nothing done: neither cure nor failure.
    """
    if not incident.ended:
        return None
    because = str(getattr(incident.ending, "because", "") or getattr(incident.ending, "summary", ""))
    said = f"{incident.state}: {because}" if because else str(incident.state)
    outcome = _OUTCOMES.get(incident.result, TurnOutcome.FAILED)
    return outcome, f"{incident.result}: {said}" if outcome is TurnOutcome.FAILED else said
