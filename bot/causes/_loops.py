"""Services that systemd keeps restarting: now, by their history, or until they stopped."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import span
from bot.domain import protected
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
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
_LONG_RUN = timedelta(hours=1)  # the journal is read for the last hour: a unit that ran longer was not restarted in it


_EXITED = 1  # CLD_EXITED, in ExecMainCode
END_UNSEEN = "How its runs end was not seen: it is also restarted after successful runs."


class LoopState(enum.StrEnum):
    """The present state of a unit that was started many times."""

    NOW = "now"  # seen waiting for a restart, or restarted between the looks
    BY_HISTORY = "by-history"  # its restart count and the age of its present run show that it goes on
    STOPPED = "stopped"  # failed or stopped: it no longer loops, until something starts it
    STEADY = "steady"  # its present run is far longer than the loop's runs


@dataclass(frozen=True, slots=True)
class Loop:
    """A service and its restarts.

    Shape: `turns` are the counted restarts. `stopped_after` is since boot.
    """

    unit: Unit
    state: LoopState
    turns: int
    counted_by: str
    stopped_after: timedelta | None = None

    @property
    def goes_on(self) -> bool:
        """True when it loops now."""
        return self.state in (LoopState.NOW, LoopState.BY_HISTORY)


def is_essential(unit: Unit) -> bool:
    """True when the node cannot work without it."""
    return protected.is_essential((unit.name, *unit.aliases))


def unit_lines(unit: Unit) -> tuple[str, ...]:
    """Return the unit's own lines that show its loop."""
    chosen = tuple(line for line in unit.source if line.startswith(_TOLD))
    return (chosen or unit.source)[:8]


def restarted_by_systemd(unit: Unit) -> bool:
    """True when systemd restarted it between the looks; a person's restart or a timer's job is not a loop.

    Without a counter a new start may also be a person's: then its restarts in the journal decide.
    """
    if unit.restarts is not None and unit.restarts_later is not None:
        return unit.restarts_later > unit.restarts
    return unit.restarted_in_window and unit.restart not in ("", "no")


def is_started_anew(unit: Unit) -> bool:
    """True when somebody started it between the looks: only a start by hand sets its counter back."""
    return unit.restarts is not None and unit.restarts_later is not None and unit.restarts_later < unit.restarts


def ends_well(unit: Unit) -> bool:
    """True if it is restarted after a successful run: a poller, or a program that was asked to start again.

    Only the state between two runs shows this, because a start resets the result to success. A status other than 0 that
    is a success (SuccessExitStatus=) asks for a restart (RestartForceExitStatus=, systemd.service(5)).
    """
    if not unit.between_tries or unit.result != "success":
        return False
    return unit.restart in _AFTER_SUCCESS or (unit.exit_code == _EXITED and bool(unit.exit_status))


def end_is_seen(unit: Unit) -> bool:
    """True if its runs are known to fail: by their result, or because systemd restarts it only on failure."""
    return unit.result not in ("", "success") or unit.restart not in _AFTER_SUCCESS


def is_frantic(unit: Unit, snapshot: Snapshot) -> bool:
    """True if systemd restarted it once a second or more between the looks: nobody writes a poller like that."""
    before, later, units = unit.restarts, unit.restarts_later, snapshot.get(UnitsReading)
    # A slow node's looks lie further apart than the window.
    between = 0.0 if isinstance(units, Unread) else units.seconds_between or 0.0
    seconds = max(1.0, between, snapshot.window.total_seconds())
    return before is not None and later is not None and later - before >= seconds


def last_run(unit: Unit, uptime: timedelta | None) -> timedelta | None:
    """Return how long the run lasted that ended last, or that lasts; None if it is not known."""
    began, again = unit.started_usec, unit.started_usec_later
    if not began:
        return None
    if unit.sub.startswith("auto-restart"):
        ended = unit.state_changed_usec
    elif again and again > began:
        ended = again
    else:
        ended = None if uptime is None else round(uptime.total_seconds() * 1e6)
    return None if ended is None else timedelta(microseconds=max(0, ended - began))


def mean_run(loop: Loop, uptime: timedelta | None) -> timedelta | None:
    """Return the mean time between starts since boot, None if it is not known."""
    return uptime / loop.turns if uptime is not None and loop.turns and loop.counted_by == "NRestarts" else None


def has_looped_for(loop: Loop, uptime: timedelta | None, many: float, minutes: float) -> bool:
    """True if it has looped for so many minutes, by its journal's last hour or by its counter since boot.

    A service that waits for another, as at a boot or while a database fails over, loops too, and recovers by
    itself. A counter may hold the crashes of months: it tells only where they came every `minutes` or faster.
    """
    unit, least = loop.unit, timedelta(minutes=minutes)
    if unit.restarts_logged >= many and unit.restarts_logged_over is not None and unit.restarts_logged_over >= least:
        return True
    return uptime is not None and uptime >= least and loop.turns >= many and uptime / loop.turns <= least


def loops(snapshot: Snapshot, many: float) -> tuple[Loop, ...] | Unread:
    """Return the services that loop now or have at least `many` restarts behind them, most restarts first."""
    units = snapshot.get(UnitsReading)
    if isinstance(units, Unread):
        return units
    uptime = _recent.uptime(snapshot)
    found = [loop for unit in units.services if (loop := _loop_of_unit(unit, uptime, many)) is not None]
    return tuple(sorted(found, key=lambda loop: (-loop.turns, loop.unit.name)))


def _loop_of_unit(unit: Unit, uptime: timedelta | None, many: float) -> Loop | None:
    stopped_after = _stopped_after(unit)
    turns, scaled, counted_by = _turns(unit, stopped_after or uptime)
    if unit.between_tries or restarted_by_systemd(unit):
        return Loop(unit, LoopState.NOW, turns, counted_by)
    if turns < many:
        return None
    active = unit.active_later or unit.active
    if active in ("failed", "inactive"):
        return Loop(unit, LoopState.STOPPED, turns, counted_by, stopped_after)
    steady = is_started_anew(unit) or _is_steady(unit, uptime, scaled)
    state = LoopState.STEADY if steady else LoopState.BY_HISTORY
    return Loop(unit, state, turns, counted_by)


def _turns(unit: Unit, looped_for: timedelta | None) -> tuple[int, int, str]:
    counter, logged, over = unit.most_restarts, unit.restarts_logged, unit.restarts_logged_over
    if counter >= logged:
        return counter, counter, "NRestarts"
    scaled = logged
    if looped_for is not None and over is not None and logged > 1 and over > timedelta(0):
        # The journal may be shorter than the loop: scale its rate to the time of the loop.
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
    gap = uptime / turns
    if unit.restarts_logged > 1 and unit.restarts_logged_over is not None:
        # They may have been so dense for a while only, and not since boot.
        gap = min(gap, unit.restarts_logged_over / (unit.restarts_logged - 1))
    # Three mean gaps: a run of the loop is at most as long as the gap between its starts.
    return run > min(max(3 * gap, timedelta(minutes=1)), _LONG_RUN)


def loop_words(loop: Loop, uptime: timedelta | None) -> str:
    """Describe what the unit does."""
    unit, name = loop.unit, loop.unit.name
    if unit.restarts is not None and unit.restarts_later is not None and unit.restarts_later > unit.restarts:
        counter = f"NRestarts rose from {unit.restarts:,} to {unit.restarts_later:,} between the looks"
    elif loop.counted_by == "journal":
        over = f" within {span(unit.restarts_logged_over)}" if unit.restarts_logged_over else ""
        counter = f"its journal shows {counted(loop.turns, 'restart')}{over}"
    elif loop.turns:
        counter = f"it was restarted {counted(loop.turns, 'time')} (NRestarts)"
    else:
        counter = "its restarts are not counted"
    match loop.state:
        case LoopState.NOW if unit.between_tries:
            return f"{name} waits for its next restart (auto-restart); {counter}"
        case LoopState.NOW:
            return f"{name} was restarted between the looks; {counter}"
        case LoopState.BY_HISTORY:
            return f"{name} keeps looping: {counter}"
        case LoopState.STEADY if is_started_anew(unit):
            return f"{name} looped until somebody started it between the looks: {counter}"
        case LoopState.STEADY:
            return f"{name} looped and runs steadily now: {counter}"
        case LoopState.STOPPED:
            return f"{name} {when_stopped(loop, uptime)}: {counter}"


def when_stopped(loop: Loop, uptime: timedelta | None) -> str:
    """Describe when it stopped."""
    if loop.stopped_after is None:
        return "has stopped, when is not told"
    at = f"stopped at {span(loop.stopped_after)} after boot"
    return at if uptime is None else f"{at}, {span(max(timedelta(0), uptime - loop.stopped_after))} ago"
