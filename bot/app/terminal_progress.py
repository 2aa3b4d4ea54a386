"""Progress on the terminal while a check runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable

from bot.domain.contracts import Listener, unheard
from bot.surfaces.progress import TerminalProgress


@contextlib.asynccontextmanager
async def shown_progress(nodes: int = 0) -> AsyncIterator[tuple[Listener, Callable[[], None]]]:
    """Draw progress on stderr while the block runs, where that is a terminal that redraws; yields (listener, clear).

    `nodes`: how many nodes are checked, where known.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield unheard, _erase_nothing
        return
    loop = asyncio.get_running_loop()
    began = loop.time()
    progress = TerminalProgress(sys.stderr, terminal_width, lambda: loop.time() - began, nodes)

    async def redraw() -> None:
        while True:
            progress.draw()
            await asyncio.sleep(0.2)

    drawing = asyncio.create_task(redraw())
    try:
        yield progress.heard, progress.clear
    finally:
        drawing.cancel()
        progress.clear()


def terminal_width() -> int:
    """Columns of the terminal, 80 where there is none."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80  # a terminal may not know its own size
    except (OSError, ValueError):
        return 80


def _erase_nothing() -> None:
    """Does nothing: nothing was drawn."""
