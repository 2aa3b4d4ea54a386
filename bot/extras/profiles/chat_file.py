"""The pictures of a profile as files in a thread: a core's flame graph, and the heat map of its seconds."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.chat.post_state import MessageTarget
from bot.chat.poster import Poster
from bot.chat.thread_files import FileRequest, ThreadFile
from bot.domain.errors import ProfileError
from bot.domain.json_form import NotOfForm, to_json_types
from bot.domain.safe_text import one_line
from bot.extras.profiles.sketch import Sketch, sketch_of

SKETCH = "sketch-"
FLAME, SECONDS = "flame", "seconds"


@dataclass(frozen=True, slots=True)
class SketchFile:
    """Draws sketches, which are stored with the upload."""

    prefix: str = SKETCH
    word: str = "sketch"

    async def make(self, name: str, content: Mapping[str, Any]) -> ThreadFile:
        """Draw it. Raises: ProfileError where the stored content is no sketch."""
        try:
            drawn = sketch_of(content.get("sketch"))
        except NotOfForm as no:
            raise ProfileError(f"Its stored data cannot be read ({one_line(str(no), 160)}).") from no
        which = SECONDS if content.get("which") == SECONDS else FLAME
        png = await asyncio.to_thread(_drawn, drawn, which)  # the first call loads Pillow
        flame, seconds = drawn.alt_texts
        return ThreadFile(f"{which}-core-{drawn.core}.png", png, seconds if which == SECONDS else flame)

    def instead(self, name: str, because: str) -> str:
        """Say why the pictures are missing, once for both."""
        return f"There is no picture: {because}" if name.startswith(FLAME) else ""


def pictures_of(drawn: Sketch) -> Iterator[FileRequest]:
    """Yield both pictures, each with its sketch."""
    digest = hashlib.sha256(drawn.text().encode()).hexdigest()[:12]
    for which in (FLAME, SECONDS):
        yield FileRequest(SKETCH, f"{which}-{digest}", {"sketch": to_json_types(drawn), "which": which})


async def attach_pictures(poster: Poster, name: str, target: MessageTarget, drawn: Sketch | None) -> None:
    """Send both pictures into a card's thread; none where there is no sketch, or the card is a private answer.

    Raises: LedgerError when they cannot be stored.
    """
    if drawn is not None and await poster.place(name) is not None:
        for asked in pictures_of(drawn):
            await poster.attach(name, target, asked)


def _drawn(drawn: Sketch, which: str) -> bytes:
    from bot.extras.profiles.flame_picture import flame_picture, heat_map_picture

    return heat_map_picture(drawn) if which == SECONDS else flame_picture(drawn)
