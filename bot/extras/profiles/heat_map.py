"""The heat map of a profile as in FlameScope: seconds from left to right, the offset within the second upwards.

A long profile has several seconds in a column. Cells without samples show the background. Idle samples are left out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from bot.domain.safe_text import counted, one_line
from bot.extras.profiles.profile import ROWS
from bot.view.viridis import Colour, viridis

MOST_COLUMNS = 600
GROUND, INK, FAINT = (22, 24, 32), (240, 240, 245), (172, 178, 192)
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 114, 56
CELL_TALL = 7
LABEL = 16  # the height of the smallest letters, for a phone that shows the picture at half its width
_NARROWEST = 540  # of the map, so that the line below it fits


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Columns of 50 counts each, how many seconds are in a column, and how wide it is drawn."""

    columns: Sequence[Sequence[int]]
    seconds_each: int
    most: int

    @classmethod
    def of(cls, heatmap: Iterable[Sequence[int]], seconds: int) -> HeatMap:
        """Put the seconds into columns; `seconds` is their number."""
        each = max(1, -(-seconds // MOST_COLUMNS))
        columns: list[list[int]] = []
        for at, rows in enumerate(heatmap):
            if at % each == 0:
                columns.append(list(rows))
            else:
                columns[-1] = [held + times for held, times in zip(columns[-1], rows, strict=True)]
        return cls(columns, each, max((max(column) for column in columns), default=0))

    @property
    def cell_wide(self) -> int:
        """Pixels of a column."""
        return max(1, min(60, 600 // max(1, len(self.columns))))

    @property
    def size(self) -> tuple[int, int]:
        """Pixels of the whole picture."""
        wide = max(_NARROWEST, self.cell_wide * len(self.columns))
        return _LEFT + wide + _RIGHT, _TOP + ROWS * CELL_TALL + _BOTTOM

    def cells(self) -> Iterator[tuple[int, int, Colour]]:
        """Yield left edge, top edge and colour of each cell with samples."""
        for at, column in enumerate(self.columns):
            for row, times in enumerate(column):
                if times:
                    top = _TOP + (ROWS - 1 - row) * CELL_TALL
                    yield _LEFT + at * self.cell_wide, top, viridis(times / self.most)

    def labels(self, title: str, said: str) -> Iterator[tuple[int, int, str, int, Colour, str]]:
        """Yield all words: where the base line is, text, height, colour, and whether the text ends or starts there."""
        bottom, wide = _TOP + ROWS * CELL_TALL, self.size[0]
        yield 12, 32, shown_title(title, wide), 22, INK, "start"
        for at, line in enumerate(lines(said, wide)):
            yield 12, 62 + 24 * at, line, 18, FAINT, "start"
        yield _LEFT - 8, _TOP + 12, "1 s", LABEL, FAINT, "end"
        yield _LEFT - 8, bottom, "0 s", LABEL, FAINT, "end"
        step = _step(len(self.columns) * self.seconds_each)
        for second in range(0, len(self.columns) * self.seconds_each, step):
            x = _LEFT + second // self.seconds_each * self.cell_wide
            yield x, bottom + 20, str(second), LABEL, FAINT, "start"
        each = "" if self.seconds_each == 1 else f", {self.seconds_each} in a column"
        axes = f"seconds{each}; upwards: within the second; brightest: {counted(self.most, 'sample')}"
        yield _LEFT, bottom + 44, axes, LABEL, FAINT, "start"


def svg(drawn: HeatMap, title: str, said: str) -> str:
    """Draw it as SVG, for a file of its own or inside a page."""
    wide, high = drawn.size
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    cell = f'width="{drawn.cell_wide}" height="{CELL_TALL}"'
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="map" {size} role="img" font-family="sans-serif">',
        f"<title>{escape(shown_title(title, wide))}. {escape(one_line(said))}</title>",
        f'<rect width="{wide}" height="{high}" fill="{_hex(GROUND)}"/>',
        *(f'<rect x="{x}" y="{y}" {cell} fill="{_hex(colour)}"/>' for x, y, colour in drawn.cells()),
        *(
            f'<text x="{x}" y="{y}" font-size="{tall}" fill="{_hex(ink)}" text-anchor="{anchor}">{escape(text)}</text>'
            for x, y, text, tall, ink, anchor in drawn.labels(title, said)
        ),
    ]
    return "\n".join([*pieces, "</svg>", ""])


def shown_title(title: str, wide: int) -> str:
    """Return as much of a title as fits a picture of that width."""
    return one_line(title, wide // 13)


def lines(said: str, wide: int) -> list[str]:
    """Wrap into two lines at most, cut if too long."""
    return textwrap.wrap(one_line(said), wide // 10, max_lines=2, placeholder=" …")


def _hex(colour: Colour) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


def _step(seconds: int) -> int:
    """Seconds between the numbers below the map: ten numbers at most."""
    return next((step for step in (1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600) if seconds / step <= 10), 10_800)
