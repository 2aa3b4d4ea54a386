"""Tasks that hang on a disk."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.formats.kernel_line import KernelEventKind as Kind
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

STALL = "io-stall"
WAITING = ("jbd2/nvme0n1", "python", "python", "rsync", "tar")


def test_hung_tasks_of_the_last_day_confirm_a_stall() -> None:
    line = "INFO: task python:4711 blocked for more than 120 seconds."
    finding = found(STALL, b.log(b.event(Kind.HUNG_TASK, line, timedelta(hours=3))))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.CONFIRMED, ())
    ruled_out(STALL, b.log(b.event(Kind.HUNG_TASK, line, timedelta(hours=30))))
    now = found(STALL, b.log(b.event(Kind.HUNG_TASK, line)), b.processes(waiting=WAITING[:1]))
    assert now.status is Status.CRITICAL


def test_crowd_that_waits_under_pressure_confirms_a_stall() -> None:
    pressed = b.memory(pressure={"io full": 20.0})
    assert found(STALL, b.processes(waiting=WAITING), pressed).confidence is Confidence.CONFIRMED
    waits = b.cpu({core: {"usr": 1.0, "iowait": 70.0} for core in range(8)})
    assert found(STALL, b.processes(waiting=WAITING), waits).confidence is Confidence.CONFIRMED
    ruled_out(STALL, b.processes(waiting=WAITING[:4]), pressed)
    told = ruled_out(STALL, b.processes(waiting=WAITING))
    assert told.because.startswith("5 tasks waited uninterruptibly at both looks, but not for I/O as far as is told")


def test_disk_errors_are_likely_until_something_waits() -> None:
    error = b.log(b.event(Kind.DISK_ERROR, "nvme nvme1: I/O 5 QID 1 timeout, aborting"))
    assert found(STALL, error).confidence is Confidence.LIKELY
    assert found(STALL, error, b.processes(waiting=WAITING[:1])).confidence is Confidence.CONFIRMED


@pytest.mark.parametrize("probe", ["kernel_log", "processes"])
def test_stall_is_not_ruled_out_by_what_was_not_read(probe: str) -> None:
    undecided(STALL, b.unread(probe))


def test_stall_is_critical_only_while_it_is_fresh_and_something_waits() -> None:
    fresh, old = b.event(Kind.HUNG_TASK), b.event(Kind.HUNG_TASK, ago=timedelta(hours=3))
    pressed = b.memory(pressure={"io full": 60.0})
    assert found(STALL, b.log(fresh)).status is Status.DEGRADED
    assert found(STALL, b.log(fresh), pressed).status is Status.CRITICAL
    assert found(STALL, b.log(old), b.processes(waiting=WAITING)).status is Status.DEGRADED


def test_stall_is_told_with_who_waits_and_how_much_time_is_lost() -> None:
    waits = b.cpu({core: {"usr": 1.0, "iowait": 70.0} for core in range(8)})
    finding = found(STALL, b.processes(waiting=WAITING), waits)
    assert finding.summary == (
        "5 tasks waited uninterruptibly at both looks: jbd2/nvme0n1, python, python, rsync, tar; "
        "70 % of all cores' time waits for I/O, 70 % of core 0's"
    )
    assert finding.evidence[1].source[0].startswith("10:00:01 0 ")
    pressed = found(STALL, b.processes(waiting=WAITING), b.memory(pressure={"io full": 60.0}))
    assert pressed.evidence[1].source == ("full avg10=60.0",)


def test_what_was_not_read_is_named() -> None:
    assert undecided(STALL, b.unread("kernel_log")).because == "the kernel log was not read (permission denied)"
    assert undecided(STALL, b.unread("processes")).because == "the processes were not read (permission denied)"
