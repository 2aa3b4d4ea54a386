"""Services that systemd starts again and again: now, by their history, or until they stopped."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import timedelta

from bot.causes._figures import count, span
from bot.domain import protected
from bot.domain.probe import Snapshot, Unread
from bot.probes.host import HostReading
from bot.probes.units import Unit, UnitsReading

_TOLD = (
    "Id=",
    "ActiveState=",
    "SubState=",
    "Result=",
    "NRestarts=",
    "ExecMainStatus=",
    "UnitFileState=",
    "RestartUSec=",
)


_AFTER_SUCCESS = ("always", "on-success")


class LoopState(enum.StrEnum):
    """What a unit that was started many times does today."""

    NOW = "now"  # seen between tries, or started again between the looks
    BY_HISTORY = "by-history"  # its count and the age of its present run say that it goes on
    STOPPED = "stopped"  # failed or stopped: it loops no more, until something starts it
    STEADY = "steady"  # its present run has outlasted the loop by far


@dataclass(frozen=True, slots=True)
class Loop:
    """One service and its turns.

    Shape: `turns` as counted. `stopped_after` is since boot.
    """

    unit: Unit
    state: LoopState
    turns: int
    counted_by: str
    stopped_after: timedelta | None = None

    @property
    def goes_on(self) -> bool:
        """True when it loops today."""
        return self.state in (LoopState.NOW, LoopState.BY_HISTORY)


def is_essential(unit: Unit) -> bool:
    """True when the node cannot work without it."""
    return protected.is_essential((unit.name, *unit.aliases))


def told(unit: Unit) -> tuple[str, ...]:
    """Return those of the unit's own lines that tell of its loop."""
    chosen = tuple(line for line in unit.source if line.startswith(_TOLD))
    return (chosen or unit.source)[:8]


def restarted_by_systemd(unit: Unit) -> bool:
    """True when systemd itself started it again between the looks; a person's restart or a timer's job is no loop."""
    if unit.restarts is not None and unit.restarts_later is not None:
        return unit.restarts_later > unit.restarts
    return unit.restarted_in_window and unit.restart not in ("", "no")


def ends_well(unit: Unit) -> bool:
    """True where it is started again after a run that ended well: a poller, and no crash.

    Only the state between two runs tells: a start sets the result back to success.
    """
    return unit.between_tries and unit.result == "success" and unit.restart in _AFTER_SUCCESS


def end_is_seen(unit: Unit) -> bool:
    """True where its runs are known to fail: by their result, or because systemd starts it again for nothing else."""
    return unit.result not in ("", "success") or unit.restart not in _AFTER_SUCCESS


def mean_run(loop: Loop, uptime: timedelta | None) -> timedelta | None:
    """Return the mean time from one start to the next since boot, None where it cannot be told."""
    return uptime / loop.turns if uptime is not None and loop.turns and loop.counted_by == "NRestarts" else None


def loops(snapshot: Snapshot, many: float) -> tuple[Loop, ...] | Unread:
    """Return the services that loop now, and those with at least `many` turns behind them, most turns first."""
    units = snapshot.get(UnitsReading)
    if isinstance(units, Unread):
        return units
    host = snapshot.get(HostReading)
    uptime = None if isinstance(host, Unread) else host.uptime
    found = [loop for unit in units.services if (loop := _loop(unit, uptime, many)) is not None]
    return tuple(sorted(found, key=lambda loop: (-loop.turns, loop.unit.name)))


def _loop(unit: Unit, uptime: timedelta | None, many: float) -> Loop | None:
    stopped_after = _stopped_after(unit)
    turns, scaled, counted_by = _turns(unit, stopped_after or uptime)
    if unit.between_tries or restarted_by_systemd(unit):
        return Loop(unit, LoopState.NOW, turns, counted_by)
    if turns < many:
        return None
    active = unit.active_later or unit.active
    if active in ("failed", "inactive"):
        return Loop(unit, LoopState.STOPPED, turns, counted_by, stopped_after)
    state = LoopState.STEADY if _is_steady(unit, uptime, scaled) else LoopState.BY_HISTORY
    return Loop(unit, state, turns, counted_by)


def _turns(unit: Unit, looped_for: timedelta | None) -> tuple[int, int, str]:
    counter, logged, over = unit.most_restarts, unit.restarts_logged, unit.restarts_logged_over
    if counter >= logged:
        return counter, counter, "NRestarts"
    scaled = logged
    if looped_for is not None and over is not None and logged > 1 and over > timedelta(0):
        # The journal may reach back less far than the loop: its pace, over the time the loop had.
        scaled = max(logged, round((logged - 1) * (looped_for / over)))
    return logged, scaled, "journal"


def _stopped_after(unit: Unit) -> timedelta | None:
    if (unit.active_later or unit.active) not in ("failed", "inactive") or not unit.state_changed_usec:
        return None
    return timedelta(microseconds=unit.state_changed_usec)


def _is_steady(unit: Unit, uptime: timedelta | None, turns: int) -> bool:
    started = unit.started_usec_later or unit.started_usec
    if uptime is None or not started or not turns:
        return False
    run = uptime - timedelta(microseconds=started)
    # Three mean gaps: a run of a loop is at most as long as the gap between its starts.
    return run > max(3 * uptime / turns, timedelta(minutes=1))


def says(loop: Loop, uptime: timedelta | None) -> str:
    """Return what the unit does, in words."""
    unit, name = loop.unit, loop.unit.name
    if unit.restarts is not None and unit.restarts_later is not None and unit.restarts_later > unit.restarts:
        counter = f"NRestarts rose from {unit.restarts:,} to {unit.restarts_later:,} between the looks"
    elif loop.counted_by == "journal":
        over = f" within {span(unit.restarts_logged_over)}" if unit.restarts_logged_over else ""
        counter = f"its journal tells of {count(loop.turns, 'restart')}{over}"
    elif loop.turns:
        counter = f"it was restarted {count(loop.turns, 'time')} (NRestarts)"
    else:
        counter = "its restarts are not counted"
    match loop.state:
        case LoopState.NOW if unit.between_tries:
            return f"{name} waits for its next try (auto-restart); {counter}"
        case LoopState.NOW:
            return f"{name} was started again between the looks; {counter}"
        case LoopState.BY_HISTORY:
            return f"{name} goes on looping: {counter}"
        case LoopState.STEADY:
            return f"{name} looped and runs steadily now: {counter}"
        case LoopState.STOPPED:
            return f"{name} {when_stopped(loop, uptime)}: {counter}"


def when_stopped(loop: Loop, uptime: timedelta | None) -> str:
    """Return when it stopped, in words."""
    if loop.stopped_after is None:
        return "has stopped, when is not told"
    at = f"stopped at {span(loop.stopped_after)} after boot"
    return at if uptime is None else f"{at}, {span(max(timedelta(0), uptime - loop.stopped_after))} ago"
