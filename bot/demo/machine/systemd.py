"""systemd on a simulated node: units, their properties, and the manager's journal.

Defined in: systemctl(1), org.freedesktop.systemd1(5); NRestarts and the restart counter in the journal since 235.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bot.demo.machine.state import Moment, State, Unit

_COUNTS_SINCE = 235
_PRINTS_PRESET_SINCE = 244
_PROPAGATES_STOP_SINCE = 249
_PRINTS_EMPTY_SINCE = 240  # from this version on a property that is asked for is printed even when it is empty


def now_of(unit: Unit, now: Moment) -> tuple[str, str, str, int, float, float]:
    """Return ActiveState, SubState, Result, NRestarts, the newest start, and the last change of state."""
    if unit.loop is None or now.uptime < unit.loop.since:
        result = "exit-code" if unit.active == "failed" else "success"
        started = unit.since - unit.ran if unit.active == "failed" else unit.since
        return unit.active, unit.sub, result, 0, max(0.0, started), unit.since
    turns, runs, began = unit.loop.at(now.uptime)
    if runs:
        return "active", "running", "success", turns, began, began
    return "activating", "auto-restart", "exit-code", turns, began, began + unit.loop.runs


def span(usec: int) -> str:
    """Return a time span as systemd prints it."""
    pieces = []
    for name, size in (("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000)):
        amount, usec = divmod(usec, size)
        pieces += [f"{amount}{name}"] if amount else []
    return " ".join(pieces)


def properties(state: State, unit: Unit, now: Moment) -> dict[str, str]:
    """Return a service's properties in systemd's own order."""
    active, sub, result, restarts, started, since = now_of(unit, now)
    ended = active != "active" and unit.active != "inactive"
    found = {
        "Type": unit.type,
        "Restart": unit.restart,
        "RestartUSec": span(unit.restart_usec),
        "Result": result,
        "NRestarts": str(restarts),
        "ExecMainStartTimestampMonotonic": str(int(started * 1e6)) if unit.active != "inactive" else "0",
        "ExecMainCode": "1" if ended else "0",
        "ExecMainStatus": str(unit.exit_status if ended else 0),
        "ControlGroup": f"/system.slice/{unit.name}" if active == "active" else "",
        "Id": unit.name,
        "Names": " ".join(unit.names),
        "Requires": " ".join(unit.requires),
        "BindsTo": " ".join(unit.binds_to),
        "PartOf": " ".join(unit.part_of),
        "RequiredBy": _units_naming(unit, ((other, other.requires) for other in state.units)),
        "RequisiteOf": "",
        "WantedBy": " ".join(unit.wanted_by if unit.enabled != "disabled" else ()),  # by links of its [Install]
        "BoundBy": _units_naming(unit, ((other, other.binds_to) for other in state.units)),
        "ConsistsOf": _units_naming(unit, ((other, other.part_of) for other in state.units)),
        "TriggeredBy": " ".join(unit.triggered_by),
        "PropagatesStopTo": _units_naming(unit, ((other, other.stops_with) for other in state.units)),
        "Description": unit.description or unit.name,
        "LoadState": "loaded",
        "ActiveState": active,
        "SubState": sub,
        "FragmentPath": f"/lib/systemd/system/{unit.name}",
        "UnitFileState": unit.enabled,
        "ConditionResult": "yes",
        "ConditionTimestampMonotonic": str(int(since * 1e6)),
        "StateChangeTimestampMonotonic": str(int(since * 1e6)),
    }
    too_new = {"NRestarts": _COUNTS_SINCE, "PropagatesStopTo": _PROPAGATES_STOP_SINCE}
    return {name: value for name, value in found.items() if too_new.get(name, 0) <= state.system.systemd}


def _units_naming(unit: Unit, others: Iterable[tuple[Unit, Collection[str]]]) -> str:
    """The units that name this one."""
    return " ".join(other.name for other, named in others if named and not set(unit.names).isdisjoint(named))


def stopping_with(state: State, unit: Unit) -> list[Unit]:
    """Return the unit and all that stop when it is stopped, the nearest first."""
    found = [unit]
    for stopped in found:
        for other in state.units:
            stops = {*other.requires, *other.binds_to, *other.part_of, *other.stops_with}
            if other not in found and not stops.isdisjoint(stopped.names):
                found.append(other)
    return found


def disabled_with(state: State, unit: Unit) -> list[Unit]:
    """Return the unit and all that `systemctl disable` disables with it."""
    found = [unit]
    for disabled in found:
        found += [other for other in state.units if other not in found and {*other.names} & {*disabled.also}]
    return found


def show(state: State, now: Moment, wanted: Collection[str], units: Iterable[Unit | None]) -> str:
    """Return the output of `systemctl show` for these units."""
    return "\n".join(_show_block(state, unit, now, wanted) for unit in units if unit is not None)


def _show_block(state: State, unit: Unit, now: Moment, wanted: Collection[str]) -> str:
    shown = {name: value for name, value in properties(state, unit, now).items() if name in wanted}
    prints_empty = state.system.systemd >= _PRINTS_EMPTY_SINCE
    return "".join(f"{name}={value}\n" for name, value in shown.items() if value or prints_empty)


def unit_files(state: State, names: Collection[str]) -> str:
    """Return the output of `systemctl list-unit-files --no-legend` for these units."""
    preset = " enabled" if state.system.systemd >= _PRINTS_PRESET_SINCE else ""
    return "".join(f"{unit.name} {unit.enabled:<8}{preset}\n" for unit in state.units if unit.name in names)


def listed(units: Iterable[Unit], now: Moment) -> str:
    """Return the output of `systemctl list-units --plain --no-legend` for these units."""
    rows = ((unit, *now_of(unit, now)[:2]) for unit in units)
    return "".join(f"{unit.name} loaded {active} {sub} {unit.description}\n" for unit, active, sub in rows)


def restarts(state: State, now: Moment, since: float) -> list[tuple[float, str]]:
    """Return PID 1's journal lines of scheduled restarts since an uptime: uptime and text."""
    found = []
    for unit in state.units:
        if (loop := unit.loop) is not None:
            for turn in range(max(1, int((since - loop.since) // loop.turn) + 1), loop.at(now.uptime)[0] + 1):
                text = f"{unit.name}: Scheduled restart job, restart counter is at {turn}."
                found.append((loop.since + turn * loop.turn, text))
    return sorted(found)
