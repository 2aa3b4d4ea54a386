"""The kernel asks for memory in a moment in which it cannot wait, and gets none: packets are lost.

Confirms: allocations of a single page that failed time and again within the last hour: what takes packets from the card
cannot wait for memory to be reclaimed, and the pages kept back for it (vm.min_free_kbytes) are too few.
Likely: allocations of several pages in one piece that failed many times within the last hour: the memory is in pieces.
Supports: the network card's receive ring could not be refilled.
Refutes: a log without such a line. A few of several pages are no fault: whoever asked has another way, and took it.
Remedy: none planned: a reboot gives whole memory for some days, and the same bursts come again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.causes import _recent
from bot.causes._figures import count
from bot.causes._finding import found
from bot.domain.cause import Cause, Threshold, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.kernel_log import KernelLogReading

NAME = "page-allocation-failing"
_ORDER = re.compile(r"page allocation failure[:.] ?order:([0-9]{1,2})")


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether the kernel is refused memory that it needs at once."""
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel's log was not read ({log.reason})")
    failed = _recent.recent(snapshot, log.of("no-pages"), tuning["recent_hours"])
    single = [event for event in failed if _pages(event) == 1]
    pieces = [event for event in failed if _pages(event) > 1]
    evidence = []
    if len(single) >= tuning["single_few"]:
        says = f"{count(len(single), 'allocation')} of a single page failed, {_of(snapshot, single)}"
        evidence.append(Evidence("page-refused", "kernel_log", says, _recent.lines(single, 3)))
    if len(pieces) >= tuning["pieces_many"]:
        most = max(map(_pages, pieces))
        says = f"{count(len(pieces), 'allocation')} of up to {most} pages in one piece failed, {_of(snapshot, pieces)}"
        evidence.append(Evidence("memory-in-pieces", "kernel_log", says, _recent.lines(pieces, 3)))
    if evidence:
        refills = _recent.recent(snapshot, log.of("nic-refill"), tuning["recent_hours"])
        if refills:
            says = f"the network card's receive ring could not be refilled, {_recent.ago(snapshot, refills[-1])}"
            evidence.append(Evidence("nic-refill", "kernel_log", says, _recent.lines(refills, 2)))
        sure = evidence[0].finding == "page-refused"
        return found(NAME, Status.DEGRADED, Confidence.CONFIRMED if sure else Confidence.LIKELY, evidence)
    if failed:
        return RuledOut(NAME, f"only {count(len(failed), 'allocation')} failed of late, {_of(snapshot, failed)}")
    return RuledOut(NAME, "no allocation of the kernel's own failed of late")


def _pages(event: KernelEvent) -> int:
    order = _ORDER.search(event.text)
    return 1 << int(order.group(1)) if order else 1


def _of(snapshot: Snapshot, events: Sequence[KernelEvent]) -> str:
    by = f" in {events[-1].process}" if events[-1].process else ""
    return f"the last {_recent.ago(snapshot, events[-1])}{by}"


CAUSE = Cause(
    name=NAME,
    title="Kernel finds no free pages",
    probes=("kernel_log", "host"),
    thresholds={
        "single_few": Threshold(
            3,
            (
                "Ours. The kernel logs one of them in ten seconds at most (mm/page_alloc.c), so that three lines "
                "may be thousands; a single one is a burst that was over."
            ),
        ),
        "pieces_many": Threshold(
            10,
            (
                "Ours. Who asks for several pages in one piece mostly has another way; ten lines within the hour "
                "mean that it goes on all the time."
            ),
        ),
        "recent_hours": Threshold(
            1,
            "Ours. What was lost longer ago was sent again.",
        ),
    },
    signature=("kernel_log", "host"),
    weigh=weigh,
    worst=Status.DEGRADED,
    lasting_fix=(
        "Raise vm.min_free_kbytes; where several pages are asked for, smaller frames or rings, or a newer driver."
    ),
)
