"""Cores that heat slows down, now."""

from datetime import timedelta

import pytest

from bot.domain.verdict import Confidence
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.interrupts import HotCore
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

NAME = "thermal-throttling"
ON, OFF = "heat-on", "heat-off"


def told(kind: str, minutes: float | None = 3, core: int = 7, device: str = "Core") -> KernelEvent:
    ago = None if minutes is None else timedelta(minutes=minutes)
    return b.event(kind, f"mce: CPU{core}: {device} temperature", ago, core=core, device=device)


def test_cores_that_are_slowed_again_and_again_are_named() -> None:
    one = found(NAME, b.interrupts(hot=(HotCore(7, 12, 400, "cpu7"),)))
    assert (one.summary, one.confidence) == ("Heat slowed core 7 down 12 times within the window", Confidence.CONFIRMED)
    two = found(NAME, b.interrupts(hot=(HotCore(7, 12, 400), HotCore(9, 80, 400), HotCore(1, 1, 2))))
    assert two.summary == "Heat slowed 2 cores down; core 9 80 times within the window"


def test_counts_since_boot_and_a_single_touch_are_history() -> None:
    quiet = ruled_out(NAME, b.interrupts(hot=(HotCore(7, 0, 91_000), HotCore(8, 2, 17))))
    assert "2 cores had been, since boot" in quiet.because


def test_core_that_stays_hot_is_told_by_the_log() -> None:
    steady = b.interrupts(hot=(HotCore(7, 0, 400),))
    assert found(NAME, steady, b.log(told(ON))).confidence is Confidence.LIKELY
    assert found(NAME, b.unread("interrupts"), b.log(told(ON))).confidence is Confidence.LIKELY
    assert "2 cores are" in found(NAME, steady, b.log(told(ON, core=3), told(ON))).summary


@pytest.mark.parametrize(
    "lines", [(told(ON, 9), told(OFF, 5)), (told(ON, 70),), (told(ON, None),), (told(OFF),)],
    ids=["cool again", "long ago", "no time", "only its end"],
)  # fmt: skip
def test_heat_that_is_over_or_of_an_unknown_time_is_none(lines: tuple[KernelEvent, ...]) -> None:
    ruled_out(NAME, b.interrupts(hot=()), b.log(*lines))


def test_machine_that_does_not_count_heat_cannot_tell_and_a_virtual_one_has_none_to_tell() -> None:
    assert "ipmitool" in undecided(NAME, b.interrupts(hot=None)).would_decide
    assert "host's business" in ruled_out(NAME, b.interrupts(hot=None), b.host(virtualisation="kvm")).because
    undecided(NAME, b.unread("interrupts"))
