"""The load of cores as a strip of text: a mark for each core, and the hot core sample by sample."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.domain.core_heat import CoreHeat

MARKS = "▁▂▃▄▅▆▇█"
NOT_READ = "?"  # never a low mark: what was not read is not idle
MOST_ROWS = 6
_ROW = 32  # cores in a row, or twice as many where there is room
_LONGEST = 30  # samples of the hot core in a row

Mark: TypeAlias = tuple[str, float | None]  # the character, and the percentage it stands for


@dataclass(frozen=True, slots=True)
class StripLine:
    """A line: words, then marks, then words."""

    before: str
    marks: tuple[Mark, ...] = ()
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{''.join(mark for mark, _ in self.marks)}{self.after}"


def heat_strip(heat: CoreHeat, width: int) -> tuple[StripLine, ...]:
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


def _strip_rows(
    heat: CoreHeat, means: Sequence[float | None], per_mark: int, row: int, wide: int
) -> Iterator[StripLine]:
    for at in range(0, len(means), row):
        name = _core_label(heat.cores[at * per_mark]) if not at else f"{heat.cores[at * per_mark]} "
        yield StripLine(name.rjust(wide), tuple(_mark(mean) for mean in means[at : at + row]))


def _hottest_core_line(heat: CoreHeat, width: int, wide: int) -> StripLine:
    samples = heat.hot_row
    together = math.ceil(len(samples) / max(1, min(_LONGEST, width - wide)))
    shown = [_hottest(samples[at : at + together]) for at in range(0, len(samples), together)]
    line = StripLine(_core_label(heat.hot).rjust(wide), tuple(_mark(percent) for percent in shown))
    over = " second by second" if together == 1 and set(heat.spans) == {1.0} else " over time"
    return StripLine(line.before, line.marks, over) if len(str(line)) + len(over) <= width else line


def _core_label(core: int) -> str:
    return f"core {core} "


def _hottest(percents: Sequence[float | None]) -> float | None:
    return max((percent for percent in percents if percent is not None), default=None)


def _mark(percent: float | None) -> Mark:
    if percent is None:
        return NOT_READ, None
    return MARKS[min(len(MARKS) - 1, int(percent * len(MARKS) / 100))], percent
