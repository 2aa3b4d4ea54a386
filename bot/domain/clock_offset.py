"""How far the kernel log's clock is from CLOCK_MONOTONIC: printk stamps the CPU's local clock, which NTP never slews.

Source: systemd.journal-fields(7): `_SOURCE_MONOTONIC_TIMESTAMP` of a kernel line is printk's stamp, and
`__MONOTONIC_TIMESTAMP` the time when the journal received it, in microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

# When the journal starts at boot, it receives all earlier lines at once: their times are late by seconds.
_EARLY_SECONDS = 60.0
_NEWEST = 50
MOST_DRIFT = 500e-6  # NTP slews a clock by no more than this much a second (adjtimex(2))
_LEAST_ERROR = 0.001


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """Units: `seconds` to add to a kernel line's stamp to get CLOCK_MONOTONIC; `error` is how wrong that may be."""

    seconds: float
    error: float
    pairs: int

    def __str__(self) -> str:
        """Say it for people.

        Example:
        >>> str(ClockOffset(-1.25, 0.004, 12))
        '-1.250 s ± 0.004 s'
        """
        return f"{self.seconds:+.3f} s ± {self.error:.3f} s"


def clock_offset(pairs: Sequence[tuple[float, float]], now: float | None) -> ClockOffset | None:
    """Return the offset at `now` (CLOCK_MONOTONIC in seconds) from `(printk's stamp, journal's)`, oldest first.

    None without a usable pair. The journal is late, never early: among the newest lines the smallest difference is
    nearest to the truth. The possible drift since then is part of the error.

    Example: clocks that drifted 2 s apart in 11 days; lines that the journal received after 1 to 5 ms
    >>> str(clock_offset([(999_800.0, 999_802.005), (999_900.0, 999_902.001), (1e6, 1_000_002.003)], 1_000_002.5))
    '+2.001 s ± 0.002 s'
    """
    newest = [pair for pair in pairs if pair[0] > _EARLY_SECONDS and pair[1] > 0][-_NEWEST:]
    if not newest:
        return None
    late = [mono - stamp for stamp, mono in newest]
    # Only lines near the last: over weeks the difference itself grows.
    last_stamp, last_mono = newest[-1]
    rate = min(abs(last_mono - last_stamp) / last_stamp, MOST_DRIFT)
    near = [gap for gap, (stamp, _) in zip(late, newest, strict=True) if rate * (last_stamp - stamp) <= _LEAST_ERROR]
    best = min(near)
    spread = median(near) - best
    age = max(0.0, (now if now is not None else last_mono) - last_mono)
    unknown = 0.01 if len(near) == 1 else 0.0  # a single line may have been received late
    return ClockOffset(best, max(_LEAST_ERROR, spread) + rate * age + unknown, len(near))
