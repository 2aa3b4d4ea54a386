"""What is done to a simulated node changes it, and a reboot frees what nothing else frees."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.demo.faults import Fault
from bot.demo.fleet_leaks import AUTO_RESTART, HIDDEN
from bot.demo.fleet_other_faults import GPU_LOST
from bot.demo.machine import changes, systemd
from bot.demo.machine.machine import Machine
from bot.demo.machine.state import State
from bot.domain.fence import Fence
from tests.unit.demo.machine.moments import BEGAN_AT, moment

FENCED = 'test "$(cat /proc/sys/kernel/random/boot_id)" = {0} && exec sudo -n systemctl reboot'
DISABLE = "sudo -n systemctl disable --now -- ecs.service"


def machine(state: State, fault: Fault | None = None) -> Machine:
    loop = asyncio.get_running_loop()
    zero = loop.time()
    return Machine(state, BEGAN_AT, lambda: loop.time() - zero, fault)


async def boot_id(of: Machine) -> str:
    return (await of.run(["cat", "/proc/sys/kernel/random/boot_id"])).stdout.decode().strip()


async def unit(of: Machine) -> list[str]:
    told = await of.run(["systemctl", "show", "-p", "ActiveState,SubState,UnitFileState", "--", "ecs.service"])
    return told.stdout.decode().split()


@pytest.mark.parametrize("state", [AUTO_RESTART, HIDDEN], ids=["auto-restart", "hidden"])
def test_disabled_unit_is_off_and_leaks_no_further(state: State) -> None:
    now = moment(state)
    off = changes.after_systemctl(state, state, "disable", "ecs.service", now)
    agent = next(one for one in off.units if one.name == "ecs.service")
    assert systemd.now_of(agent, moment(off, 60))[:2] == ("inactive", "dead")
    assert agent.enabled == "disabled"
    assert off.cgroups.dying_at(now.uptime + 3600) == off.cgroups.dying_at(now.uptime) > 50_000


@pytest.mark.parametrize("state", [AUTO_RESTART, HIDDEN], ids=["auto-restart", "hidden"])
def test_next_boot_is_fresh_and_starts_only_what_is_enabled(state: State) -> None:
    cured = changes.after_reboot(changes.after_systemctl(state, state, "disable", "ecs.service", moment(state)), state)
    assert (cured.generation, cured.uptime) == (1, changes.BOOT_TAKES)
    assert cured.cgroups.dying_at(3600) < 20
    again = changes.after_reboot(state, state)
    assert again.cgroups.dying_at(3600) > 100
    enabled = changes.after_reboot(
        changes.after_systemctl(state, state, "disable", "ecs.service", moment(state)), state, enables="ecs.service"
    )
    assert enabled.cgroups.dying_at(3600) > 100


def test_lost_gpu_is_back_in_the_next_boot_and_its_log_is_new() -> None:
    assert not all(gpu.there for gpu in GPU_LOST.gpus)
    fresh = changes.after_reboot(GPU_LOST, GPU_LOST)
    assert all(gpu.there for gpu in fresh.gpus)
    assert not any("Xid" in line.text for line in fresh.log)


async def test_reboot_is_for_one_boot_only_and_is_counted() -> None:
    node = machine(HIDDEN)
    before = await boot_id(node)
    await node.run(["sh", "-c", DISABLE])
    assert await unit(node) == ["ActiveState=inactive", "SubState=dead", "UnitFileState=disabled"]
    other = await node.run(["sh", "-c", FENCED.format("0" * 36)])
    assert (other.status, node.done) == (1, ["disable ecs.service"])
    done = await node.run(["sh", "-c", FENCED.format(before)])
    assert done.status == 0
    async with asyncio.timeout(timedelta(seconds=20).total_seconds()):
        await node.rebooted.wait()
    assert node.reboots == 1
    assert await boot_id(node) != before
    assert node.uptime() < 60
    assert await unit(node) == ["ActiveState=inactive", "SubState=dead", "UnitFileState=disabled"]
    assert (await node.run(["sh", "-c", FENCED.format(before)])).status == 1


async def test_reboot_that_is_swallowed_changes_nothing() -> None:
    node = machine(HIDDEN, Fault.SWALLOWS_REBOOT)
    before = await boot_id(node)
    assert (await node.run(["sh", "-c", FENCED.format(before)])).status == 0
    assert (node.reboots, node.done) == (0, ["reboot"])
    assert await boot_id(node) == before


async def test_without_root_nothing_is_changed() -> None:
    node = machine(HIDDEN)
    refused = await node.run(["systemctl", "disable", "--now", "--", "ecs.service"])
    assert (refused.status, node.done) == (1, [])
    assert b"authentication required" in refused.stderr
    unknown = await node.run(["sudo", "-n", "systemctl", "disable", "--now", "--", "no-such.service"])
    assert unknown.status == 1


@pytest.mark.parametrize(("other", "status"), [("machine_id", 91), ("boot_id", 92), ("until", 93), ("", 0)])
async def test_fence_is_kept_as_a_real_node_keeps_it(other: str, status: int) -> None:
    node = machine(HIDDEN)
    told = (await node.run(["cat", "/proc/sys/kernel/random/boot_id", "/etc/machine-id"])).stdout.decode().split()
    fits = Fence(told[0], told[1], "", int(node.uptime()) + 15)
    others = {
        "machine_id": replace(fits, machine_id="0" * 32),
        "boot_id": replace(fits, boot_id="0" * 36),
        "until": replace(fits, until=int(node.uptime())),
    }
    fence = others.get(other, fits)
    done = await node.run(["sh", "-c", fence.fenced_line(DISABLE)])
    assert (done.status, node.done) == (status, [] if other else ["disable ecs.service"])
