"""The load of a node's cores, from its cpu probe: only where a core stands out."""

from __future__ import annotations

from collections.abc import Mapping

from bot.domain.core_heat import HOT_PERCENT, CoreHeat
from bot.domain.probe import Snapshot, Unread
from bot.probes.cpu import CpuReading

# The kinds of time that take a core away from processes. Time of processes themselves is none: it is a core's purpose.
KINDS: Mapping[str, str] = {
    "sys_percent": "kernel time",
    "soft_percent": "soft interrupts",
    "irq_percent": "interrupts",
    "steal_percent": "stolen time",
}
HELD_SECONDS = 2  # a single second means little, unless the window is that short
OTHERS_BELOW = 0.5  # of the hot core's mean: where all cores are busy alike, none stands out


def core_heat(snapshot: Snapshot) -> CoreHeat | None:
    """Return the heat of the cores, for the kind of time that filled a core longest; None where no core was full."""
    cpu = snapshot.get(CpuReading)
    if isinstance(cpu, Unread) or not cpu.seconds:
        return None
    window = snapshot.window.total_seconds()
    full = [field for field in KINDS if round(cpu.most(field)) >= HOT_PERCENT]  # most nodes have none, and end here
    found = [heat for field in full if (heat := _heat_of_kind(cpu, field, KINDS[field], window)) is not None]
    return max(found, key=lambda heat: (_hot_seconds(heat, heat.hot_row), heat.mean(heat.hot_row)), default=None)


def _heat_of_kind(cpu: CpuReading, field: str, what: str, window: float) -> CoreHeat | None:
    seconds = [{core.core: core for core in second} for second in cpu.seconds]
    numbers = sorted({number for second in seconds for number in second})
    spans = [max((core.span_seconds for core in second.values()), default=1.0) for second in seconds]
    # A node may be too busy to take all samples: those missing are unread, not idle.
    missing = max(0, round(window - sum(spans)))
    rows = tuple(
        (*(round(getattr(second[number], field)) if number in second else None for second in seconds),)
        + (None,) * missing
        for number in numbers
    )
    heat = CoreHeat(what, numbers[0] if numbers else 0, tuple(numbers), (*spans, *[1.0] * missing), rows)
    return _with_hot_core(heat) if numbers else None


def _with_hot_core(heat: CoreHeat) -> CoreHeat | None:
    """The heat with its hot core; None where no core stands out."""
    held = {core: _hot_seconds(heat, row) for core, row in zip(heat.cores, heat.percents, strict=True)}
    means = {core: heat.mean(row) or 0.0 for core, row in zip(heat.cores, heat.percents, strict=True)}
    hot = max(heat.cores, key=lambda core: (held[core], means[core], -core))
    others = sorted(mean for core, mean in means.items() if core != hot)
    ordinary = others[len(others) // 2] if others else 0.0
    if held[hot] < min(HELD_SECONDS, heat.seconds) or ordinary > OTHERS_BELOW * means[hot]:
        return None
    return CoreHeat(heat.what, hot, heat.cores, heat.spans, heat.percents)


def _hot_seconds(heat: CoreHeat, row: tuple[int | None, ...]) -> int:
    spans = zip(row, heat.spans, strict=True)
    return round(sum(span for percent, span in spans if percent is not None and percent >= HOT_PERCENT))
