"""The rules that stop a wave by itself, as pure functions of its record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.wave import Turn, Wave
from bot.domain.wave_events import TurnOutcome

IN_A_ROW = 3  # nodes dropped in a row: the facts behind the approval no longer hold
USUAL = timedelta(hours=24)  # before the wave: shows how many alerts are usual
LEAST_ALARMS, UNLIKELY = 3, 0.001  # a rise has at least so many alerts, and is less likely than that by chance


@dataclass(frozen=True, slots=True)
class NodeAlarm:
    """A source's alert about a node, and when it came; `names` are all names of the machine, if they are known."""

    node: str
    at: datetime
    names: frozenset[str] = frozenset()


def why_stop(wave: Wave, alarms: Sequence[NodeAlarm], now: datetime) -> str:
    """Return why a running wave must stop; empty if it may go on. `alarms` start `USUAL` before the wave."""
    return _failed(wave) or _dropped(wave) or _risen(wave, alarms, now)


def _failed(wave: Wave) -> str:
    for turn in wave.having(TurnOutcome.FAILED):
        if turn.member.incident not in wave.excused:
            return f"{turn.member.node} was acted on and is not fixed: {turn.because}"
    return ""


def _dropped(wave: Wave) -> str:
    since = wave.looked_since
    ended = [turn for turn in wave.turns if turn.ended_at is not None and since is not None and turn.ended_at >= since]
    last = sorted(ended, key=lambda turn: turn.ended_at or turn.given_at)[-IN_A_ROW:]
    if len(last) < IN_A_ROW or any(turn.outcome is not TurnOutcome.DROPPED for turn in last):
        return ""
    return f"{IN_A_ROW} nodes in a row were not as approved, last {last[-1].member.node}: {last[-1].because}"


def _risen(wave: Wave, alarms: Sequence[NodeAlarm], now: datetime) -> str:
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

    new = [alarm for alarm in alarms if alarm.at >= since and not _of_its_turn(alarm, turn_of(alarm))]
    if after := next((turn for alarm in new if (turn := turn_of(alarm)) is not None), None):
        return f"{after.member.node} has a new alert since it was cured"
    usual = sum(began - USUAL <= alarm.at < began for alarm in alarms) / USUAL.total_seconds()
    expected = usual * max(0.0, (now - since).total_seconds())
    if len(new) >= LEAST_ALARMS and (chance := at_least(len(new), expected)) < UNLIKELY:
        return f"{len(new)} new alerts came where {expected:.1f} are usual (by chance: {chance:.2g})"
    return ""


def _of_its_turn(alarm: NodeAlarm, turn: Turn | None) -> bool:
    """True for an alert that the cure itself causes, such as node down during its reboot."""
    if turn is None:
        return False
    return turn.outcome is TurnOutcome.DROPPED or alarm.at < turn.given_at or alarm.at <= (turn.over_at or alarm.at)


def at_least(count: int, expected: float) -> float:
    """Return how likely `count` or more are when `expected` are expected, by Poisson's distribution.

    Example:
    >>> f"{at_least(3, 0.5):.4f}", at_least(0, 2.0), at_least(1, 0.0)
    ('0.0144', 1.0, 0.0)
    """
    if not count or not expected:
        return 0.0 if count else 1.0
    fewer = (math.exp(n * math.log(expected) - expected - math.lgamma(n + 1)) for n in range(count))
    return max(0.0, 1.0 - sum(fewer))
