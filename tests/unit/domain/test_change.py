"""A change of a reading changes just that, and says so where it cannot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.change import Change, changed_playbook
from bot.domain.command import Outputs
from bot.domain.errors import CannotRead, UsageError
from bot.domain.playbook import Playbook
from bot.domain.probe import CustomReading, Probe, Unread
from bot.probes.cgroups import CgroupsReading
from bot.probes.conntrack import ConntrackReading
from bot.probes.cpu import CpuReading
from bot.probes.formats.core_second import CoreSecond
from bot.probes.host import HostReading
from bot.probes.units import Unit, UnitsReading
from tests.known import known_as

CGROUPS = CgroupsReading("v1", 68_440, 240, "c", 68_455, 241, 5.0, dying_below={"a": 3}, dying_below_later={"a": 5})
UNITS = UnitsReading(True, (Unit("a.service", restarts=7, restarts_later=9), Unit("b.service")))
HOST = HostReading("5.4.0", "boot", timedelta(days=2))


def changed(reading: Any, text: str) -> Any:
    return Change.parse(text).applied(reading)


def test_number_moves_at_both_looks() -> None:
    now = changed(CGROUPS, "cgroups.dying=900")
    assert (now.dying, now.dying_later, now.growth) == (900, 915, CGROUPS.growth)
    assert replace(now, dying=CGROUPS.dying, dying_later=CGROUPS.dying_later) == CGROUPS
    assert changed(CGROUPS, "cgroups.dying_later=900").dying == CGROUPS.dying


def test_entry_is_changed_or_left_out_by_its_name() -> None:
    now = changed(UNITS, "units.services[a.service].restarts=3")
    assert [(unit.restarts, unit.restarts_later) for unit in now.services] == [(3, 5), (None, None)]
    assert [unit.name for unit in changed(UNITS, "units.services[a.service]=none").services] == ["b.service"]
    below = changed(CGROUPS, "cgroups.dying_below[a]=none")
    assert (below.dying_below, below.dying_below_later) == ({}, {})
    below = changed(CGROUPS, "cgroups.dying_below[a]=10")
    assert (below.dying_below, below.dying_below_later) == ({"a": 10}, {"a": 12})


def test_entry_of_entries_is_found() -> None:
    second = tuple(CoreSecond(core, 0, 100, 0, 0, 0, 0, 0) for core in (0, 39))
    reading = CpuReading((second, second), "mpstat json")
    assert changed(reading, "cpu.seconds[39]=none").cores == 1
    with pytest.raises(UsageError):
        changed(reading, "cpu.seconds[039]=none")
    assert changed(reading, "cpu.seconds[39].sys_percent=50").core_mean(39, "sys_percent") == 50


def test_time_goes_by_either_name_and_what_is_computed_stands_for_itself() -> None:
    assert changed(HOST, "host.uptime=60") == changed(HOST, "host.uptime_seconds=60")
    assert changed(HOST, "host.uptime=60").uptime == timedelta(minutes=1)
    now = known_as(changed(ConntrackReading(True, 10, 100), "conntrack.used_percent=99.5"), ConntrackReading)
    assert (now.used_percent, now.count) == (99.5, 10)


def test_field_of_a_playbooks_own_probe() -> None:
    reading = CustomReading("mine", {"depth": 3.0, "state": "up"})
    assert changed(reading, "mine.depth=4").fields == {"depth": 4.0, "state": "up"}
    with pytest.raises(UsageError, match="depth"):
        changed(reading, "mine.dpth=4")


@pytest.mark.parametrize(
    "text",
    ["cgroups.dying=nan", "cgroups.dying=1.5", "cgroups.dying[a]=1", "cgroups.source=x", "cgroups.alive_is_at_least=1"],
)
def test_value_that_does_not_fit_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        changed(CGROUPS, text)


@pytest.mark.parametrize("text", ["", "=", "a.b", "a.b.c=1", "a.b[]=1", "a b.c=1", "cgroups.dying=1\n", "a=1"])
def test_what_is_no_change_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a change of a reading"):
        Change.parse(text)


def unread(_: Outputs) -> Any:
    raise CannotRead("it is missing")


def test_playbook_reads_what_the_changes_say() -> None:
    probes = (Probe("cgroups", "", (), lambda _: CGROUPS), Probe("units", "", (), unread))
    playbook = Playbook("p", "", 1, probes, (), ())
    now = changed_playbook(playbook, [Change.parse("cgroups.dying=900"), Change.parse("cgroups.alive=3")])
    assert (now.probes[0].read(Outputs()).dying, now.probes[0].read(Outputs()).alive) == (900, 3)
    assert now.probes[1] is playbook.probes[1]
    gone = changed_playbook(playbook, [Change.parse("cgroups=unread")]).probes[0].read(Outputs())
    assert gone == Unread("cgroups", "left out by cgroups=unread")
    with pytest.raises(UsageError, match=r"units was not read \(it is missing\)"):
        changed_playbook(playbook, [Change.parse("units.systemd=true")]).probes[1].read(Outputs())
    with pytest.raises(UsageError, match="p does not read cpu"):
        changed_playbook(playbook, [Change.parse("cpu=unread")])
