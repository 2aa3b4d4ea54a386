"""TCP's memory against what the kernel allows."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Status
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.kernel_limits import KernelLimitsReading, Limit, TcpMemory
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

NAME = "tcp-memory-exhausted"


def limits(pages: int | None, orphans: int = 0) -> KernelLimitsReading:
    tcp = None if pages is None else TcpMemory(pages, 500, 1_000, orphans, 4_096, ("TCP: inuse",))
    return KernelLimitsReading((Limit("threads", 900, 32_768),), 0, 0, tcp=tcp)


def told(minutes: float, kind: str = "tcp-memory") -> KernelEvent:
    return b.event(kind, ago=timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("pages", "ago", "status"),
    [
        (1_000, None, Status.CRITICAL),
        (700, None, Status.DEGRADED),
        (700, 2, Status.CRITICAL),
        (90, 2, Status.DEGRADED),
        (None, 40, Status.DEGRADED),
    ],
    ids=["full", "pressure", "pressure, and cut", "room again", "unread, and cut"],
)
def test_what_is_short_is_told(pages: int | None, ago: float | None, status: Status) -> None:
    finding = found(NAME, limits(pages), b.log(*([told(ago)] if ago else [])))
    assert (finding.status, finding.remedy) == (status, ())


def test_connections_that_nobody_holds_are_told_with_how_many_there_are() -> None:
    finding = found(NAME, limits(90, 4_200), b.log(told(1, "tcp-orphans")))
    assert "4,200 now" in finding.summary
    assert finding.status is Status.DEGRADED


def test_room_and_a_line_of_long_ago_are_no_shortage() -> None:
    assert "9.0 %" in ruled_out(NAME, limits(90), b.log(told(15))).because


def test_unread_memory_is_open_and_a_silent_log_leaves_pressure_at_most() -> None:
    assert undecided(NAME, limits(None)).worst is Status.DEGRADED
    assert undecided(NAME, limits(None), b.unread("kernel_log")).worst is Status.CRITICAL
    undecided(NAME, b.unread("kernel_limits"))
