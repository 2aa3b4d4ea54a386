"""How long soft interrupts waited for a busy or held core, if that was measured."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Evidence
from bot.probes.softirq_waits import SoftirqWaitsReading

_MOST = 4  # cores


def packet_wait_evidence(snapshot: Snapshot, cores: Sequence[int]) -> tuple[Evidence, ...]:
    """Return what was seen on these cores; empty if it was not measured or not read."""
    reading = snapshot.get(SoftirqWaitsReading)
    if isinstance(reading, Unread):
        return ()
    longest = [wait for core in cores if (wait := reading.of(core)) is not None]
    longest = sorted(longest, key=lambda wait: (-wait.worst_us, wait.core))[:_MOST]
    if not longest:
        return ()
    first = longest[0]
    says = f"a soft interrupt ({first.kind}) waited {_milliseconds(first.worst_us)} for core {first.core}"
    says += "" if first.ended else " and had not run when the look ended"
    if reading.gaps:
        card, gap = max(reading.gaps.items(), key=lambda of: (of[1], of[0]))
        says += f"; {card} had packets waiting and was not polled for {_milliseconds(gap)}"
    source = [f"core {wait.core} {wait.kind}: {wait.times} waits, the longest {wait.worst_us} us" for wait in longest]
    source += [f"{card}: longest gap between polls {gap} us" for card, gap in sorted(reading.gaps.items())[:_MOST]]
    return (Evidence("packet-waits", reading.probe, says, tuple(source)),)


def _milliseconds(microseconds: int) -> str:
    return f"{microseconds / 1000:,.0f} ms" if microseconds >= 10_000 else f"{microseconds / 1000:.1f} ms"
