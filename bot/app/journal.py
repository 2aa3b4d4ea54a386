"""The bot's own log: one JSON object a line on stderr, with secrets taken out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from bot.app.parts import now
from bot.domain.redaction import redacted_text
from bot.domain.safe_text import safe

LONGEST = 2000  # characters of one field


class Journal:
    """Writes lines; `log("event", key=value)`."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream

    def log(self, event: str, **fields: Any) -> None:
        """Write one line; a reader that has gone is no reason to stop work."""
        line: dict[str, Any] = {"at": now().isoformat(), "event": event}
        for name, value in fields.items():
            line[name] = value if isinstance(value, int | float) else redacted_text(safe(str(value))[:LONGEST])
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()

    def logger(self, name: str) -> logging.Logger:
        """Return a logger for a library, whose warnings and errors become lines here."""
        logger = logging.Logger(name, logging.WARNING)
        logger.addHandler(_Handler(self))
        return logger

    @contextlib.contextmanager
    def everything(self) -> Iterator[None]:
        """Have whatever any library logs become lines here, for the length of a block."""
        handler, root = _Handler(self), logging.getLogger()
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)

    def hear(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have what a loop's tasks fail of become lines here."""
        loop.set_exception_handler(
            lambda _, context: self.log("task_failed", says=context["message"], error=repr(context.get("exception")))
        )


class _Handler(logging.Handler):
    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        error = {"error": repr(record.exc_info[1])} if record.exc_info else {}
        self._journal.log(
            "library", source=record.name, level=record.levelname.lower(), says=record.getMessage(), **error
        )
