"""The heat of cores for tests: one core that stands out among many that do little."""

from __future__ import annotations

from bot.domain.core_heat import CoreHeat


def heat_of(
    cores: int = 96, hot: int = 39, samples: int = 5, unread: frozenset[tuple[int, int]] = frozenset()
) -> CoreHeat:
    """The hot core is in the kernel in all samples but the last; `unread` are (core, sample)."""

    def percent(core: int, sample: int) -> int | None:
        if (core, sample) in unread:
            return None
        if core == hot:
            return 100 if sample < samples - 1 else 60
        return (core * 7 + sample * 5) % 19

    rows = tuple(tuple(percent(core, sample) for sample in range(samples)) for core in range(cores))
    return CoreHeat("kernel time", hot, tuple(range(cores)), (1.0,) * samples, rows)
