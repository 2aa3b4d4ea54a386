"""Resets of the network card beside bursts of messages and floods of lines, which an example cannot hold."""

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.probes.formats.log_burst import LogBurst
from bot.probes.kernel_log import KernelLogReading
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out

SERIAL = "serial-console-printk"
HOUR = timedelta(hours=1)
CONSOLE = b.host(consoles=("ttyS0",), console_level=7)
RESET = b.starved(HOUR)


def flooded(before: float, size_bytes: int = 300_000) -> KernelLogReading:
    """A log with a flood that began so many seconds before the reset of an hour ago."""
    began = timedelta(days=b.DAYS) - HOUR - timedelta(seconds=before)
    flood = LogBurst(began, 2_600, size_bytes, "[7.0] netfilter-in: IN=eth0 DPT=22")
    return replace(b.log(*RESET), bursts=(flood,))


@pytest.mark.parametrize("before", [4, 60, 129])
def test_flood_of_any_lines_that_the_console_cannot_print_in_time_is_a_burst(before: float) -> None:
    finding = found(SERIAL, CONSOLE, flooded(before))
    assert "2,600 lines in 10 s, 300 kB" in finding.summary
    assert finding.evidence[0].source[0] == "[7.0] netfilter-in: IN=eth0 DPT=22"


def test_flood_that_is_minutes_away_or_that_the_console_prints_in_time_is_none() -> None:
    ruled_out(SERIAL, CONSOLE, flooded(131))
    ruled_out(SERIAL, CONSOLE, flooded(-121))
    ruled_out(SERIAL, CONSOLE, flooded(4, size_bytes=115_000))
    ruled_out(SERIAL, b.host(consoles=("tty0",), console_level=7), flooded(4))


def test_forty_messages_of_others_within_seconds_are_a_burst_and_those_of_the_card_itself_are_none() -> None:
    errors, stalls = (
        [b.event(kind, ago=HOUR + timedelta(seconds=at)) for at in range(50)] for kind in ("disk-error", "nic-stalled")
    )
    assert "a burst of 40 other messages" in found(SERIAL, CONSOLE, b.log(*errors[:40], *RESET)).summary
    ruled_out(SERIAL, CONSOLE, b.log(*errors[:39], *RESET))
    ruled_out(SERIAL, CONSOLE, b.log(*stalls, *RESET))
