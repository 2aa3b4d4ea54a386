"""What people do with waves: propose, approve or decline, stop and resume; every refusal is recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain.alert import BOT, TERMINAL
from bot.domain.claim import CLOCK_TOLERANCE, check_brake_off, check_not_quiet
from bot.domain.contracts import Clock, Log
from bot.domain.entry import Entry
from bot.domain.errors import (
    AlreadyDecided,
    ApprovalExpired,
    CannotTell,
    Conflict,
    ImpossibleEvent,
    PlanChanged,
    SelfApproval,
    StaleRequest,
    StateChanged,
    UnknownIncident,
    UnreadableEntry,
    UsageError,
)
from bot.domain.events import Cancelled, PlanWithheld
from bot.domain.incident import Incident
from bot.domain.policy import Approval, ApproverLookup, Policy
from bot.domain.safe_text import counted, one_line
from bot.domain.sample import Randomness
from bot.domain.transitions import State
from bot.extras.waves.events import (
    TurnEnded,
    WaveApproved,
    WaveDeclined,
    WaveEndorsed,
    WaveEvent,
    WaveMember,
    WaveProposed,
    WaveResumed,
    WaveStopped,
)
from bot.extras.waves.store import WaveStore
from bot.extras.waves.wave import (
    USUAL,
    NodeAlarm,
    StopReason,
    Wave,
    WaveApproval,
    WaveState,
    fold_wave,
    fold_wave_entry,
    stages_of,
    why_stop,
    why_stop_again,
)
from bot.ledger import Ledger
from bot.response.decision import guards
from bot.response.incident_record import IncidentRecord, null_log, refusals_noted
from bot.seats import CureRequest

_TRIES = 5  # on Conflict: read again, decide again
MOST_MEMBERS = 2_000
PUT_TOGETHER = timedelta(minutes=30)  # from the first incident of a wave to its proposal
NEVER_PROPOSED = "Its wave was never proposed."
CONTROLS_GONE = "It was to leave nodes alone, to compare with; control groups of waves are gone."


@dataclass(frozen=True, slots=True)
class WaveService:
    """Handles people's requests about waves. `lookup` is None where people's present standing cannot be asked.

    Shape: each recorded entry is a line `wave` of the `log`.
    """

    policy: Policy
    record: IncidentRecord
    ledger: Ledger
    waves: WaveStore
    clock: Clock
    chance: Randomness
    lookup: ApproverLookup | None = None
    log: Log = null_log

    async def find(self, wave_id: str) -> Wave:
        """Return a wave. Raises: UnknownIncident for an unknown id."""
        if (wave := await self.waves.find(wave_id)) is None:
            raise UnknownIncident(f"There is no wave {one_line(wave_id, 60)!r}.", "zombie wave lists them.")
        return wave

    async def incidents(self, wave: Wave) -> dict[str, Incident]:
        """Return the incidents of a wave's members by id; one that is not on record, or not to be read, is left out."""
        found = [await self.incident(member) for member in wave.proposal.members]
        return {incident.id: incident for incident in found if incident is not None}

    async def left_out(self, wave: Wave) -> list[str]:
        """Return a sentence for each node with the cause that is no member of a wave: why not. Raises: LedgerError."""
        members = {member.incident for member in wave.proposal.members}
        first = await self.incident(wave.proposal.members[0])
        opened, _ = await self.ledger.group(first.card if first is not None else "")  # of one wave, all have one card
        return [f"{each.node} is left out: {_why_left_out(each)}" for each in opened if each.id not in members]

    async def incident(self, member: WaveMember) -> Incident | None:
        """Return a member's incident; None where this program cannot read it: a newer one wrote it, or it is damaged.

        Raises: LedgerError.
        """
        with contextlib.suppress(UnknownIncident, UnreadableEntry, ImpossibleEvent):
            return await self.record.find(member.incident)
        return None

    async def propose(self, wave_id: str, request: CureRequest, found: Sequence[Incident], playbook: str) -> Wave:
        """Propose a wave over the incidents with a proposed plan, in random order.

        Raises: UsageError when none of them has an offered plan, or they are too many.
        """
        fit, machines = [], dict[tuple[str, str], str]()
        for incident in found:
            if not _may_join(incident, wave_id, request.causes):
                continue
            machine = _machine(incident)
            if machine is None or (known := machines.setdefault(machine, incident.node)) == incident.node:
                fit.append(incident)
            else:
                await self.cancel_incident(incident, f"It is the same machine as {known}, which is in the wave.")
        late = await self.waves.now() - PUT_TOGETHER
        if any(incident.opened_at <= late for incident in fit):
            raise UsageError("It took too long to put the wave together, so nothing is proposed.", "Start it again.")
        if not fit:
            raise UsageError(
                f"No node can be cured by a wave. {why_no_member(found)}", "Look at a node: zombie check NODE"
            )
        if len(fit) > MOST_MEMBERS:
            raise UsageError(f"{len(fit)} nodes are too many for a wave; the limit is {MOST_MEMBERS}.")
        drawn = [fit[at] for at in self.chance.sample(range(len(fit)), len(fit))]
        approvals = [incident.proposal.approvals_needed for incident in drawn if incident.proposal is not None]
        proposed = WaveProposed(
            request.selectors,
            request.causes,
            tuple(map(_member, drawn)),
            (),
            stages_of(len(drawn)),
            self.policy.wave_expires,
            self.policy.digest,
            "",
            playbook,
            max([self.policy.approvals_needed(len(drawn), strange=False), *approvals]),
            request.os_user,
            request.channel,
        ).sealed()
        entry = await self.append(wave_id, 0, proposed, request.by)
        return fold_wave((entry,))

    async def close_plans_left_out(self, wave_id: str, opened: Sequence[Incident]) -> None:
        """End the plans that wait for a wave without being its members; all of them if it was not proposed."""
        wave = await self.waves.find(wave_id)
        members = {member.incident for member in wave.proposal.members} if wave is not None else set[str]()
        because = f"It is not part of {wave_id}." if wave is not None else NEVER_PROPOSED
        for each in opened:
            with contextlib.suppress(UnknownIncident):
                incident = await self.record.find(each.id)
                waits = incident.state is State.PROPOSED or wave is None
                if waits and not incident.ended and incident.id not in members:
                    await self.cancel_incident(incident, because)

    async def end_orphans(self) -> None:
        """End the incidents of waves whose program died before it had proposed them; one that cannot be read is left.

        Raises: LedgerError.
        """
        for name in await self.waves.orphans(await self.waves.now() - PUT_TOGETHER):
            try:
                incident = await self.record.find(name)
                if incident.wave == incident.alert.id:  # else it only has such a name
                    await self.cancel_incident(incident, NEVER_PROPOSED)
            except (UnreadableEntry, ImpossibleEvent) as no:
                self.log("wave_orphan_unread", incident=name, error=no.sentence)

    async def decide(self, wave_id: str, approval: Approval) -> Wave:
        """Approve the whole wave; still `proposed`, with another voice, where others have to say yes too.

        Raises: Refused, by its name, when it may not run; the refusal is recorded too. UnknownIncident.
        """

        async def approved(wave: Wave) -> WaveEvent:
            guards.check_reason(approval)
            await self.check_wave_approval(wave, approval)
            return await self._yes_event(wave, approval)

        return await self._append_decision("approve", wave_id, approval, approved)

    async def check_wave_approval(self, wave: Wave, approval: Approval) -> None:
        """The guards of a yes; a dialog asks them too, and nothing is recorded. Raises: Refused; LedgerError."""
        guards.check_approver(self.policy, approval)
        self._check_self_approval(wave, approval)
        if wave.state is not WaveState.PROPOSED:
            raise AlreadyDecided(f"The wave is {wave.state}.")
        guards.check_not_yet_approved_by(self.policy, wave.endorsements, wave.proposal.approvals_needed, approval)
        now = max(self.clock(), await self.waves.now())
        if now >= wave.opened_at + self.policy.approval_expires:
            minutes = self.policy.approval_expires.total_seconds() / 60
            raise ApprovalExpired(f"It was proposed more than {minutes:g} minutes ago.", "Start another wave.")
        check_seen_digest(wave, approval)
        await self._check_may_run(wave)
        check_not_quiet(self.policy.quiet, now)

    async def check_resumption(self, wave: Wave, approval: Approval) -> None:
        """The guards of a resumption, as `may_approve`. Raises: Refused; LedgerError."""
        guards.check_approver(self.policy, approval)
        self._check_self_approval(wave, approval)
        if wave.state is not WaveState.STOPPED:
            raise StateChanged(f"The wave is {wave.state}, not stopped.")
        if wave.until is None or await self.waves.now() >= wave.until:
            raise ApprovalExpired("The time of the wave's approval is over.", "Start another wave.")
        if approval.digest:
            check_seen_digest(wave, approval)
        await self._check_may_run(wave)

    async def _check_may_run(self, wave: Wave) -> None:
        self._check_as_proposed(wave)
        check_brake_off(await self.ledger.brake_pull())
        guards.check_causes_trusted(self.policy, wave.proposal.causes, await self.ledger.doubts())

    async def stop(self, wave_id: str, approval: Approval, *, anybody: bool = False) -> Wave:
        """Let nothing more of the wave begin; a wave that is not approved yet is declined.

        Shape: the asker and every approver may. With `anybody` any login on the machine may, or whoever may be one.
        Raises: as `decide`.
        """

        async def stopped(wave: Wave) -> WaveEvent:
            if not anybody and not self._has_asked(wave, approval):
                guards.check_may_approve(self.policy, approval)
            reason = one_line(approval.reason.strip(), 500) or "no reason given"
            if wave.state is WaveState.PROPOSED:
                return WaveDeclined(reason, approval.os_user)
            if wave.state is not WaveState.RUNNING:
                raise AlreadyDecided(f"The wave is {wave.state}.")
            return WaveStopped(f"{approval.by} stopped it: {reason}", approval.os_user)

        wave = await self._append_decision("stop wave", wave_id, approval, stopped)
        if wave.ended:
            await self.close(wave)
        return wave

    async def why_stop(self, wave: Wave) -> Sequence[StopReason]:
        """Return all that stops an approved wave; nothing if it may go on. Raises: LedgerError."""
        now, found = await self.waves.now(), list[StopReason]()
        if now < wave.updated_at - CLOCK_TOLERANCE:
            words = "The ledger's clock was set back, so it is not known which alerts came since."
            found.append(StopReason(words))
        if (pulled := await self.ledger.brake_pull()) is not None:
            found.append(StopReason(f"{pulled.by} pulled the brake at {pulled.at:%H:%M} UTC."))
        if wave.proposal.policy != self.policy.digest:
            found.append(StopReason("The policy has changed since it was approved."))
        for turn in wave.under_way:
            incident = await self.incident(turn.member)
            asked = incident.question if incident is not None and incident.is_unfixed and not incident.ended else None
            if asked is not None:
                found.append(StopReason(f"{turn.member.node} asks a person: {asked.question}"))
        return (*found, *why_stop(wave, await self._alarms(wave), now))

    async def look(self, wave: Wave) -> tuple[datetime | None, Sequence[str]]:
        """Return when the last news of a stopped wave came, and all that would stop it now beside what did.

        Shape: who resumes it forgives what came until then, and so is shown it; None while it is not stopped.
        Raises: LedgerError.
        """
        if wave.stop is None or wave.stopped_at is None:
            return None, ()
        reasons = await self.why_stop(wave)
        words = [reason.words for reason in reasons if reason.words != wave.stop.because]
        return max([wave.stopped_at, *(reason.at for reason in reasons if reason.at is not None)]), words

    async def _alarms(self, wave: Wave) -> Sequence[NodeAlarm]:
        assert wave.approval is not None
        people = self.policy.kinds | {TERMINAL}  # what they ask for is no alert
        return await self.waves.alarms(wave.approval.at - USUAL, people)

    async def resume(self, wave_id: str, approval: Approval, known_until: datetime) -> Wave:
        """Let a stopped wave go on; only an approver who did not ask for it may.

        Shape: `known_until` is when the last news came that they know, as `look` says it; what came later goes on
        counting against the wave.
        Raises: as `decide`; StateChanged when it is not stopped, StaleRequest when it was stopped again since or what
        came later would stop it at once, ApprovalExpired.
        """

        async def resumed(wave: Wave) -> WaveEvent:
            guards.check_reason(approval)
            if news := await self._news_since(wave, known_until):
                raise StaleRequest(one_line(news, 400), "Look at it again, and decide then.")
            await self.check_resumption(wave, approval)
            return WaveResumed(approval.reason.strip(), approval.os_user, known_until)

        return await self._append_decision("resume wave", wave_id, approval, resumed)

    async def _news_since(self, wave: Wave, known_until: datetime) -> str:
        """Return what a stopped wave would stop for, or has stopped for, that whoever looked at it then cannot know."""
        if wave.stop is None or wave.stopped_at is None:
            return ""
        if wave.stopped_at > known_until:
            return f"It was stopped again since: {wave.stop.because}"
        now, alarms = await self.waves.now(), await self._alarms(wave)
        if known_until > max([now, wave.updated_at, *(alarm.at for alarm in alarms)]):
            return "That time is yet to come, so nobody has seen what stops it until then."
        again = why_stop_again(wave, known_until, alarms, now)
        return f"It would stop now: {'; '.join(reason.words for reason in again)}" if again else ""

    async def append(self, wave_id: str, seq: int, event: WaveEvent, by: str) -> Entry:
        """Record an event as the entry after `seq`, and log it.

        Raises: Conflict, ImpossibleEvent, LedgerError.
        """
        entry = await self.waves.append(wave_id, seq, event, by)
        turn = {"node": event.node, "outcome": event.outcome.value} if isinstance(event, TurnEnded) else {}
        self.log("wave", wave=wave_id, change=entry.kind, by=by, **turn)
        return entry

    async def close(self, wave: Wave) -> None:
        """End the incidents that had no turn, once no turn will come; none of them could begin anyway."""
        for member in (*wave.waiting, *wave.proposal.controls):
            incident = await self.incident(member)
            if incident is not None and not incident.ended:
                await self.cancel_incident(incident, f"Wave {wave.id} ended before its turn.")

    async def cancel_incident(self, incident: Incident, because: str) -> None:
        """End an incident before anything was done; an incident that changed meanwhile is left as it is."""
        with contextlib.suppress(Conflict, ImpossibleEvent):
            await self.record.append(incident, Cancelled(because), BOT)

    def _check_as_proposed(self, wave: Wave) -> None:
        if wave.proposal.controls:
            raise PlanChanged(CONTROLS_GONE, "Start another wave.")
        if wave.proposal.policy != self.policy.digest:
            raise PlanChanged("The policy has changed since the wave was proposed.", "Start another wave.")

    async def refreshed_approval(self, earlier: WaveApproval, digest: str, wave: Wave) -> Approval:
        """Return a yes to the wave as a yes to a plan, with the person's present standing.

        Raises: NotAnApprover or SelfApproval when it no longer counts; CannotTell when that is not known here.
        """
        self._check_self_approval(wave, Approval(earlier.by, "", os_user=earlier.os_user))
        guards.check_acting(self.policy)
        elsewhere = "A running `zombie serve` can ask Slack, and continues the wave."
        again = await guards.recheck_approval(self.policy, self.lookup, earlier, elsewhere)
        reason = f"{wave.id}: {earlier.event.reason}"
        return replace(again, by=earlier.by, reason=reason, digest=digest, os_user=earlier.os_user)

    def _has_asked(self, wave: Wave, approval: Approval) -> bool:
        """True if this person asked for the wave, under any name or from the same login."""
        mine = self.policy.speaker_names(approval.by, approval.os_user)
        return bool(mine & self.policy.speaker_names(wave.asked_by, wave.proposal.os_user))

    def _check_self_approval(self, wave: Wave, approval: Approval) -> None:
        """Raises: SelfApproval."""
        if not self.policy.self_approval and self._has_asked(wave, approval):
            raise SelfApproval(
                "You, or your login, asked for this wave, so another person has to approve it.",
                "A login counts as one person, whatever name it claims.",
            )

    async def _yes_event(self, wave: Wave, approval: Approval) -> WaveEvent:
        """The event of a yes: at the last yes, the earlier ones are checked again."""
        digest, needed = wave.proposal.digest, wave.proposal.approvals_needed
        lapsed = await guards.lapsed_approvers(
            wave.endorsements, needed, lambda earlier: self.refreshed_approval(earlier, digest, wave)
        )
        needed += len(lapsed)
        said = WaveApproved if len(wave.endorsements) + 1 >= needed else WaveEndorsed
        return said(digest, approval.reason.strip(), approval.os_user, needed, lapsed)

    async def _append_decision(
        self, action: str, wave_id: str, approval: Approval, event_of: Callable[[Wave], Awaitable[WaveEvent]]
    ) -> Wave:
        async with refusals_noted(self.ledger, action, approval.by, wave_id):
            for _ in range(_TRIES):
                wave = await self.find(wave_id)
                event = await event_of(wave)
                with contextlib.suppress(Conflict):
                    return fold_wave_entry(wave, await self.append(wave.id, wave.seq, event, approval.by))
            raise CannotTell("The wave changes faster than it can be decided.", "Try again.")


def check_seen_digest(wave: Wave, approval: Approval) -> None:
    """Raises: PlanChanged for a yes that names no digest of the wave's plans, or another."""
    if not approval.digest:
        raise PlanChanged("A yes to a wave names the digest of the plans that were seen.", f"zombie wave {wave.id}")
    if approval.digest != wave.proposal.digest:
        raise PlanChanged("The wave on record is not the wave you saw.", f"zombie wave {wave.id} shows its plans.")


def why_no_member(found: Sequence[Incident]) -> str:
    """Say why none of these incidents can be part of a wave, with the first reason found."""
    if not found:
        return "None of them has that cause with a plan."
    told = next((incident for incident in found if isinstance(incident.withheld, PlanWithheld)), found[0])
    return f"Of {counted(len(found), 'node')} none has an offered plan: {_why_left_out(told)}"


def _why_left_out(incident: Incident) -> str:
    verdict, withheld = incident.verdict, incident.withheld
    if isinstance(withheld, PlanWithheld):
        return withheld.because
    muted = next((each for each in verdict.muted if each.cause == verdict.cause), None) if verdict is not None else None
    if muted is not None:
        return f"{muted.cause} is muted on {one_line(muted.selector, 60)}, and no plan is offered for it."
    return str(getattr(incident.ending, "because", incident.state))


def _may_join(incident: Incident, wave_id: str, causes: tuple[str, ...]) -> bool:
    cause = incident.verdict.cause if incident.verdict is not None else None
    return incident.wave == wave_id and incident.state is State.PROPOSED and not incident.ended and cause in causes


def _machine(incident: Incident) -> tuple[str, str] | None:
    """The machine-id and boot of a proposal; None if one is not known. Copied images differ in their boots."""
    binds = incident.proposal.binds if incident.proposal is not None else {}
    machine_id, boot = binds.get("machine_id", ""), binds.get("boot_id", "")
    return (machine_id, boot) if machine_id and boot else None


def _member(incident: Incident) -> WaveMember:
    assert incident.proposal is not None
    return WaveMember(incident.node, incident.id, incident.proposal.digest)
