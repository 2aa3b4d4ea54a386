"""The heat map of a profile's seconds as PNG, for chats, which show no SVG."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from bot.extras.profiles.heat_map import CELL_TALL, GROUND, HeatMap


def png(drawn: HeatMap, title: str, said: str) -> bytes:
    """Draw it as PNG, at twice the size, for phone screens."""
    wide, high = drawn.size
    image = Image.new("RGB", (2 * wide, 2 * high), GROUND)
    draw = ImageDraw.Draw(image)
    for x, y, colour in drawn.cells():
        draw.rectangle((2 * x, 2 * y, 2 * (x + drawn.cell_wide) - 1, 2 * (y + CELL_TALL) - 1), colour)
    for x, y, text, tall, ink, anchor in drawn.labels(title, said):
        side = "rs" if anchor == "end" else "ls"
        draw.text((2 * x, 2 * y), printable(text), ink, ImageFont.load_default(2 * tall), anchor=side)
    return encoded(image)


def encoded(image: Image.Image) -> bytes:
    """Return a picture as PNG."""
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def printable(text: str) -> str:
    """Return the text in letters that pictures can show."""
    return text.encode("latin-1", "replace").decode("latin-1")  # Pillow's own letters go no further
