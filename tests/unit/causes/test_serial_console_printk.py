"""Resets of the network card beside bursts of messages, on nodes with a serial console and without."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence, Status
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.formats.log_burst import LogBurst
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

SERIAL = "serial-console-printk"
HOUR = timedelta(hours=1)


def host(*consoles: str, level: int | None = 7) -> HostReading:
    return b.host(consoles=consoles, console_level=level)


def kill(before: float, text: str = "Out of memory: Killed process 812 (python3)") -> KernelEvent:
    """An out-of-memory kill so many seconds before the reset of an hour ago."""
    return b.event("oom-kill", text, HOUR + timedelta(seconds=before))


RESET = b.starved(HOUR)


@pytest.mark.parametrize("console", ["ttyS0", "ttyAMA0"])
@pytest.mark.parametrize("before", [0, 14, 119, -30])
def test_reset_beside_an_out_of_memory_dump_is_likely_the_consoles(console: str, before: float) -> None:
    finding = found(SERIAL, host("tty0", console), b.log(kill(before), *RESET))
    assert (finding.status, finding.confidence, finding.remedy) == (Status.DEGRADED, Confidence.LIKELY, ())
    assert finding.summary.endswith(f"the kernel prints to the serial console {console}")


def test_kill_at_a_cgroups_limit_dumps_as_much() -> None:
    limited = kill(14, "Memory cgroup out of memory: Killed process 812 (python3)")
    finding = found(SERIAL, host("ttyS0"), b.log(limited, *RESET))
    assert finding.evidence[0].source[0] == limited.text
    assert finding.evidence[0].source[-1] == "Device reset completed successfully"
    assert finding.evidence[1].source == ("ttyS0", "console_loglevel 7")


def test_burst_of_other_messages_is_as_much() -> None:
    burst = [b.event("disk-error", ago=HOUR + timedelta(seconds=at)) for at in range(40)]
    assert "a burst of 40 other messages" in found(SERIAL, host("ttyS0"), b.log(*burst, *RESET)).summary
    ruled_out(SERIAL, host("ttyS0"), b.log(*burst[:39], *RESET))


def flooded(before: float, size_bytes: int = 300_000) -> KernelLogReading:
    """A log with a flood that began so many seconds before the reset of an hour ago."""
    began = timedelta(days=b.DAYS) - HOUR - timedelta(seconds=before)
    flood = LogBurst(began, 2_600, size_bytes, "[7.0] netfilter-in: IN=eth0 DPT=22")
    return replace(b.log(*RESET), bursts=(flood,))


@pytest.mark.parametrize("before", [4, 60, 129])
def test_flood_of_any_lines_that_the_console_cannot_print_in_time_is_a_burst(before: float) -> None:
    finding = found(SERIAL, host("ttyS0"), flooded(before))
    assert "2,600 lines in 10 s, 300 kB" in finding.summary
    assert finding.evidence[0].source[0] == "[7.0] netfilter-in: IN=eth0 DPT=22"


def test_flood_that_is_minutes_away_or_that_the_console_prints_in_time_is_none() -> None:
    ruled_out(SERIAL, host("ttyS0"), flooded(131))
    ruled_out(SERIAL, host("ttyS0"), flooded(-121))
    ruled_out(SERIAL, host("ttyS0"), flooded(4, size_bytes=115_000))
    ruled_out(SERIAL, host("tty0"), flooded(4))


def test_messages_of_the_card_itself_are_no_burst() -> None:
    lines = [b.event("nic-stalled", ago=HOUR + timedelta(seconds=at)) for at in range(50)]
    ruled_out(SERIAL, host("ttyS0"), b.log(*lines, *RESET))


@pytest.mark.parametrize("before", [121, 3600, -300])
def test_dump_that_is_minutes_away_is_not_beside_it(before: float) -> None:
    ruled_out(SERIAL, host("ttyS0"), b.log(kill(before), *RESET))


@pytest.mark.parametrize("consoles", [("tty0",), ("hvc0",), ("netcon0", "tty0")])
def test_node_without_a_serial_console_is_ruled_out(consoles: tuple[str, ...]) -> None:
    assert "no serial console" in ruled_out(SERIAL, host(*consoles), b.log(kill(14), *RESET)).because


def test_quiet_console_prints_no_dump() -> None:
    assert "keeps warnings off" in ruled_out(SERIAL, host("ttyS0", level=4), b.log(kill(14), *RESET)).because
    found(SERIAL, host("ttyS0", level=5), b.log(kill(14), *RESET))
    found(SERIAL, host("ttyS0", level=None), b.log(kill(14), *RESET))


def test_without_resets_or_without_dumps_there_is_nothing_to_explain() -> None:
    ruled_out(SERIAL, host("ttyS0"), b.log(kill(14)))
    ruled_out(SERIAL, host("ttyS0"), b.log(*RESET))
    days_ago = timedelta(days=2)
    old = b.log(b.event("oom-kill", ago=days_ago), *b.starved(days_ago))
    ruled_out(SERIAL, host("ttyS0"), old)


def test_lines_without_a_time_are_beside_nothing() -> None:
    ruled_out(SERIAL, host("ttyS0"), b.log(b.event("oom-kill", ago=None), *b.starved(None)))


def test_what_was_not_read_is_open() -> None:
    assert "kernel log" in undecided(SERIAL, b.unread("kernel_log")).because
    assert "/proc/consoles" in undecided(SERIAL, host(), b.log(kill(14), *RESET)).would_decide
