"""Stretches in which the kernel said more than a serial line prints: through the node's own filter, on each awk."""

from datetime import timedelta

import pytest

from bot.probes.kernel_log import parse
from tests.readings.recorded import once
from tests.unit.probes.test_kernel_log import AWKS, DONE, ENA, read, thinned

PACKET = "netfilter-in: IN=eth0 OUT= SRC=203.0.113.7 DST=10.0.0.7 LEN=60 PROTO=TCP SPT=40112 DPT=22 " + "x" * 34


def flood(start: float, lines: int, text: str = PACKET) -> str:
    return "\n".join(f"[{start + at / lines * 9:12.6f}] {text}" for at in range(lines))


@pytest.mark.parametrize("awk", AWKS)
def test_stretches_in_which_more_is_said_than_a_serial_line_prints_are_told(awk: str) -> None:
    quiet, loud = flood(700.0, 600), flood(900.0, 1_000)
    answer = thinned(f"{quiet}\n{loud}\n[950.000000] {DONE}", awk=awk)
    (burst,) = parse(once("log", answer)).bursts
    assert (burst.since_boot, burst.line_count) == (timedelta(seconds=900), 1_000)
    assert burst.size_bytes == 1_000 * len(f"[  900.000000] {PACKET}")
    assert burst.text.endswith(PACKET)
    assert [burst.apart(timedelta(seconds=at)).total_seconds() for at in (860, 905, 931)] == [40, 0, 21]


def test_journals_host_name_a_boot_and_the_cards_own_dump_are_no_burst() -> None:
    named = flood(900.0, 700, "a-node-with-a-very-long-name-in-a-zone.of.a.region.example kernel: " + PACKET)
    assert read(named, "journal").bursts == ()
    assert read(f"{flood(2.0, 3_000)}\n{flood(40.0, 3_000)}").bursts == ()
    assert read(flood(900.0, 3_000, f"{ENA}queue_5_tx_cnt: 3502 {'x' * 60}")).bursts == ()
    assert read("\n".join([f"[Sat Nov 21 10:10:21 2026] {PACKET}"] * 3_000)).bursts == ()


def test_what_a_line_of_a_burst_holds_is_made_safe() -> None:
    (burst,) = read(flood(900.0, 1_200, f"\x1b[31m\u202e<!channel> {PACKET}")).bursts
    assert "\x1b" not in burst.text
    assert "\u202e" not in burst.text
    assert read("-- burst 900 5 9999999999999 x\n[1.000000] x").bursts == ()
