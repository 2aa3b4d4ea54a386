"""The heat of cores as a picture: cores from left to right, time downwards, the core that stands out marked.

The picture has its own dark background, so it looks the same in light and dark windows. Unread cells are hatched, a
pattern that no share has. Letters are large, because a phone shows the picture at half its width.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from PIL import Image, ImageDraw, ImageFont

from bot.domain.core_heat import CoreHeat
from bot.domain.safe_text import one_line
from bot.view.viridis import Colour, viridis

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

WIDTH, HEIGHT = 680, 216
LEFT, RIGHT, TOP, BOTTOM = 72, 660, 86, 144  # of the map
_EDGE = 20
_MOST_COLUMNS = _WIDE = RIGHT - LEFT
_TALL = BOTTOM - TOP
_GROUND: Colour = (22, 24, 32)
_INK: Colour = (240, 240, 245)
_FAINT: Colour = (172, 178, 192)
_UNREAD_GROUND: Colour = (58, 62, 74)
_UNREAD_LINES: Colour = (168, 172, 184)
_HATCH = 9  # pixels between the lines of the pattern
_TITLE, _SAID, _SMALL = (34, 30, 26, 22), (25, 22, 19), 23  # letter heights; the largest that fits is used
_FEWEST_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # between numbers below the map
_APART = 58  # pixels between numbers below the map


def core_picture(heat: CoreHeat, node: str) -> bytes:
    """Return the heat as a PNG of 680 × 216 pixels.

    Shape: with more cores than pixels, neighbouring cores share a pixel, which shows the hottest of them.
    """
    image = Image.new("RGB", (WIDTH, HEIGHT), _GROUND)
    draw = ImageDraw.Draw(image)
    columns, per_column = _columns(heat)
    cell = _WIDE // len(columns)
    edges = _sample_edges(heat.spans)
    image.paste(_cells_image(columns, edges, cell), (LEFT, TOP))
    if heat.unread_samples:
        _hatch(image, columns, edges, cell)
    if cell >= 12:
        for at in range(1, len(columns)):
            draw.line((LEFT + at * cell, TOP, LEFT + at * cell, BOTTOM - 1), fill=_GROUND)
    _draw_words(draw, heat, node)
    _draw_hot_core_frame(draw, heat, per_column, cell)
    _draw_axes(draw, heat, columns, per_column, cell)
    _legend(image, draw, heat)
    kept = io.BytesIO()
    image.save(kept, "PNG", compress_level=4)
    return kept.getvalue()


def _columns(heat: CoreHeat) -> tuple[list[tuple[int | None, ...]], int]:
    """The map's columns, and how many cores share a column."""
    per_column = math.ceil(len(heat.cores) / _MOST_COLUMNS)
    columns = []
    for at in range(0, len(heat.percents), per_column):
        together = zip(*heat.percents[at : at + per_column], strict=True)
        columns.append(tuple(max((p for p in each if p is not None), default=None) for each in together))
    return columns, per_column


def _sample_edges(spans: Sequence[float]) -> list[int]:
    """Where each sample begins and the last ends, in pixels of the map."""
    whole, edges, passed = sum(spans), [0], 0.0
    for span in spans:
        passed += span
        edges.append(round(_TALL * passed / whole))
    return edges


def _cells_image(columns: Sequence[Sequence[int | None]], edges: Sequence[int], cell: int) -> Image.Image:
    """The map without hatching: a pixel for each cell, enlarged sample by sample."""
    cells = Image.new("RGB", (cell * len(columns), _TALL))
    for sample, (top, bottom) in enumerate(itertools.pairwise(edges)):
        if bottom > top:
            row = Image.new("RGB", (len(columns), 1))
            row.putdata([_colour(column[sample]) for column in columns])
            gap = 1 if bottom - top >= 12 and sample else 0
            cells.paste(row.resize((cell * len(columns), bottom - top - gap), Image.Resampling.NEAREST), (0, top + gap))
    return cells


def _hatch(image: Image.Image, columns: Sequence[Sequence[int | None]], edges: Sequence[int], cell: int) -> None:
    """Hatch the unread cells with a pattern that spans the whole map, so that it shows on small cells too."""
    size = (cell * len(columns), _TALL)
    unread, pattern = Image.new("1", size), Image.new("RGB", size, _UNREAD_GROUND)
    holes, lines = ImageDraw.Draw(unread), ImageDraw.Draw(pattern)
    for at, column in enumerate(columns):
        for sample, percent in enumerate(column):
            if percent is None and edges[sample + 1] > edges[sample]:
                holes.rectangle((at * cell, edges[sample], (at + 1) * cell - 1, edges[sample + 1] - 1), fill=1)
    for at in range(-_TALL, size[0], _HATCH):
        lines.line((at, _TALL, at + _TALL, 0), fill=_UNREAD_LINES, width=2)
    image.paste(pattern, (LEFT, TOP), unread)


def _draw_words(draw: ImageDraw.ImageDraw, heat: CoreHeat, node: str) -> None:
    first, *rest = heat.words.split("; ")
    _draw_line(draw, 6, f"{one_line(node, 60)}: {first}", _TITLE, _INK)
    _draw_line(draw, 41, "; ".join(rest), _SAID, _FAINT)


def _draw_hot_core_frame(draw: ImageDraw.ImageDraw, heat: CoreHeat, per_column: int, cell: int) -> None:
    """Mark the core that stands out, which the first line names: a frame around its column, and a pointer above."""
    left = LEFT + heat.cores.index(heat.hot) // per_column * cell
    right, middle = left + cell - 1, left + cell // 2
    draw.rectangle((left - 2, TOP - 2, right + 2, BOTTOM + 1), outline=_INK, width=2)
    draw.polygon(((middle - 9, TOP - 16), (middle + 9, TOP - 16), (middle, TOP - 4)), fill=_INK)


def _draw_axes(
    draw: ImageDraw.ImageDraw,
    heat: CoreHeat,
    columns: Sequence[Sequence[int | None]],
    per_column: int,
    cell: int,
) -> None:
    font = _font(_SMALL)
    for seconds, y, anchor in ((0, TOP - 4, "ra"), (heat.seconds, BOTTOM + 4, "rd")):
        draw.text((LEFT - 12, y), f"{seconds} s", _FAINT, font, anchor=anchor)
    step = next((step for step in _FEWEST_STEPS if step * cell >= _APART), len(columns))
    for at in range(0, len(columns), step):
        middle = LEFT + at * cell + cell // 2
        draw.line((middle, BOTTOM + 3, middle, BOTTOM + 8), fill=_FAINT)
        draw.text((middle, BOTTOM + 12), str(heat.cores[at * per_column]), _FAINT, font, anchor="ma")
    draw.text((LEFT - 12, BOTTOM + 12), "core", _FAINT, font, anchor="ra")


def _legend(image: Image.Image, draw: ImageDraw.ImageDraw, heat: CoreHeat) -> None:
    """Explain the colours."""
    font, top, wide, tall = _font(_SMALL), HEIGHT - 32, 130, 24
    x = LEFT
    draw.text((x, top + tall / 2), f"{heat.what}: 0 %", _FAINT, font, anchor="lm")
    x += round(draw.textlength(f"{heat.what}: 0 %", font)) + 12
    scale = Image.new("RGB", (101, 1))
    scale.putdata([_colour(percent) for percent in range(101)])
    image.paste(scale.resize((wide, tall), Image.Resampling.NEAREST), (x, top))
    draw.text((x + wide + 12, top + tall / 2), "100 %", _FAINT, font, anchor="lm")
    if heat.unread_samples:
        x += wide + 12 + round(draw.textlength("100 %", font)) + 30
        pattern = Image.new("RGB", (44, tall), _UNREAD_GROUND)
        lines = ImageDraw.Draw(pattern)
        for at in range(-tall, 44, _HATCH):
            lines.line((at, tall, at + tall, 0), fill=_UNREAD_LINES, width=2)
        image.paste(pattern, (x, top))
        draw.text((x + 54, top + tall / 2), "not read", _FAINT, font, anchor="lm")


@cache
def _colour(percent: int | None) -> Colour:
    """The colour of a share."""
    return _UNREAD_GROUND if percent is None else viridis(percent / 100)


def _font(size: int) -> FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)  # Pillow's own font: the machine may have none


def _draw_line(draw: ImageDraw.ImageDraw, y: int, text: str, sizes: Sequence[int], ink: Colour) -> None:
    """Write a line in the largest letters that fit; text too long for the smallest is cut."""
    room = WIDTH - 2 * _EDGE
    size = next((size for size in sizes if draw.textlength(text, _font(size)) <= room), sizes[-1])
    shown = next(part for part in _shorter(text) if draw.textlength(part, _font(size)) <= room)
    draw.text((_EDGE, y), shown, ink, _font(size))


def _shorter(text: str) -> Iterator[str]:
    yield text
    for length in range(len(text) - 1, -1, -1):
        yield text[:length] + "…"
