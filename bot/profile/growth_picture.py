"""Growth on a node as a picture: the counts over time, and where the interval leads until harm.

It has its own dark background, like the map of cores. Dots are looks; the band shows the slopes of the 95 % interval,
as far ahead as the looks reach back; the dashed line is the harm, if it is near enough.
"""

from __future__ import annotations

import io
from datetime import datetime, timedelta

from PIL import Image, ImageDraw, ImageFont

from bot.domain.growth import Growth
from bot.domain.safe_text import one_line
from bot.profile.seconds_map import lines
from bot.profile.seconds_picture import printable

WIDTH, HEIGHT = 680, 400
LEFT, RIGHT, TOP, BOTTOM = 92, 660, 128, 352
_GROUND, _INK, _FAINT = (22, 24, 32), (240, 240, 245), (172, 178, 192)
_DOT, _BAND, _HARM, _GRID = (94, 201, 98), (40, 74, 62), (253, 174, 97), (52, 56, 68)
_IN_SIGHT = 3.0  # harm up to this multiple of the highest count is drawn


def growth_picture(growth: Growth, node: str, said: str) -> bytes:
    """Return it as a PNG of 680 × 400 pixels; `said` is its line of text."""
    image = Image.new("RGB", (WIDTH, HEIGHT), _GROUND)
    draw = ImageDraw.Draw(image)
    title, small = ImageFont.load_default(30), ImageFont.load_default(20)
    draw.text((20, 16), printable(one_line(f"{growth.what} on {node}", 44)), _INK, title)
    for at, words in enumerate(lines(said, 620)):
        draw.text((20, 58 + 26 * at), printable(words), _FAINT, small)
    plane = _Plane(growth)
    for value in (0.0, plane.most / 2, plane.most):
        y = plane.y(value)
        draw.line((LEFT, y, RIGHT, y), fill=_GRID)
        draw.text((LEFT - 8, y), _short(value), _FAINT, small, anchor="rm")
    for when, anchor in ((plane.first, "la"), (plane.last, "ra")):
        draw.text((plane.x(when), BOTTOM + 10), f"{when:%Y-%m-%d %H:%M}", _FAINT, small, anchor=anchor)
    if growth.low is not None and growth.high is not None and plane.last > growth.latest.at:
        hours = (plane.last - growth.latest.at) / timedelta(hours=1)
        ends = [growth.latest.value + slope * hours for slope in (growth.low, growth.high)]
        here, there = (plane.x(growth.latest.at), plane.y(growth.latest.value)), plane.x(plane.last)
        draw.polygon((here, (there, plane.y(ends[1])), (there, plane.y(ends[0]))), fill=_BAND)
    if plane.harm is not None:
        y = plane.y(plane.harm)
        for x in range(LEFT, RIGHT, 14):
            draw.line((x, y, min(x + 7, RIGHT), y), fill=_HARM, width=2)
        draw.text((LEFT + 6, y + 4), f"harm from {plane.harm:,.0f} on", _HARM, small)
    points = [(plane.x(look.at), plane.y(look.value)) for look in growth.looks]
    if len(points) > 1:
        draw.line(points, fill=_DOT, width=2)
    for x, y in points:
        draw.ellipse((x - 4, y - 4, x + 4, y + 4), fill=_DOT)
    kept = io.BytesIO()
    image.save(kept, "PNG", compress_level=4)
    return kept.getvalue()


class _Plane:
    """Positions of times and numbers in the picture."""

    def __init__(self, growth: Growth) -> None:
        self.first = growth.looks[0].at
        seen = growth.latest.at - self.first
        self.last: datetime = growth.latest.at + (seen if growth.grows else timedelta(0))
        most = max(max(look.value for look in growth.looks), 1.0)
        self.harm = growth.harm.value if growth.harm is not None and growth.harm.value <= most * _IN_SIGHT else None
        ahead = growth.latest.value + growth.per_hour * (self.last - growth.latest.at) / timedelta(hours=1)
        self.most = max(most, ahead, (self.harm or 0.0) * 1.08)

    def x(self, at: datetime) -> int:
        """The pixel of a time."""
        return LEFT + round((at - self.first) / (self.last - self.first) * (RIGHT - LEFT))

    def y(self, value: float) -> int:
        """The pixel of a number; numbers outside the picture are at its edge."""
        return BOTTOM - round(min(max(value / self.most, 0.0), 1.0) * (BOTTOM - TOP))


def _short(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * size:
            return f"{value / size:,.0f}{unit}"
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:,.0f}"
