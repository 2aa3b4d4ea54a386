"""A wave: a single approval for many incidents, each approved in its turn; the fold of its stream.

It begins with a single node, and others get their turn only after earlier nodes are cured. The fold itself refuses a
turn that would be too early, so that even a faulty program cannot record it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain.alert import BOT
from bot.domain.entry import Entry, Event, is_wave
from bot.domain.errors import ImpossibleEvent
from bot.domain.fold import objection_to_yes
from bot.extras.waves.events import (
    TurnEnded,
    TurnGiven,
    TurnOutcome,
    WaveApproved,
    WaveDeclined,
    WaveEnded,
    WaveEnding,
    WaveEndorsed,
    WaveMember,
    WaveProposed,
    WaveResumed,
    WaveStopped,
    WaveYes,
    wave_event,
)

SHARES = (0.05, 0.25)  # of all members: the stages after the first node and before the rest
IN_A_ROW = 3  # nodes dropped in a row: the facts behind the approval no longer hold
USUAL = timedelta(hours=24)  # before the wave: shows how many alerts are usual
LEAST_ALARMS, UNLIKELY = 3, 0.001  # a rise has at least so many alerts, and is less likely than that by chance


class WaveState(enum.StrEnum):
    """The state of a wave."""

    PROPOSED = "proposed"
    RUNNING = "running"
    STOPPED = "stopped"
    COMPLETED = "completed"
    DECLINED = "declined"
    EXPIRED = "expired"


OPEN = (WaveState.PROPOSED, WaveState.RUNNING, WaveState.STOPPED)


def stages_of(members: int) -> tuple[int, ...]:
    """Return how many members must be cured in each stage: a single node, 5 %, 25 %, all.

    Example:
    >>> stages_of(200), stages_of(3), stages_of(1)
    ((1, 10, 50, 200), (1, 3), (1,))
    """
    sizes = (1, *(math.ceil(members * share) for share in SHARES), members)
    return tuple(sorted(set(sizes) - {0}))


@dataclass(frozen=True, slots=True)
class WaveApproval:
    """Somebody's approval of a wave; `by` is the person as the ledger writes people."""

    by: str
    at: datetime
    event: WaveYes

    @property
    def os_user(self) -> str:
        """The login that it was said from; empty in a chat."""
        return self.event.os_user


@dataclass(frozen=True, slots=True)
class Turn:
    """A member's turn; `outcome` is None while it lasts.

    Shape: `ended_at` is when its end was recorded, `over_at` when its node was last seen cured.
    """

    member: WaveMember
    given_at: datetime
    outcome: TurnOutcome | None = None
    because: str = ""
    ended_at: datetime | None = None
    over_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wave:
    """A wave, made only by folding its entries.

    Shape: `seq` and `head` are the last entry's number and hash. `stopped_at` is None while it is not stopped.
    `excused` are the incidents whose failure was known to the person who resumed the wave; alerts and failures count
    after `looked_since`, its approval or the last news that whoever resumed it last was shown.
    """

    id: str
    proposal: WaveProposed
    asked_by: str
    state: WaveState
    opened_at: datetime
    updated_at: datetime
    seq: int
    head: str
    endorsements: tuple[WaveApproval, ...] = ()
    approval: WaveApproval | None = None
    turns: tuple[Turn, ...] = ()
    stop: WaveStopped | None = None
    stopped_by: str = ""
    stopped_at: datetime | None = None
    excused: frozenset[str] = frozenset()
    looked_since: datetime | None = None
    ending: WaveEnded | WaveDeclined | None = None

    @property
    def ended(self) -> bool:
        """True when no entry can follow."""
        return self.state not in OPEN

    @property
    def approvals(self) -> tuple[WaveApproval, ...]:
        """The approvals that count for the wave, in order; without those that had lapsed."""
        if self.approval is None:
            return self.endorsements
        lapsed = self.approval.event.lapsed
        return (*(approval for approval in self.endorsements if approval.by not in lapsed), self.approval)

    @property
    def until(self) -> datetime | None:
        """The end of the time in which turns may be given; None before the approval."""
        return self.approval.at + self.proposal.expires if self.approval is not None else None

    @property
    def under_way(self) -> tuple[Turn, ...]:
        """The turns that have not ended."""
        return tuple(turn for turn in self.turns if turn.outcome is None)

    @property
    def waiting(self) -> tuple[WaveMember, ...]:
        """The members that have not had a turn, in their order."""
        had = {turn.member for turn in self.turns}
        return tuple(member for member in self.proposal.members if member not in had)

    def having(self, outcome: TurnOutcome) -> tuple[Turn, ...]:
        """The turns with that outcome."""
        return tuple(turn for turn in self.turns if turn.outcome is outcome)

    @property
    def unfixed(self) -> tuple[Turn, ...]:
        """The failed turns that nobody knew of who resumed the wave; while there are any, nothing of it begins."""
        return tuple(turn for turn in self.having(TurnOutcome.FAILED) if turn.member.incident not in self.excused)

    @property
    def stage(self) -> int:
        """How many members may be done or under way now: the first stage that is not complete."""
        done = len(self.having(TurnOutcome.CURED)) + len(self.having(TurnOutcome.CONTAINED))
        return next((size for size in self.proposal.stages if done < size), len(self.proposal.members))

    @property
    def room(self) -> int:
        """How many more turns the stage allows.

        Shape: a dropped node proves nothing, so another takes its place. A failed node keeps its place until somebody
        who knows of the failure resumes the wave; then the stage is tried with another node.
        """
        counted = [turn for turn in self.turns if turn.outcome is not TurnOutcome.DROPPED]
        return max(0, self.stage - sum(turn.member.incident not in self.excused for turn in counted))


def fold_wave(entries: Sequence[Entry]) -> Wave:
    """Return the wave folded from a stream's entries.

    Raises: ImpossibleEvent when they do not form a wave; UnreadableEntry when an entry cannot be read.
    """
    if not entries:
        raise ImpossibleEvent("A stream without entries is not a wave.")
    first = entries[0]
    event = wave_event(first.kind, first.body)
    if not isinstance(event, WaveProposed) or first.seq != 1 or not is_wave(first.stream):
        raise ImpossibleEvent(f"Wave {first.stream} cannot begin with {first.kind} as entry {first.seq}.")
    if why := _objection_to_proposal(event, first.by):
        raise ImpossibleEvent(f"Wave {first.stream} cannot be proposed so: {why}.")
    wave = Wave(first.stream, event, first.by, WaveState.PROPOSED, first.at, first.at, 1, first.hash)
    for entry in entries[1:]:
        wave = fold_wave_entry(wave, entry)
    return wave


def fold_wave_entry(wave: Wave, entry: Entry) -> Wave:
    """Return the wave with another entry.

    Raises: ImpossibleEvent, with the reason, when the entry cannot come next.
    """
    try:
        return _fold_entry(wave, entry)
    except (ValueError, ArithmeticError) as no:  # such as a time that no calendar has
        raise ImpossibleEvent(f"{entry.kind} cannot follow in wave {wave.id}: {no}.") from no


def _fold_entry(wave: Wave, entry: Entry) -> Wave:
    if (entry.stream, entry.seq) != (wave.id, wave.seq + 1):
        raise ImpossibleEvent(f"{entry.stream}/{entry.seq} is not what follows {wave.id}/{wave.seq}.")
    event = wave_event(entry.kind, entry.body)
    if why := objection(wave, event, entry.by, entry.at):
        raise ImpossibleEvent(f"{entry.kind} cannot follow in wave {wave.id}, which is {wave.state}: {why}.")
    return replace(wave, **_changed_fields(wave, event, entry), updated_at=entry.at, seq=entry.seq, head=entry.hash)


def objection(wave: Wave, event: Event, by: str, at: datetime) -> str:
    """Return why the event cannot come next in this wave; empty if it can."""
    if wave.ended:
        return "it has ended"
    state, proposed = wave.state, wave.state is WaveState.PROPOSED
    match event:
        case WaveEndorsed() | WaveApproved():
            return _objection_to_yes(wave, event, by) if proposed else "it was decided before"
        case WaveDeclined():
            return "" if proposed else "it was approved: stop it instead"
        case TurnGiven():
            return _objection_to_turn(wave, event, at) if state is WaveState.RUNNING else "it is not running"
        case TurnEnded():
            is_open = (event.incident, event.node) in {
                (turn.member.incident, turn.member.node) for turn in wave.under_way
            }
            return "" if is_open else "it is not that node's turn"
        case WaveStopped():
            return "" if state is WaveState.RUNNING else "it is not running"
        case WaveResumed():
            if by == BOT:
                return "only a person can resume it"
            return "" if state is WaveState.STOPPED else "it is not stopped"
        case WaveEnded(how=how):
            if proposed:
                return "it never began"
            if wave.under_way:
                return "a node has its turn"
            return "not every member had its turn" if how is WaveEnding.COMPLETED and wave.waiting else ""
    return "that is not an event of a wave"


def _objection_to_proposal(event: WaveProposed, by: str) -> str:
    everybody = (*event.members, *event.controls)
    if by == BOT:
        return "only a person can ask for it"
    if not event.members:
        return "it has no members"
    names, ids = {member.node for member in everybody}, {member.incident for member in everybody}
    if len(names) != len(everybody) or len(ids) != len(everybody):
        return "a node or an incident is in it twice"
    if event.stages != stages_of(len(event.members)):
        return "its stages do not fit the number of its members"
    if event.expires <= timedelta(0) or event.approvals_needed < 1:
        return "it needs no approval, or has no time to be approved in"
    return "" if event.is_unaltered else "its digest does not match its recorded content"


def _objection_to_yes(wave: Wave, event: WaveEndorsed | WaveApproved, by: str) -> str:
    approvers = [endorsement.by for endorsement in wave.endorsements]
    return objection_to_yes(event, by, wave.proposal, approvers, begins=isinstance(event, WaveApproved))


def _objection_to_turn(wave: Wave, event: TurnGiven, at: datetime) -> str:
    member = next((member for member in wave.waiting if member.incident == event.incident), None)
    if member is None or member.node != event.node:
        return "that node is not waiting for its turn"
    if not wave.room:
        return f"the stage has room for {wave.stage}"
    if wave.until is None or at >= wave.until:
        return "the time of its approval is over"
    return ""


def _changed_fields(wave: Wave, event: Event, entry: Entry) -> dict[str, Any]:
    match event:
        case WaveEndorsed():
            return {"endorsements": (*wave.endorsements, WaveApproval(entry.by, entry.at, event))}
        case WaveApproved():
            approval = WaveApproval(entry.by, entry.at, event)
            return {"approval": approval, "state": WaveState.RUNNING, "looked_since": entry.at}
        case WaveDeclined():
            return {"state": WaveState.DECLINED, "ending": event}
        case TurnGiven(incident=incident):
            member = next(member for member in wave.waiting if member.incident == incident)
            return {"turns": (*wave.turns, Turn(member, entry.at))}
        case TurnEnded(incident=incident, outcome=outcome, because=because, cured_at=cured_at):
            over_at = min(cured_at or entry.at, entry.at)  # the incident's time may stand still where it was ahead
            turns = tuple(
                replace(turn, outcome=outcome, because=because, ended_at=entry.at, over_at=over_at)
                if turn.member.incident == incident
                else turn
                for turn in wave.turns
            )
            return {"turns": turns}
        case WaveStopped():
            return {"state": WaveState.STOPPED, "stop": event, "stopped_by": entry.by, "stopped_at": entry.at}
        case WaveResumed(known_until=known_until):
            failed = frozenset(turn.member.incident for turn in wave.having(TurnOutcome.FAILED))
            resumed = {"stop": None, "stopped_by": "", "stopped_at": None, "excused": failed}
            return {"state": WaveState.RUNNING, "looked_since": known_until or entry.at, **resumed}
        case WaveEnded(how=how):
            return {"state": WaveState(how.value), "ending": event}
    return {}


# --- the rules that stop a wave by itself


@dataclass(frozen=True, slots=True)
class NodeAlarm:
    """A source's alert about a node, and when it came; `names` are all names of the machine, if they are known."""

    node: str
    at: datetime
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a wave must stop, and when the last of it came; None where whoever resumes the wave forgives nothing."""

    words: str
    at: datetime | None = None


def why_stop(wave: Wave, alarms: Sequence[NodeAlarm], now: datetime) -> tuple[StopReason, ...]:
    """Return all that stops a running wave; nothing if it may go on. `alarms` start `USUAL` before the wave."""
    return (*_unfixed_nodes(wave), *_dropped_in_a_row(wave), *alerts_against(wave, alarms, now))


def why_stop_again(
    wave: Wave, known_until: datetime, alarms: Sequence[NodeAlarm], now: datetime
) -> tuple[StopReason, ...]:
    """Return all that would stop a wave at once if it were resumed by who knows of nothing after `known_until`."""
    ended = [(turn.ended_at, turn.member.incident) for turn in wave.unfixed]
    known = {incident for at, incident in ended if at is not None and at <= known_until}
    return why_stop(replace(wave, looked_since=known_until, excused=wave.excused | known), alarms, now)


def _unfixed_nodes(wave: Wave) -> Iterator[StopReason]:
    if unfixed := wave.unfixed:
        words = f"{_names(turn.member.node for turn in unfixed)}: {unfixed[0].because}"
        yield StopReason(words, max(turn.ended_at for turn in unfixed if turn.ended_at is not None))


def _dropped_in_a_row(wave: Wave) -> Iterator[StopReason]:
    since = wave.looked_since
    ended = [(turn.ended_at, turn) for turn in wave.turns if turn.ended_at and since and turn.ended_at > since]
    last = sorted(ended, key=lambda each: each[0])[-IN_A_ROW:]
    if len(last) == IN_A_ROW and all(turn.outcome is TurnOutcome.DROPPED for _, turn in last):
        at, turn = last[-1]
        yield StopReason(f"{IN_A_ROW} nodes in a row were not as approved, last {turn.member.node}: {turn.because}", at)


def alerts_against(wave: Wave, alarms: Sequence[NodeAlarm], now: datetime) -> Iterator[StopReason]:
    """Yield why a wave must stop for alerts: of nodes that it cured, and of all."""
    began = wave.approval.at if wave.approval is not None else now
    since = wave.looked_since or now
    turns = {turn.member.node: turn for turn in wave.turns}
    members = {member.node for member in wave.proposal.members}

    def turn_of(alarm: NodeAlarm) -> Turn | None:
        if alarm.node in members:
            return turns.get(alarm.node)
        named = sorted(alarm.names & members)
        # Copied images share a machine-id: then it is not known whose second name this is.
        return turns.get(named[0]) if len(named) == 1 else None

    new = [alarm for alarm in alarms if alarm.at > since and not _in_its_turn(alarm, turn_of(alarm))]
    after = [(turn.member.node, alarm.at) for alarm in new if (turn := turn_of(alarm)) and _is_after(alarm, turn)]
    if after:
        count = "a new alert" if len(after) == 1 else f"{len(after)} new alerts"
        nodes = {node for node, _ in after}
        verb = f"has {count} since it was" if len(nodes) == 1 else f"have {count} since they were"
        yield StopReason(f"{_names(nodes)} {verb} cured", max(at for _, at in after))
    usual = sum(began - USUAL <= alarm.at < began for alarm in alarms) / USUAL.total_seconds()
    expected = usual * max(0.0, (now - since).total_seconds())
    if len(new) >= LEAST_ALARMS and (chance := poisson_tail(len(new), expected)) < UNLIKELY:
        words = f"{len(new)} new alerts came where {expected:.1f} are usual (by chance: {chance:.2g})"
        yield StopReason(words, max(alarm.at for alarm in new))


def _names(nodes: Iterable[str]) -> str:
    return ", ".join(sorted(nodes))


def _in_its_turn(alarm: NodeAlarm, turn: Turn | None) -> bool:
    """True for an alert that the cure itself causes, such as node down during its reboot."""
    return turn is not None and turn.given_at <= alarm.at <= (turn.over_at or alarm.at)


def _is_after(alarm: NodeAlarm, turn: Turn) -> bool:
    """True for an alert, none of its turn, on a node that had been acted on by then; others count among all nodes."""
    return turn.outcome is not TurnOutcome.DROPPED and alarm.at > turn.given_at


def poisson_tail(count: int, expected: float) -> float:
    """Return how likely `count` or more are when `expected` are expected, by Poisson's distribution.

    Example:
    >>> f"{poisson_tail(3, 0.5):.4f}", poisson_tail(0, 2.0), poisson_tail(1, 0.0)
    ('0.0144', 1.0, 0.0)
    """
    if not count or not expected:
        return 0.0 if count else 1.0
    fewer = (math.exp(n * math.log(expected) - expected - math.lgamma(n + 1)) for n in range(count))
    return max(0.0, 1.0 - sum(fewer))
