"""Symptoms in the kernel log around which a rolling capture keeps what the cores did."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bot.domain.safe_text import one_line
from bot.probes.formats.kernel_line import KernelLine
from bot.probes.formats.kernel_table import table
from bot.response.capture.rolling_status import RollingStatus

_OF: dict[str, tuple[str, str]] = {
    "nic-reset": ("nic-reset", "reset"),
    "nic-reset-failed": ("nic-reset", "failed reset"),
    "soft-lockup": ("lockup", "soft lockup"),
    "hard-lockup": ("lockup", "hard lockup"),
    "rcu-stall": ("lockup", "RCU stall"),
}
_SAME_SYMPTOM_SECONDS = 10.0  # a reset logs several lines, and a lockup repeats


@dataclass(frozen=True, slots=True)
class Symptom:
    """A symptom: `at_mono` is CLOCK_MONOTONIC in seconds, corrected by the kernel log clock's distance from it."""

    name: str
    words: str
    at_mono: float
    line: str


def symptoms(look: RollingStatus, wanted: Collection[str], since_mono: float) -> list[Symptom]:
    """Return the wanted symptoms in the kernel log after `since_mono`, with the earliest line of each."""
    found: list[Symptom] = []
    for symptom in sorted(_all(look), key=lambda symptom: symptom.at_mono):
        is_same = any(
            symptom.name == other.name and symptom.at_mono - other.at_mono < _SAME_SYMPTOM_SECONDS for other in found
        )
        if symptom.name in wanted and symptom.at_mono >= since_mono and not is_same:
            found.append(symptom)
    return found


def _all(look: RollingStatus) -> Iterator[Symptom]:
    offset = look.kernel_log.seconds if look.kernel_log is not None else 0.0
    for line in look.lines:
        if line.stamp is None:
            continue
        event = table().event(KernelLine(line.says, line.says))
        if event is not None and event.kind in _OF:
            name, called = _OF[event.kind]
            yield Symptom(name, called, line.stamp + offset, one_line(line.says, 160))
