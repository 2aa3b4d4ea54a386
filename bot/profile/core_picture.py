"""The heat of cores as a picture: cores from left to right, time downwards, the core that stands out marked and named.

The picture brings its own dark ground, so that it reads alike in light and dark windows; its colours are viridis
(https://bids.github.io/colormap/), which the colour-blind tell apart and which falls to grey in order. What was not
read is hatched, a pattern that no share has. Letters are large: a phone shows the picture at half its width.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from PIL import Image, ImageDraw, ImageFont

from bot.domain.core_heat import CoreHeat
from bot.domain.safe_text import one_line

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Colour: TypeAlias = tuple[int, int, int]

WIDTH, HEIGHT = 800, 450
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 146, 344  # of the map
_MOST_COLUMNS = _WIDE = WIDTH - _LEFT - _RIGHT
_TALL = _BOTTOM - _TOP
_GROUND: Colour = (22, 24, 32)
_INK: Colour = (240, 240, 245)
_FAINT: Colour = (172, 178, 192)
_UNREAD_GROUND: Colour = (58, 62, 74)
_UNREAD_LINES: Colour = (168, 172, 184)
_VIRIDIS: Sequence[Colour] = (  # at 0, 10 … 100 %
    (68, 1, 84),
    (72, 36, 117),
    (65, 68, 135),
    (53, 95, 141),
    (42, 120, 142),
    (33, 145, 140),
    (34, 168, 132),
    (68, 191, 112),
    (122, 209, 81),
    (189, 223, 38),
    (253, 231, 37),
)
_HATCH = 9  # pixels from one line of the pattern to the next
_TITLE, _SAID, _SMALL = 33, 25, 23
_FEWEST_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # between two numbers below the map
_APART = 58  # pixels that two numbers below the map need


def core_picture(heat: CoreHeat, node: str) -> bytes:
    """Return the heat as a PNG of 800 × 450 pixels.

    Shape: where there are more cores than pixels, neighbours share one, and the hottest of them is shown.
    """
    image = Image.new("RGB", (WIDTH, HEIGHT), _GROUND)
    draw = ImageDraw.Draw(image)
    columns, per_column = _columns(heat)
    cell = _WIDE // len(columns)
    edges = _edges(heat.spans)
    image.paste(_cells(columns, edges, cell), (_LEFT, _TOP))
    if heat.unread_samples:
        _hatch(image, columns, edges, cell)
    if cell >= 12:
        for at in range(1, len(columns)):
            draw.line((_LEFT + at * cell, _TOP, _LEFT + at * cell, _BOTTOM - 1), fill=_GROUND)
    _words(draw, heat, node)
    _mark(draw, heat, per_column, cell)
    _axes(draw, heat, columns, per_column, cell)
    _legend(image, draw, heat)
    kept = io.BytesIO()
    image.save(kept, "PNG", compress_level=4)
    return kept.getvalue()


def _columns(heat: CoreHeat) -> tuple[list[tuple[int | None, ...]], int]:
    """The map's columns, and how many cores share one."""
    per_column = math.ceil(len(heat.cores) / _MOST_COLUMNS)
    columns = []
    for at in range(0, len(heat.percents), per_column):
        together = zip(*heat.percents[at : at + per_column], strict=True)
        columns.append(tuple(max((p for p in each if p is not None), default=None) for each in together))
    return columns, per_column


def _edges(spans: Sequence[float]) -> list[int]:
    """Where each sample begins and the last one ends, in pixels of the map."""
    whole, edges, passed = sum(spans), [0], 0.0
    for span in spans:
        passed += span
        edges.append(round(_TALL * passed / whole))
    return edges


def _cells(columns: Sequence[Sequence[int | None]], edges: Sequence[int], cell: int) -> Image.Image:
    """The map without its hatching: a pixel a cell, drawn large sample by sample."""
    cells = Image.new("RGB", (cell * len(columns), _TALL))
    for sample, (top, bottom) in enumerate(itertools.pairwise(edges)):
        if bottom > top:
            row = Image.new("RGB", (len(columns), 1))
            row.putdata([_colour(column[sample]) for column in columns])
            gap = 1 if bottom - top >= 12 and sample else 0
            cells.paste(row.resize((cell * len(columns), bottom - top - gap), Image.Resampling.NEAREST), (0, top + gap))
    return cells


def _hatch(image: Image.Image, columns: Sequence[Sequence[int | None]], edges: Sequence[int], cell: int) -> None:
    """Lay one pattern over the whole map, seen where nothing was read: so it is seen on cells of a few pixels too."""
    size = (cell * len(columns), _TALL)
    unread, pattern = Image.new("1", size), Image.new("RGB", size, _UNREAD_GROUND)
    holes, lines = ImageDraw.Draw(unread), ImageDraw.Draw(pattern)
    for at, column in enumerate(columns):
        for sample, percent in enumerate(column):
            if percent is None and edges[sample + 1] > edges[sample]:
                holes.rectangle((at * cell, edges[sample], (at + 1) * cell - 1, edges[sample + 1] - 1), fill=1)
    for at in range(-_TALL, size[0], _HATCH):
        lines.line((at, _TALL, at + _TALL, 0), fill=_UNREAD_LINES, width=2)
    image.paste(pattern, (_LEFT, _TOP), unread)


def _words(draw: ImageDraw.ImageDraw, heat: CoreHeat, node: str) -> None:
    first, *rest = heat.words.split("; ")
    draw.text((_RIGHT, 14), _cut(draw, first, _font(_TITLE)), _INK, _font(_TITLE))
    said = " · ".join((one_line(node, 40), "; ".join(rest))).removesuffix(" · ")
    draw.text((_RIGHT, 58), _cut(draw, said, _font(_SAID)), _FAINT, _font(_SAID))


def _mark(draw: ImageDraw.ImageDraw, heat: CoreHeat, per_column: int, cell: int) -> None:
    """The core that stands out: a frame around its column, and its name on a pointer above."""
    left = _LEFT + heat.cores.index(heat.hot) // per_column * cell
    right, middle = left + cell - 1, left + cell // 2
    draw.rectangle((left - 2, _TOP - 2, right + 2, _BOTTOM + 1), outline=_INK, width=2)
    draw.polygon(((middle - 9, _TOP - 16), (middle + 9, _TOP - 16), (middle, _TOP - 4)), fill=_INK)
    name, font = f"core {heat.hot}", _font(_SAID)
    half = draw.textlength(name, font) / 2
    at = min(max(middle, _LEFT + half), WIDTH - _RIGHT - half)
    draw.text((at, _TOP - 20), name, _INK, font, anchor="md")


def _axes(
    draw: ImageDraw.ImageDraw,
    heat: CoreHeat,
    columns: Sequence[Sequence[int | None]],
    per_column: int,
    cell: int,
) -> None:
    font = _font(_SMALL)
    for seconds, y, anchor in ((0, _TOP, "ra"), (heat.seconds, _BOTTOM, "rd")):
        draw.text((_LEFT - 12, y), f"{seconds} s", _FAINT, font, anchor=anchor)
    step = next((step for step in _FEWEST_STEPS if step * cell >= _APART), len(columns))
    for at in range(0, len(columns), step):
        middle = _LEFT + at * cell + cell // 2
        draw.line((middle, _BOTTOM + 3, middle, _BOTTOM + 8), fill=_FAINT)
        draw.text((middle, _BOTTOM + 12), str(heat.cores[at * per_column]), _FAINT, font, anchor="ma")
    draw.text((_LEFT - 12, _BOTTOM + 12), "core", _FAINT, font, anchor="ra")


def _legend(image: Image.Image, draw: ImageDraw.ImageDraw, heat: CoreHeat) -> None:
    """What the colours mean, in words beside them."""
    font, top, wide, tall = _font(_SMALL), HEIGHT - 50, 200, 24
    x = _LEFT
    draw.text((x, top + tall / 2), f"{heat.what}: 0 %", _FAINT, font, anchor="lm")
    x += round(draw.textlength(f"{heat.what}: 0 %", font)) + 12
    scale = Image.new("RGB", (101, 1))
    scale.putdata([_colour(percent) for percent in range(101)])
    image.paste(scale.resize((wide, tall), Image.Resampling.NEAREST), (x, top))
    draw.text((x + wide + 12, top + tall / 2), "100 %", _FAINT, font, anchor="lm")
    if heat.unread_samples:
        x += wide + 12 + round(draw.textlength("100 %", font)) + 36
        pattern = Image.new("RGB", (44, tall), _UNREAD_GROUND)
        lines = ImageDraw.Draw(pattern)
        for at in range(-tall, 44, _HATCH):
            lines.line((at, tall, at + tall, 0), fill=_UNREAD_LINES, width=2)
        image.paste(pattern, (x, top))
        draw.text((x + 54, top + tall / 2), "not read", _FAINT, font, anchor="lm")


def _colour(percent: int | None) -> Colour:
    """The colour of a share, between the two steps that it lies between."""
    if percent is None:
        return _UNREAD_GROUND
    step, rest = divmod(min(100, max(0, percent)), 10)
    if not rest:
        return _VIRIDIS[step]
    below, above = _VIRIDIS[step], _VIRIDIS[step + 1]
    red, green, blue = (low + round((high - low) * rest / 10) for low, high in zip(below, above, strict=True))
    return red, green, blue


def _font(size: int) -> FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)  # it is part of Pillow: the machine may have none


def _cut(draw: ImageDraw.ImageDraw, text: str, font: FreeTypeFont | ImageFont.ImageFont) -> str:
    """The text as far as it fits into the picture."""
    return next(part for part in _shorter(text) if draw.textlength(part, font) <= WIDTH - 2 * _RIGHT)


def _shorter(text: str) -> Iterator[str]:
    yield text
    for length in range(len(text) - 1, -1, -1):
        yield text[:length] + "…"
