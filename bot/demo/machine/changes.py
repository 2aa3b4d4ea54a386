"""Changes to a simulated node: a unit is stopped, disabled, masked or started, caches are dropped, it reboots.

Defined in: systemctl(1). Dying cgroups outlive their unit: Linux, Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.demo.machine.state import Cgroups, Container, Content, Loop, Moment, State, Thread, Unit
from bot.demo.machine.systemd import disabled_with, stopping_with

BOOT_TAKES = 14.0  # uptime at which sshd accepts logins
_FRESH_DYING = 17
_FRESH_PID = 71_204
_AT_REST: dict[str, Any] = {"active": "inactive", "sub": "dead", "pid": 0}


def disabled(state: State, name: str, now: Moment) -> State:
    """Return the node after `systemctl disable --now`."""
    unit = next(each for each in state.units if _is(each, name))
    off = state
    for each in disabled_with(state, unit):
        off = _with(off, each.name, enabled="disabled")
    return _stopped(off, name, now)


def masked(state: State, name: str, now: Moment) -> State:
    """Return the node after `systemctl mask --now`."""
    return _stopped(_with(state, name, enabled="masked"), name, now)


def enabled(state: State, name: str) -> State:
    """Return the node after `systemctl enable` or `unmask`."""
    return _with(state, name, enabled="enabled")


def dropped(state: State, now: Moment) -> State:
    """Return the node after its caches were dropped: the dying cgroups that they pinned are freed."""
    cgroups = replace(state.cgroups, dying=_FRESH_DYING, since=now.uptime)
    processes = tuple(replace(process, threads=tuple(map(_relieved, process.threads))) for process in state.processes)
    return replace(state, cgroups=cgroups, load=replace(state.load, holds=()), processes=processes)


def started(state: State, image: State, name: str, now: Moment) -> State:
    """Return the node after `systemctl start`: the unit is as it was when the node was made, or runs if it did not."""
    was = next(unit for unit in image.units if _is(unit, name))
    was = _running(was)
    loop = None if was.loop is None else replace(was.loop, since=now.uptime, until=float("inf"))
    back = replace(was, since=now.uptime, loop=loop)
    units = (replace(back, enabled=unit.enabled) if _is(unit, name) else unit for unit in state.units)
    return replace(state, units=tuple(units))


def rebooted(before: State, image: State, enables: str = "") -> State:
    """Return the node after a reboot.

    Shape: `image` is the node as it was made; its enabled units start again. `enables` is a unit that something
    enables during the boot.
    """
    leaks = {unit.name for unit in image.units if unit.loop is not None or _loops(image, unit)}
    kept = {unit.name: unit.enabled for unit in before.units}
    units, again = [], False
    for unit in image.units:
        switch = "enabled" if unit.name == enables else kept.get(unit.name, unit.enabled)
        fresh = replace(unit, enabled=switch, since=min(unit.since, 12.0))
        if switch == "enabled":
            fresh = _running(fresh)
        if unit.name in leaks:
            if switch == "enabled":
                again = True
                fresh = replace(fresh, loop=_from_boot(unit.loop))
            else:
                fresh = replace(fresh, loop=None, active="inactive", sub="dead", pid=0)
        units.append(fresh)
    every = image.cgroups.every if again else 0.0
    return replace(
        image,
        units=tuple(units),
        uptime=BOOT_TAKES,
        generation=before.generation + 1,
        cgroups=Cgroups(image.cgroups.alive, _FRESH_DYING, every, 45.0),
        load=replace(image.load, holds=(), bursts=()),
        nics=tuple(replace(nic, resets=None) for nic in image.nics),
        gpus=tuple(replace(gpu, there=True) for gpu in image.gpus),
        log=(),
        processes=tuple(
            replace(
                process,
                since=min(process.since, 13.0),
                threads=tuple(t for t in process.threads if t.sys < 60) or process.threads[:1],
            )
            for process in image.processes
        ),
        runtime=replace(
            image.runtime,
            docker=_containers(image.runtime.docker, again),
            cri=_containers(image.runtime.cri, again),
        ),
        files={path: content for path, content in image.files.items() if again or not path.endswith("ecs-init.log")},
    )


def _with(state: State, name: str, **changes: str) -> State:
    return replace(state, units=tuple(replace(unit, **changes) if _is(unit, name) else unit for unit in state.units))  # type: ignore[arg-type]


def _running(unit: Unit) -> Unit:
    """A unit that was stopped by hand, once started; any other unit unchanged."""
    return replace(unit, active="active", sub="running", pid=_FRESH_PID) if unit.active == "inactive" else unit


def _stopped(state: State, name: str, now: Moment) -> State:
    """The node with the unit stopped, its containers gone, and no further leak."""
    unit = next(candidate for candidate in state.units if _is(candidate, name))
    leaked = unit.loop is not None or _loops(state, unit)
    rest = replace(unit, **_AT_REST, loop=None, since=now.uptime)
    with_it = [each.name for each in stopping_with(state, unit) if each is not unit and each.active == "active"]
    units = tuple(
        rest if other is unit else replace(other, **_AT_REST, since=now.uptime) if other.name in with_it else other
        for other in state.units
    )
    if not leaked:
        return replace(state, units=units)
    runtime = replace(state.runtime, docker=_ended(state.runtime.docker, now), cri=_ended(state.runtime.cri, now))
    cgroups = replace(state.cgroups, until=min(state.cgroups.until, now.uptime))
    files = {path: _written_until(now, content) for path, content in state.files.items()}
    return replace(state, units=units, runtime=runtime, cgroups=cgroups, files=files)


def _written_until(end: Moment, content: Content) -> Content:
    """A file's content as it was at `end`."""
    if isinstance(content, str):
        return content
    return content(end)


def _relieved(thread: Thread) -> Thread:
    """A thread that no longer walks dying cgroups."""
    return replace(thread, sys=min(thread.sys, 0.5))


def _ended(containers: tuple[Container, ...] | None, now: Moment) -> tuple[Container, ...] | None:
    if containers is None:
        return None
    return tuple(
        replace(container, loop=replace(container.loop, until=min(container.loop.until, now.uptime)))
        if container.loop is not None
        else container
        for container in containers
    )


def _containers(containers: tuple[Container, ...] | None, again: bool) -> tuple[Container, ...] | None:
    if containers is None:
        return None
    return tuple(
        replace(container, created=min(container.created, 13.0), loop=_from_boot(container.loop))
        for container in containers
        if again or container.loop is None
    )


def _from_boot(loop: Loop | None) -> Loop | None:
    return None if loop is None else replace(loop, since=10.0, until=float("inf"))


def _is(unit: Unit, name: str) -> bool:
    return name in (unit.name, *unit.aliases)


def _loops(state: State, unit: Unit) -> bool:
    """True for the agent's unit while its containers restart."""
    agent = unit.name.removesuffix(".service")
    containers = (*(state.runtime.docker or ()), *(state.runtime.cri or ()))
    return any(container.loop is not None and agent in container.name for container in containers)
