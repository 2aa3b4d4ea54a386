"""Changes to a simulated node: a unit is stopped, disabled, masked or started, caches are dropped, it reboots.

Defined in: systemctl(1). Dying cgroups outlive their unit: Linux, Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.demo.machine.state import Agent, Cgroups, Loop, Moment, Process, State, Unit
from bot.demo.machine.systemd import disabled_with, stopping_with

BOOT_TAKES = 14.0  # uptime at which sshd accepts logins
AGENT = "ecs.service"
_FRESH_DYING = 17
_FRESH_PID = 71_204
_AT_REST: Mapping[str, Any] = {"active": "inactive", "sub": "dead", "pid": 0, "loop": None}
_RUNS: Mapping[str, Any] = {"active": "active", "sub": "running", "pid": _FRESH_PID}


def after_systemctl(state: State, image: State, verb: str, name: str, now: Moment) -> State:
    """Return the node after `systemctl VERB [--now] NAME`; `image` is the node as it was made.

    Raises: LookupError when there is no such unit.
    """
    unit = state.unit(name)
    if unit is None:
        raise LookupError(name)
    match verb:
        case "start":
            return _with_units(
                state, {unit.name: _started_unit(replace(image.unit(name) or unit, enabled=unit.enabled), now)}
            )
        case "disable":
            off = {each.name: replace(each, enabled="disabled") for each in disabled_with(state, unit)}
            return _with_unit_stopped(_with_units(state, off), name, now)
        case "mask":
            return _with_unit_stopped(_with_units(state, {unit.name: replace(unit, enabled="masked")}), name, now)
    return _with_units(state, {unit.name: replace(unit, enabled="enabled")})


def after_dropped_caches(state: State, now: Moment) -> State:
    """Return the node after its caches were dropped: the dying cgroups that they pinned are freed."""
    relieved = tuple(
        replace(each, threads=tuple(replace(thread, sys=min(thread.sys, 0.5)) for thread in each.threads))
        for each in state.processes
    )
    cgroups = replace(state.cgroups, dying=_FRESH_DYING, since=now.uptime)
    return replace(state, cgroups=cgroups, load=replace(state.load, holds=()), processes=relieved)


def after_reboot(before: State, image: State, enables: str = "") -> State:
    """Return the node after a reboot.

    Shape: `image` is the node as it was made; its enabled units start again. `enables` is a unit that something
    enables during the boot.
    """
    switches = {unit.name: unit.enabled for unit in before.units} | ({enables: "enabled"} if enables else {})
    units = tuple(
        _unit_after_boot(replace(unit, enabled=switches.get(unit.name, unit.enabled)), image) for unit in image.units
    )
    again = any(unit.enabled == "enabled" and leaks(image, unit) for unit in units)
    return replace(
        image,
        units=units,
        uptime=BOOT_TAKES,
        generation=before.generation + 1,
        cgroups=Cgroups(image.cgroups.alive, _FRESH_DYING, image.cgroups.every if again else 0.0, 45.0),
        load=replace(image.load, holds=(), bursts=()),
        nics=tuple(replace(nic, resets=None) for nic in image.nics),
        gpus=tuple(replace(gpu, there=True) for gpu in image.gpus),
        log=(),
        processes=tuple(map(_process_after_boot, image.processes)),
        docker=image.docker and tuple(replace(each, created=min(each.created, 13.0)) for each in image.docker),
        cri=image.cri and tuple(replace(each, created=min(each.created, 13.0)) for each in image.cri),
        agent=Agent(_loop_after_boot(image.agent.loop), image.agent.exit_status) if again and image.agent else None,
    )


def leaks(state: State, unit: Unit) -> bool:
    """True for a unit that starts again and again, and for the agent's while its containers do."""
    return unit.loop is not None or (unit.name == AGENT and state.agent is not None)


def _with_units(state: State, units: Mapping[str, Unit]) -> State:
    return replace(state, units=tuple(units.get(unit.name, unit) for unit in state.units))


def _started_unit(unit: Unit, now: Moment) -> Unit:
    """A unit as it was when the node was made, or at work if it did not run then."""
    loop = unit.loop and replace(unit.loop, since=now.uptime)
    return replace(unit, since=now.uptime, loop=loop, **_RUNS if unit.active == "inactive" else {})


def _unit_after_boot(unit: Unit, image: State) -> Unit:
    """A unit just after the boot: what leaks rests unless it is enabled."""
    fresh, on = replace(unit, since=min(unit.since, 12.0)), unit.enabled == "enabled"
    if leaks(image, unit):
        return replace(fresh, loop=unit.loop and _loop_after_boot(unit.loop)) if on else replace(fresh, **_AT_REST)
    return replace(fresh, **_RUNS) if on and unit.active == "inactive" else fresh


def _process_after_boot(process: Process) -> Process:
    threads = tuple(thread for thread in process.threads if thread.sys < 60) or process.threads[:1]
    return replace(process, since=min(process.since, 13.0), threads=threads)


def _loop_after_boot(loop: Loop) -> Loop:
    return replace(loop, since=10.0, until=float("inf"))


def _with_unit_stopped(state: State, name: str, now: Moment) -> State:
    """The node with the unit and what stops with it at rest, its containers gone, and no further leak."""
    unit = state.unit(name)
    if unit is None:
        return state
    resting = [unit, *(each for each in stopping_with(state, unit)[1:] if each.active == "active")]
    rested = _with_units(state, {each.name: replace(each, **_AT_REST, since=now.uptime) for each in resting})
    if not leaks(state, unit):
        return rested
    agent = state.agent and replace(
        state.agent, loop=replace(state.agent.loop, until=min(state.agent.loop.until, now.uptime))
    )
    cgroups = replace(state.cgroups, until=min(state.cgroups.until, now.uptime))
    return replace(rested, agent=agent, cgroups=cgroups)
