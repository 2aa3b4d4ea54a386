"""systemd on a simulated node: units, their properties, and the manager's journal.

Defined in: systemctl(1), org.freedesktop.systemd1(5); NRestarts and the restart counter in the journal since 235.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from bot.demo.machine.command import Answer
from bot.demo.machine.state import Moment, State, Unit

_COUNTS_SINCE = 235
_PRINTS_PRESET_SINCE = 244
_PROPAGATES_STOP_SINCE = 249
_MOST_WORDED = 64  # nodes with other units
_WORDED: dict[int, tuple[tuple[Unit, ...], dict[tuple[str, int, tuple[str, ...]], str]]] = {}
_PRINTS_EMPTY_SINCE = 240  # from this version on a property that is asked for is printed even when it is empty


def now_of(unit: Unit, now: Moment) -> tuple[str, str, str, int, float, float]:
    """Return ActiveState, SubState, Result, NRestarts, the newest start, and the last change of state."""
    if unit.loop is None or now.uptime < unit.loop.since:
        result = "exit-code" if unit.active == "failed" else "success"
        started = unit.since - unit.ran if unit.active == "failed" else unit.since
        return unit.active, unit.sub, result, 0, max(0.0, started), unit.since
    turns, runs, began = unit.loop.at(now.uptime)
    if now.uptime >= unit.loop.until:
        return "failed", "failed", "exit-code", turns, began, unit.loop.until
    if runs:
        return "active", "running", "success", turns, began, began
    return "activating", "auto-restart", "exit-code", turns, began, began + unit.loop.runs


def span(usec: int) -> str:
    """Return a time span as systemd prints it."""
    if usec < 1000:
        return f"{usec}us" if usec else "0"
    pieces = []
    for name, size in (("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000)):
        amount, usec = divmod(usec, size)
        if amount:
            pieces.append(f"{amount}{name}")
    return " ".join(pieces)


def properties(state: State, unit: Unit, now: Moment) -> dict[str, str]:
    """Return a service's properties in systemd's own order."""
    active, sub, result, restarts, started, since = now_of(unit, now)
    ended = active != "active" and unit.active != "inactive"
    found = {
        "Type": unit.type,
        "Restart": unit.restart,
        "RestartUSec": span(unit.restart_usec),
        "MainPID": str(unit.pid if active == "active" else 0),
        "Result": result,
        "NRestarts": str(restarts),
        "ExecMainStartTimestampMonotonic": str(int(started * 1e6)) if unit.active != "inactive" else "0",
        "ExecMainPID": str(unit.pid),
        "ExecMainCode": "1" if ended else "0",
        "ExecMainStatus": str(unit.exit_status if ended else 0),
        "ControlGroup": f"/system.slice/{unit.name}" if active == "active" else "",
        "Id": unit.name,
        "Names": " ".join((unit.name, *unit.aliases)),
        "Requires": " ".join(unit.requires),
        "BindsTo": " ".join(unit.binds_to),
        "PartOf": " ".join(unit.part_of),
        "RequiredBy": " ".join(other.name for other in state.units if other.requires and _names(unit, other.requires)),
        "RequisiteOf": "",
        "WantedBy": " ".join(unit.wanted_by),
        "BoundBy": " ".join(other.name for other in state.units if other.binds_to and _names(unit, other.binds_to)),
        "ConsistsOf": " ".join(other.name for other in state.units if other.part_of and _names(unit, other.part_of)),
        "TriggeredBy": " ".join(unit.triggered_by),
        "PropagatesStopTo": " ".join(
            other.name for other in state.units if other.stops_with and _names(unit, other.stops_with)
        ),
        "Description": unit.description or unit.name,
        "LoadState": "loaded",
        "ActiveState": active,
        "SubState": sub,
        "FragmentPath": unit.fragment or f"/lib/systemd/system/{unit.name}",
        "DropInPaths": "",
        "UnitFileState": unit.enabled,
        "ConditionResult": "yes",
        "ConditionTimestampMonotonic": str(int(since * 1e6)),
        "StateChangeTimestampMonotonic": str(int(since * 1e6)),
    }
    if state.system.systemd < _COUNTS_SINCE:
        del found["NRestarts"]
    if state.system.systemd < _PROPAGATES_STOP_SINCE:
        del found["PropagatesStopTo"]
    return found


def _names(unit: Unit, names: Sequence[str]) -> bool:
    return any(name in (unit.name, *unit.aliases) for name in names)


def stopping_with(state: State, unit: Unit) -> list[Unit]:
    """Return the unit and all that stop when it is stopped, the nearest first."""
    found = [unit]
    for stopped in found:
        for other in state.units:
            stops = (*other.requires, *other.binds_to, *other.part_of, *other.stops_with)
            if other not in found and _names(stopped, stops):
                found.append(other)
    return found


def disabled_with(state: State, unit: Unit) -> list[Unit]:
    """Return the unit and all that `systemctl disable` disables with it."""
    found = [unit]
    for disabled in found:
        found += [other for other in state.units if other not in found and _names(other, disabled.also)]
    return found


def named(state: State, name: str) -> Unit | None:
    """Return the unit of that name or alias."""
    return next((unit for unit in state.units if name in (unit.name, *unit.aliases)), None)


def dependents(state: State, now: Moment, name: str, wanted: Sequence[str], disables: bool) -> str:
    """Return what is told of a unit, of each that stops with it and, where asked for, that is disabled with it."""
    unit = named(state, name)
    if unit is None:
        return f"Id={name}\nNames={name}\n\n-- all told --\n"
    told = "".join(f"{show(state, now, wanted, (), (each.name,))}\n" for each in stopping_with(state, unit))
    for each in disabled_with(state, unit)[1:] if disables else ():
        told += f"Also=yes\n{show(state, now, ('Id', 'Names', 'LoadState'), (), (each.name,))}\n"
    return f"{told}-- all told --\n"


def show(state: State, now: Moment, wanted: Sequence[str], states: Sequence[str], patterns: Sequence[str]) -> str:
    """Return the output of `systemctl show` for the units that match; without states, for all."""
    blocks = []
    whole = {pattern for pattern in patterns if not any(sign in pattern for sign in "*?[")}
    globs = [pattern for pattern in patterns if pattern not in whole]
    for unit in state.units:
        names = (unit.name, *unit.aliases)
        if whole.isdisjoint(names) and not any(fnmatch.fnmatchcase(name, glob) for name in names for glob in globs):
            continue
        active, sub, *_ = now_of(unit, now)
        if not states or active in states or sub in states:
            blocks.append(_shown(state, unit, now, tuple(wanted)))
    return "\n".join(blocks)


def _shown(state: State, unit: Unit, now: Moment, wanted: tuple[str, ...]) -> str:
    """Return a unit's block. Nodes of a large fleet share their units, and what does not change is worded once."""
    if unit.loop is not None:
        return _block(state, unit, now, wanted)
    # Kept with the units themselves, so that no others have their id.
    _, known = _WORDED.setdefault(id(state.units), (state.units, {}))
    key = (unit.name, state.system.systemd, wanted)
    if key not in known:
        if len(_WORDED) > _MOST_WORDED:
            _WORDED.clear()
        known[key] = _block(state, unit, now, wanted)
    return known[key]


def _block(state: State, unit: Unit, now: Moment, wanted: tuple[str, ...]) -> str:
    shown = properties(state, unit, now)
    keep = [key for key in shown if key in wanted or not wanted]
    if state.system.systemd < _PRINTS_EMPTY_SINCE:
        keep = [key for key in keep if shown[key]]
    return "".join(f"{key}={shown[key]}\n" for key in keep)


def unit_files(state: State, names: Sequence[str]) -> str:
    """Return the output of `systemctl list-unit-files --no-legend` for these units."""
    named = [unit for unit in state.units if not names or unit.name in names]
    width = max((len(unit.name) for unit in named), default=0)
    preset = " enabled" if state.system.systemd >= _PRINTS_PRESET_SINCE else ""
    return "".join(f"{unit.name:<{width}} {unit.enabled:<8}{preset}\n" for unit in named)


def listed(state: State, now: Moment, states: Sequence[str] = (), names: Sequence[str] = ()) -> str:
    """Return the output of `systemctl list-units --plain --no-legend` for units of these states and names."""
    rows = []
    for unit in state.units:
        active, sub, *_ = now_of(unit, now)
        if (not names or unit.name in names) and (not states or active in states or sub in states):
            rows.append((unit.name, "loaded", active, sub, unit.description))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    return "".join(
        " ".join(f"{cell:<{width}}" for cell, width in zip(row[:4], widths, strict=True)) + f" {row[4]}\n"
        for row in rows
    )


def systemctl(state: State, now: Moment, argv: Sequence[str]) -> Answer:
    """Answer a read-only systemctl command."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    options = dict(word.split("=", 1) for word in argv if word.startswith("--") and "=" in word)
    states = [name for name in options.get("--state", "").split(",") if name]
    if "--version" in argv:
        return Answer.text(f"systemd {state.system.systemd} ({state.system.systemd}.1)\n+PAM +AUDIT +SELINUX\n")
    wanted: list[str] = []
    for at, word in enumerate(argv):
        if word == "-p" and at + 1 < len(argv):
            wanted += argv[at + 1].split(",")
            words = [other for other in words if other != argv[at + 1]]
        elif word.startswith("--property="):
            wanted += word.partition("=")[2].split(",")
    verb, *names = words or ["list-units"]
    units = {name: unit for unit in state.units for name in (unit.name, *unit.aliases)}
    names = [name if "." in name or "*" in name else f"{name}.service" for name in names]
    match verb:
        case "show":
            return Answer.text(show(state, now, wanted, states, names))
        case "list-units":
            return Answer.text(listed(state, now, states, names))
        case "list-unit-files":
            return Answer.text(unit_files(state, names))
        case "is-active" | "is-enabled" | "is-failed":
            found = [properties(state, units[name], now) if name in units else None for name in names]
            key = "UnitFileState" if verb == "is-enabled" else "ActiveState"
            answers = [
                unit_properties[key] if unit_properties else "not-found" if verb == "is-enabled" else "inactive"
                for unit_properties in found
            ]
            good = {"is-active": "active", "is-enabled": "enabled", "is-failed": "failed"}[verb]
            text = "".join(f"{answer}\n" for answer in answers)
            return Answer(text.encode(), b"", 0 if good in answers else 1 if verb != "is-active" else 3)
        case "cat" if names and names[0] in units:
            return Answer.text(unit_file(units[names[0]]))
        case "status" if names and names[0] in units:
            return _status(state, units[names[0]], now)
        case "get-default":
            return Answer.text("multi-user.target\n")
    if names and names[0] not in units:
        return Answer.error(f"Unit {names[0]} could not be found.", 4)
    return Answer.error("Failed to connect to bus: this simulated node is only looked at", 1)


def unit_file(unit: Unit) -> str:
    """Return a unit's file."""
    part = "".join(f"PartOf={name}\n" for name in unit.part_of)
    install = f"\n[Install]\nWantedBy={' '.join(unit.wanted_by)}\n" if unit.enabled != "static" else ""
    prevents = "RestartPreventExitStatus=5\n" if unit.active == "failed" and unit.restart == "on-failure" else ""
    return (
        f"# {unit.fragment or '/lib/systemd/system/' + unit.name}\n[Unit]\nDescription={unit.description}\n{part}\n"
        f"[Service]\nType={unit.type}\nRestart={unit.restart}\n{prevents}RestartSec={span(unit.restart_usec)}\n"
        f"ExecStart={unit.command}\n{install}"
    )


def _status(state: State, unit: Unit, now: Moment) -> Answer:
    shown = properties(state, unit, now)
    result = f" (Result: {shown['Result']})" if shown["Result"] != "success" else ""
    since = now.wall(int(shown["StateChangeTimestampMonotonic"]) / 1e6)
    text = (
        f"* {unit.name} - {unit.description}\n"
        f"     Loaded: loaded ({shown['FragmentPath']}; {unit.enabled}; vendor preset: enabled)\n"
        f"     Active: {shown['ActiveState']} ({shown['SubState']}){result} since {since:%a %Y-%m-%d %H:%M:%S} UTC\n"
    )
    if shown["ActiveState"] == "active":
        text += f"   Main PID: {unit.pid} ({unit.command.split(' ')[0].rpartition('/')[2] or unit.name})\n"
    return Answer(text.encode(), b"", 0 if shown["ActiveState"] == "active" else 3)


def restarts(state: State, now: Moment, since: float) -> list[tuple[float, str, str]]:
    """Return PID 1's journal lines of scheduled restarts since an uptime: uptime, identifier, text."""
    found = []
    for unit in state.units:
        if unit.loop is None:
            continue
        last, _, _ = unit.loop.at(now.uptime)
        turn = max(1, int((since - unit.loop.since) // unit.loop.turn) + 1)
        while turn <= last:
            at = unit.loop.since + turn * unit.loop.turn
            if state.system.systemd < _COUNTS_SINCE:
                text = f"{unit.name} holdoff time over, scheduling restart."
            else:
                text = f"{unit.name}: Scheduled restart job, restart counter is at {turn}."
            found.append((at, "systemd[1]", text))
            turn += 1
    return sorted(found)
