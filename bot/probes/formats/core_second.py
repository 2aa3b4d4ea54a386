"""A core's shares of a sample, checked before use."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.errors import CannotRead
from bot.probes.formats.core_list import MOST_CORES


@dataclass(frozen=True, slots=True)
class CoreSecond:
    """A core in a second. Units: percent of that second; `raw` is the line it was read from.

    Shape: user time is as in mpstat, without niced work and guests, which have their own fields. `span_seconds` is more
    than 1 if the node's sample was late.
    """

    core: int
    usr_percent: float
    sys_percent: float
    iowait_percent: float
    irq_percent: float
    soft_percent: float
    steal_percent: float
    idle_percent: float
    raw: str = ""
    nice_percent: float = 0.0
    guest_percent: float = 0.0  # running a virtual machine, niced or not
    span_seconds: float = 1.0

    @property
    def packet_percent(self) -> float:
        """Time in interrupts, hard and soft, in which packets are handled."""
        return self.irq_percent + self.soft_percent


# The shares of a sample add up to 100. Without decimals ten of them may be 5 off, and mpstat counts idle or iowait
# ticks that went back as zero, which increases the others a little.
_SUM_MAY_BE_OFF_BY = 10.0
_LONGEST_SAMPLE_SECONDS = 60  # beyond that the node's clock was changed, or this is not our sampling

_NUMBER = re.compile(r"\d+")


def core_second(core: int, shares: Mapping[str, float], raw: str, span_seconds: float) -> CoreSecond | None:
    """Return the core's sample from shares named as in mpstat (`usr`, `nice`, `sys` …); None for an offline core.

    Raises: CannotRead when a share is not a percentage, or they do not add up.
    """
    if not 0 <= core < MOST_CORES:
        raise CannotRead(f"cpu: there is no core {core}")
    total = sum(shares.values())
    if total == 0 and not any(shares.values()):
        return None  # sysstat before 12 shows offline cores as a row of zeros
    highest = max(shares.values())
    if not (total < math.inf and min(shares.values()) >= 0 and highest <= 100.5):  # also refuses nan
        raise CannotRead(f"cpu: a share of core {core} is not between 0 and 100 percent")
    if abs(total - 100) > _SUM_MAY_BE_OFF_BY:
        raise CannotRead(f"cpu: the shares of core {core} add up to {total:.0f} percent")
    share = {name: min(100.0, value) for name, value in shares.items()} if highest > 100 else shares
    return CoreSecond(
        core=core,
        usr_percent=share["usr"],
        sys_percent=share["sys"],
        iowait_percent=share["iowait"],
        irq_percent=share["irq"],
        soft_percent=share["soft"],
        steal_percent=share["steal"],
        idle_percent=share["idle"],
        raw=raw,
        nice_percent=share["nice"],
        guest_percent=min(100.0, share.get("guest", 0.0) + share.get("gnice", 0.0)),
        span_seconds=span_seconds,
    )


def clock_seconds(shown: str) -> int | None:
    """Return the seconds of a clock text in any language; None when it is not a clock.

    Example:
    >>> clock_seconds("03:28:25 AM"), clock_seconds("03时28分31秒"), clock_seconds("1591016001"), clock_seconds("noon")
    (12505, 12511, 1591016001, None)
    """
    numbers = [int(digits) for digits in _NUMBER.findall(shown) if len(digits) <= 12]
    match numbers:
        case [seconds]:
            return seconds
        case [hours, minutes, seconds] if hours < 25 and minutes < 60 and seconds <= 60:
            return hours * 3600 + minutes * 60 + seconds
    return None


def sample_seconds(clocks: Sequence[str]) -> float:
    """Return how long a sample lasted, from the clocks at the samples' ends; 1 second if they do not tell.

    The clocks show whole seconds, so a single difference may be a second too long.

    Raises: CannotRead when they are not clocks, or jump.
    """
    total = 0
    shown = [clock_seconds(clock) for clock in clocks]
    for before, after in itertools.pairwise(shown):
        if before is None or after is None:
            raise CannotRead("cpu: the samples have no readable clock")
        total += (after - before) % 43200  # over noon and midnight, also on a clock of twelve hours
    intervals = max(1, len(shown) - 1)
    seconds = max(1, round((total - 0.6) / intervals))
    if seconds > _LONGEST_SAMPLE_SECONDS:
        raise CannotRead("cpu: the samples are too far apart, or the node's clock was changed between them")
    return float(seconds)
