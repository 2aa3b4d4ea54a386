"""Allocations of the kernel's own that failed: how many, of how many pages, and when."""

from datetime import timedelta

from bot.domain.verdict import Confidence
from bot.probes.formats.kernel_line import KernelEvent
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

NAME = "page-allocation-failing"


def failed(count: int, order: int = 0, minutes: float = 5) -> list[KernelEvent]:
    text = f"swapper/3: page allocation failure: order:{order}, mode:0x480020(GFP_ATOMIC)"
    return [
        b.event("no-pages", text, timedelta(minutes=minutes, seconds=10 * n), process="swapper/3")
        for n in reversed(range(count))
    ]


def test_single_pages_that_are_refused_again_and_again_lose_packets() -> None:
    finding = found(NAME, b.log(*failed(3)))
    assert finding.summary == "3 allocations of a single page failed, the last 5 minutes ago in swapper/3"
    assert (finding.confidence, finding.remedy) == (Confidence.CONFIRMED, ())
    ring = b.event("nic-refill", "ena 0000:00:05.0 eth0: Trigger refill for ring 3")
    assert [seen.finding for seen in found(NAME, b.log(*failed(3), ring)).evidence] == ["page-refused", "nic-refill"]


def test_memory_in_pieces_needs_many() -> None:
    finding = found(NAME, b.log(*failed(10, order=5)))
    assert "of up to 32 pages in one piece" in finding.summary
    assert finding.confidence is Confidence.LIKELY
    assert "only 9 allocations failed" in ruled_out(NAME, b.log(*failed(9, order=5))).because


def test_few_or_long_ago_is_no_fault_and_an_unread_log_is_open() -> None:
    ruled_out(NAME, b.log(*failed(2)))
    assert "no allocation" in ruled_out(NAME, b.log(*failed(40, minutes=70))).because
    undecided(NAME, b.unread("kernel_log"))
