"""The flame graph of a core as PNG, for chats and reports: callers below, callees above, width is the share.

The function that most samples ended in is bright on a dark background, visible to the colour-blind too; the others
have three dim shades. Letters are large, because a phone shows the picture at a third of its width.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

from PIL import Image, ImageDraw, ImageFont

from bot.domain.safe_text import one_line
from bot.extras.profiles.heat_map import FAINT, GROUND, INK, HeatMap, lines
from bot.extras.profiles.heat_map_picture import encoded, png, printable
from bot.extras.profiles.sketch import Sketch

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Colour: TypeAlias = tuple[int, int, int]

WIDTH = 1000
_EDGE, _TOP, _BOTTOM = 24, 190, 60
_ROW = 42
_TITLE, _SAID, _LETTERS = 44, 33, 28
_HOT: Colour = (253, 231, 37)
_SHADES: tuple[Colour, ...] = ((52, 72, 112), (44, 92, 110), (70, 62, 116))
_HOT_INK: Colour = (16, 16, 20)
_LEAST_ROWS = 4


def flame_picture(drawn: Sketch) -> bytes:
    """Return the flame graph as a PNG, 1000 pixels wide and as high as its calls are deep."""
    rows = max(_LEAST_ROWS, max((bar.depth for bar in drawn.bars), default=0) + 1)
    high = _TOP + rows * _ROW + _BOTTOM
    image = Image.new("RGB", (WIDTH, high), GROUND)
    draw = ImageDraw.Draw(image)
    draw.text((_EDGE, 22), printable(one_line(drawn.title, 42)), INK, ImageFont.load_default(_TITLE))
    for at, line in enumerate(lines(drawn.says, 600)):
        draw.text((_EDGE, 86 + 44 * at), printable(line), FAINT, ImageFont.load_default(_SAID))
    font, room = ImageFont.load_default(_LETTERS), WIDTH - 2 * _EDGE
    whole = max(1, max((bar.at + bar.wide for bar in drawn.bars), default=1))
    for bar in drawn.bars:
        left, right = (_EDGE + round(room * edge / whole) for edge in (bar.at, bar.at + bar.wide))
        if right - left < 1:
            continue
        top = high - _BOTTOM - (bar.depth + 1) * _ROW
        is_hot = bar.name == drawn.hot
        colour = _HOT if is_hot else _SHADES[zlib.crc32(bar.name.encode()) % len(_SHADES)]
        draw.rectangle((left, top, max(left, right - 2), top + _ROW - 3), colour)
        if words := _fitting(draw, printable(bar.name), right - left - 14, font):
            draw.text((left + 6, top + 4), words, _HOT_INK if is_hot else INK, font)
    said = f"{drawn.samples:,} samples; bright: {one_line(drawn.hot, 44)}"
    draw.text((_EDGE, high - 44), printable(said), FAINT, ImageFont.load_default(_LETTERS))
    return encoded(image)


def heat_map_picture(drawn: Sketch) -> bytes:
    """Return the heat map of the core's seconds as a PNG."""
    return png(HeatMap.of(drawn.seconds, len(drawn.seconds)), drawn.title, drawn.says)


def _fitting(draw: ImageDraw.ImageDraw, text: str, room: float, font: FreeTypeFont | ImageFont.ImageFont) -> str:
    """Return as much of a name as fits; empty if too little fits."""
    if room < 30:
        return ""
    if draw.textlength(text, font) <= room:
        return text
    fits = int(len(text) * room / max(1.0, draw.textlength(text, font)))
    while fits > 3 and draw.textlength(text[:fits] + "..", font) > room:
        fits -= 1
    return f"{text[:fits]}.." if fits > 3 else ""
