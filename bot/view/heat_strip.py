"""The load of cores as a strip of text: a mark for each core, and the hot core sample by sample."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bot.domain.core_heat import CoreHeat

MARKS = "▁▂▃▄▅▆▇█"
NOT_READ = "?"  # never a low mark: what was not read is not idle
MOST_ROWS = 6
_ROW = 32  # cores in a row, or twice as many where there is room
_LONGEST = 30  # samples of the hot core in a row


def heat_strip(heat: CoreHeat, width: int) -> tuple[str, ...]:
    """Return the strip, without the sentence that says what it shows.

    Shape: no line is longer than `width`, which is 20 at least. Where there are too many cores for a few rows,
    neighbours share a mark, and the hottest of them is shown.

    Example:
    >>> heat = CoreHeat("kernel time", 1, (0, 1, 2), (1.0, 1.0), ((3, 11), (100, 100), (None, None)))
    >>> for line in heat_strip(heat, 40):
    ...     print(line)
    core 0 ▁█?
    core 1 ██ second by second
    """
    room = max(1, width - len(_core_label(heat.cores[-1])))
    row = next((cores for cores in (2 * _ROW, _ROW) if cores <= room), room)
    per_mark = math.ceil(len(heat.cores) / (row * MOST_ROWS))
    means = [heat.mean(samples) for samples in heat.percents]
    shared = [_hottest(means[at : at + per_mark]) for at in range(0, len(means), per_mark)]
    wide = len(_core_label(heat.cores[-1]))
    return (*_strip_rows(heat, shared, per_mark, row, wide), _hottest_core_line(heat, width, wide))


def _strip_rows(heat: CoreHeat, means: Sequence[float | None], per_mark: int, row: int, wide: int) -> Iterator[str]:
    for at in range(0, len(means), row):
        name = _core_label(heat.cores[at * per_mark]) if not at else f"{heat.cores[at * per_mark]} "
        yield name.rjust(wide) + "".join(map(_mark, means[at : at + row]))


def _hottest_core_line(heat: CoreHeat, width: int, wide: int) -> str:
    samples = heat.hot_row
    together = math.ceil(len(samples) / max(1, min(_LONGEST, width - wide)))
    shown = [_hottest(samples[at : at + together]) for at in range(0, len(samples), together)]
    line = _core_label(heat.hot).rjust(wide) + "".join(map(_mark, shown))
    over = " second by second" if together == 1 and set(heat.spans) == {1.0} else " over time"
    return line + over if len(line) + len(over) <= width else line


def _core_label(core: int) -> str:
    return f"core {core} "


def _hottest(percents: Sequence[float | None]) -> float | None:
    return max((percent for percent in percents if percent is not None), default=None)


def _mark(percent: float | None) -> str:
    return NOT_READ if percent is None else MARKS[min(len(MARKS) - 1, int(percent * len(MARKS) / 100))]
