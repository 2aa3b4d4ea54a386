"""How the cores of a simulated node spend their time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

TICKS = 100  # USER_HZ: the kernel's accounting shows hundredths of a second
_WOBBLE_SECONDS = 7.3  # the period of the small variation that makes a load look real


@dataclass(frozen=True, slots=True)
class Shares:
    """How a core's time is spent. Units: percent; the rest is idle."""

    usr: float = 0.0
    nice: float = 0.0
    sys: float = 0.0
    iowait: float = 0.0
    irq: float = 0.0
    soft: float = 0.0
    steal: float = 0.0

    def __iter__(self) -> Iterator[float]:
        return iter((self.usr, self.nice, self.sys, self.iowait, self.irq, self.soft, self.steal))


@dataclass(frozen=True, slots=True)
class Hold:
    """A core that some work occupies completely for `lasting` seconds out of every `every`."""

    core: int
    shares: Shares
    every: float = 10.0
    lasting: float = 9.6
    since: float = 0.0  # uptime at which it began
    by: str = ""  # the process, where it is not the busiest process there

    def held(self, uptime: float) -> float:
        """Return for how many seconds since boot the core has been held."""
        rounds, rest = divmod(max(0.0, uptime - self.since), self.every)
        return rounds * self.lasting + min(rest, self.lasting)


@dataclass(frozen=True, slots=True)
class Load:
    """The load of all cores: the common load, the exceptions, and the occupied cores.

    Shape: `bursts` are what perf records, and no check sees: each one falls into the pause between two of them, as on a
    real node some do.
    """

    cores: int
    shares: Shares = Shares(usr=3.0, sys=1.0)
    own: Mapping[int, Shares] = field(default_factory=dict)
    holds: tuple[Hold, ...] = ()
    bursts: tuple[Hold, ...] = ()

    def ticks(self, core: int, uptime: float) -> tuple[int, ...]:
        """Return a core's ticks since boot: usr, nice, sys, iowait, irq, soft, steal, idle."""
        shares = self.own.get(core, self.shares)
        hold = next((hold for hold in self.holds if hold.core == core), None)
        held = hold.held(uptime) if hold else 0.0
        seconds = [share * (uptime - held) / 100 for share in shares]
        if hold is not None:
            seconds = [mine + share * held / 100 for mine, share in zip(seconds, hold.shares, strict=True)]
        else:
            seconds[0] += self._wobble(core, uptime, shares)
        ticks = [int(TICKS * spent) for spent in seconds]
        return (*ticks, max(0, int(TICKS * uptime) - sum(ticks)))

    def _wobble(self, core: int, uptime: float, shares: Shares) -> float:
        """Seconds of user time above or below the mean, within the core's idle time."""
        slope = min(0.25 * shares.usr, 0.4 * (100 - sum(shares))) / 100
        turn, phase = 2 * math.pi / _WOBBLE_SECONDS, core * 2.39996  # the golden angle: no two cores in step
        return slope / turn * (math.sin(turn * uptime + phase) - math.sin(phase))
