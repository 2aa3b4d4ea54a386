"""The two icons of the app's package, as Teams asks for them: a Z, in colour and in white on nothing."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw

_DARK, _GREEN, _WHITE, _CLEAR = (29, 58, 47, 255), (159, 224, 176, 255), (255, 255, 255, 255), (255, 255, 255, 0)
_Z = ((0.27, 0.27), (0.73, 0.27), (0.27, 0.73), (0.73, 0.73))  # within the middle half, which every client shows
_FINER = 4  # times as fine is it drawn, for smooth edges


def color() -> bytes:
    """Return `color.png`: 192 by 192, the accent colour of the manifest to the edge."""
    return _icon(192, 0.10, _GREEN, _DARK)


def outline() -> bytes:
    """Return `outline.png`: 32 by 32, white alone on a transparent ground."""
    return _icon(32, 0.12, _WHITE, _CLEAR)


def _icon(side: int, stroke: float, ink: tuple[int, ...], ground: tuple[int, ...]) -> bytes:
    fine = side * _FINER
    mask = Image.new("L", (fine, fine), 0)
    line = [(x * fine, y * fine) for x, y in _Z]
    ImageDraw.Draw(mask).line(line, fill=255, width=round(stroke * fine), joint="curve")
    icon = Image.new("RGBA", (side, side), ground)
    icon.paste(ink, (0, 0, side, side), mask.resize((side, side), Image.Resampling.LANCZOS))
    written = io.BytesIO()
    icon.save(written, "PNG", optimize=True)
    return written.getvalue()
