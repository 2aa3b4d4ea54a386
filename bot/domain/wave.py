"""A wave: one approval under which many incidents are approved, each in its turn; the fold of its stream.

It begins with one node, and more have their turn only as those before them are cured. The fold itself refuses a turn
that would be too early: no program, however broken, can put one on record.

Longer than 300 lines: what a wave is and what may follow in it are one promise.
"""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain.alert import BOT
from bot.domain.entry import Entry, Event
from bot.domain.errors import ImpossibleEvent
from bot.domain.wave_events import (
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
)

_STREAM = re.compile(r"wave-[a-z0-9]{4,40}\Z")
SHARES = (0.05, 0.25)  # of all members, after the canary and before the rest


class WaveState(enum.StrEnum):
    """Where a wave stands."""

    PROPOSED = "proposed"
    RUNNING = "running"
    STOPPED = "stopped"
    COMPLETED = "completed"
    DECLINED = "declined"
    EXPIRED = "expired"


OPEN = (WaveState.PROPOSED, WaveState.RUNNING, WaveState.STOPPED)


def is_wave(stream: str) -> bool:
    """True when a stream is that of a wave; no incident's id has a dash.

    Example:
    >>> is_wave("wave-7k3m9x2qpv"), is_wave("7k3m9x2qpv"), is_wave("house")
    (True, False, False)
    """
    return _STREAM.match(stream) is not None


def stages_of(members: int) -> tuple[int, ...]:
    """Return how many have to be cured before each further stage: one, 5 %, 25 %, all.

    Example:
    >>> stages_of(200), stages_of(3), stages_of(1)
    ((1, 10, 50, 200), (1, 3), (1,))
    """
    sizes = (1, *(math.ceil(members * share) for share in SHARES), members)
    return tuple(sorted(set(sizes) - {0}))


@dataclass(frozen=True, slots=True)
class Voice:
    """Somebody's yes to a wave; `by` as the record writes people."""

    by: str
    at: datetime
    event: WaveYes


@dataclass(frozen=True, slots=True)
class Turn:
    """One member's turn; `outcome` is None while it lasts."""

    member: WaveMember
    given_at: datetime
    outcome: TurnOutcome | None = None
    because: str = ""
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Wave:
    """A wave as its entries tell of it, and nothing else.

    Shape: `seq` and `head` are the last entry's number and hash. `excused` are the incidents whose failure somebody
    knew of when they resumed the wave; `looked_since` is since when alerts and failures count, its approval or the last
    resumption.
    """

    id: str
    proposal: WaveProposed
    asked_by: str
    state: WaveState
    opened_at: datetime
    updated_at: datetime
    seq: int
    head: str
    endorsements: tuple[Voice, ...] = ()
    approval: Voice | None = None
    turns: tuple[Turn, ...] = ()
    stop: WaveStopped | None = None
    stopped_by: str = ""
    excused: frozenset[str] = frozenset()
    looked_since: datetime | None = None
    ending: WaveEnded | WaveDeclined | None = None

    @property
    def ended(self) -> bool:
        """True when nothing can follow."""
        return self.state not in OPEN

    @property
    def voices(self) -> tuple[Voice, ...]:
        """Everybody whose yes the wave rests on, the last one last; without those whose yes had lapsed by then."""
        if self.approval is None:
            return self.endorsements
        lapsed = self.approval.event.lapsed
        return (*(voice for voice in self.endorsements if voice.by not in lapsed), self.approval)

    @property
    def until(self) -> datetime | None:
        """Until when a turn may be given, once it is approved."""
        return self.approval.at + self.proposal.expires if self.approval is not None else None

    @property
    def under_way(self) -> tuple[Turn, ...]:
        """The turns that are not over."""
        return tuple(turn for turn in self.turns if turn.outcome is None)

    @property
    def waiting(self) -> tuple[WaveMember, ...]:
        """The members that had no turn yet, in their order."""
        had = {turn.member for turn in self.turns}
        return tuple(member for member in self.proposal.members if member not in had)

    def having(self, outcome: TurnOutcome) -> tuple[Turn, ...]:
        """The turns that ended so."""
        return tuple(turn for turn in self.turns if turn.outcome is outcome)

    @property
    def stage(self) -> int:
        """How many members may be cured or under way now: the first stage that is not reached yet."""
        cured = len(self.having(TurnOutcome.CURED))
        return next((size for size in self.proposal.stages if cured < size), len(self.proposal.members))

    @property
    def room(self) -> int:
        """How many further turns the stage has room for.

        Shape: a node that was dropped proves nothing, so another takes its place. One that failed keeps its
        place until somebody who knew of it resumed the wave; then the stage is tried with another node.
        """
        counted = [turn for turn in self.turns if turn.outcome is not TurnOutcome.DROPPED]
        return max(0, self.stage - sum(turn.member.incident not in self.excused for turn in counted))


def fold_wave(entries: Sequence[Entry]) -> Wave:
    """Return the wave that a stream's entries tell of.

    Raises: ImpossibleEvent when they tell of none; UnreadableEntry when one of them cannot be read here.
    """
    if not entries:
        raise ImpossibleEvent("A wave without entries is none.")
    first = entries[0]
    event = first.event
    if not isinstance(event, WaveProposed) or first.seq != 1 or not is_wave(first.stream):
        raise ImpossibleEvent(f"Wave {first.stream} cannot begin with {first.kind} as entry {first.seq}.")
    if why := _about_proposal(event, first.by):
        raise ImpossibleEvent(f"Wave {first.stream} cannot be proposed so: {why}.")
    wave = Wave(first.stream, event, first.by, WaveState.PROPOSED, first.at, first.at, 1, first.hash)
    for entry in entries[1:]:
        wave = after_wave(wave, entry)
    return wave


def after_wave(wave: Wave, entry: Entry) -> Wave:
    """Return the wave with one entry more.

    Raises: ImpossibleEvent, with why, when it cannot be this wave's next.
    """
    if (entry.stream, entry.seq) != (wave.id, wave.seq + 1):
        raise ImpossibleEvent(f"{entry.stream}/{entry.seq} is not what follows {wave.id}/{wave.seq}.")
    event = entry.event
    if why := objection(wave, event, entry.by, entry.at):
        raise ImpossibleEvent(f"{entry.kind} cannot follow in wave {wave.id}, which is {wave.state}: {why}.")
    return replace(wave, **_told(wave, event, entry), updated_at=entry.at, seq=entry.seq, head=entry.hash)


def objection(wave: Wave, event: Event, by: str, at: datetime) -> str:
    """Return why the event cannot be this wave's next, or nothing where it can."""
    if wave.ended:
        return "it has ended"
    state, proposed = wave.state, wave.state is WaveState.PROPOSED
    match event:
        case WaveEndorsed() | WaveApproved():
            return _about_voice(wave, event, by) if proposed else "it was decided before"
        case WaveDeclined():
            return "" if proposed else "it was approved: stop it instead"
        case TurnGiven():
            return _about_turn(wave, event, at) if state is WaveState.RUNNING else "it does not run"
        case TurnEnded():
            is_open = (event.incident, event.node) in {
                (turn.member.incident, turn.member.node) for turn in wave.under_way
            }
            return "" if is_open else "it is not that node's turn"
        case WaveStopped():
            return "" if state is WaveState.RUNNING else "it does not run"
        case WaveResumed():
            if by == BOT:
                return "only a person resumes it"
            return "" if state is WaveState.STOPPED else "it is not stopped"
        case WaveEnded(how=how):
            if proposed:
                return "it never began"
            if wave.under_way:
                return "a node has its turn"
            return "not every member had its turn" if how is WaveEnding.COMPLETED and wave.waiting else ""
    return "that is none of a wave's events"


def _about_proposal(event: WaveProposed, by: str) -> str:
    everybody = (*event.members, *event.controls)
    if by == BOT:
        return "only a person asks for it"
    if not event.members:
        return "it has no members"
    names, ids = {member.node for member in everybody}, {member.incident for member in everybody}
    if len(names) != len(everybody) or len(ids) != len(everybody):
        return "a node, or an incident, stands in it twice"
    if event.stages != stages_of(len(event.members)):
        return "its stages are not those of so many members"
    if event.expires <= timedelta(0) or event.approvals_needed < 1:
        return "it is to be approved by nobody, or for no time"
    return "" if event.is_whole else "its digest is not that of what stands on record"


def _about_voice(wave: Wave, event: WaveYes, by: str) -> str:
    if event.digest != wave.proposal.digest:
        return "another plan was meant"
    if by == BOT:
        return "only a person says yes"
    if by in {voice.by for voice in wave.endorsements}:
        return f"{by} has said yes already"
    needed = max(wave.proposal.approvals_needed, event.needed)
    is_last = len(wave.endorsements) + 1 >= needed
    if isinstance(event, WaveApproved) and not is_last:
        return f"{needed} have to say yes"
    return "this yes is the last that was needed" if isinstance(event, WaveEndorsed) and is_last else ""


def _about_turn(wave: Wave, event: TurnGiven, at: datetime) -> str:
    member = next((member for member in wave.waiting if member.incident == event.incident), None)
    if member is None or member.node != event.node:
        return "that node has no turn to come"
    if not wave.room:
        return f"the stage has room for {wave.stage}"
    if wave.until is None or at >= wave.until:
        return "the time of its approval is over"
    return ""


def _told(wave: Wave, event: Event, entry: Entry) -> dict[str, Any]:
    match event:
        case WaveEndorsed():
            return {"endorsements": (*wave.endorsements, Voice(entry.by, entry.at, event))}
        case WaveApproved():
            voice = Voice(entry.by, entry.at, event)
            return {"approval": voice, "state": WaveState.RUNNING, "looked_since": entry.at}
        case WaveDeclined():
            return {"state": WaveState.DECLINED, "ending": event}
        case TurnGiven(incident=incident):
            member = next(member for member in wave.waiting if member.incident == incident)
            return {"turns": (*wave.turns, Turn(member, entry.at))}
        case TurnEnded(incident=incident, outcome=outcome, because=because):
            turns = tuple(
                replace(turn, outcome=outcome, because=because, ended_at=entry.at)
                if turn.member.incident == incident
                else turn
                for turn in wave.turns
            )
            return {"turns": turns}
        case WaveStopped():
            return {"state": WaveState.STOPPED, "stop": event, "stopped_by": entry.by}
        case WaveResumed():
            failed = frozenset(turn.member.incident for turn in wave.having(TurnOutcome.FAILED))
            resumed = {"stop": None, "stopped_by": "", "excused": failed, "looked_since": entry.at}
            return {"state": WaveState.RUNNING, **resumed}
        case WaveEnded(how=how):
            return {"state": WaveState(how.value), "ending": event}
    return {}
