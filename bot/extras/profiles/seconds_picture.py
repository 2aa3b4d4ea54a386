"""The heat map of a profile's seconds as PNG, for chats, which show no SVG."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from bot.extras.profiles.seconds_map import (
    CELL_TALL,
    FAINT,
    GROUND,
    INK,
    LABEL,
    SAID,
    SAID_APART,
    SAID_AT,
    TITLE,
    TITLE_AT,
    SecondsMap,
    lines,
    shown_title,
)


def png(drawn: SecondsMap, title: str, said: str) -> bytes:
    """Draw it as PNG, at twice the size, for phone screens."""
    wide, high = drawn.size
    image = Image.new("RGB", (2 * wide, 2 * high), GROUND)
    draw = ImageDraw.Draw(image)
    draw.text((24, 2 * TITLE_AT), printable(shown_title(title, wide)), INK, ImageFont.load_default(2 * TITLE), "ls")
    for at, line in enumerate(lines(said, wide)):
        base = 2 * (SAID_AT + SAID_APART * at)
        draw.text((24, base), printable(line), FAINT, ImageFont.load_default(2 * SAID), "ls")
    for x, y, colour in drawn.cells():
        draw.rectangle((2 * x, 2 * y, 2 * (x + drawn.cell_wide) - 1, 2 * (y + CELL_TALL) - 1), colour)
    font = ImageFont.load_default(2 * LABEL)
    for x, y, text, anchor in drawn.labels():
        draw.text((2 * x, 2 * y), text, FAINT, font, anchor="rs" if anchor == "end" else "ls")
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def printable(text: str) -> str:
    """Return the text in letters that pictures can show."""
    return text.encode("latin-1", "replace").decode("latin-1")  # Pillow's own letters go no further
