"""The bot's own log: one JSON object a line on stderr, with secrets taken out."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, TextIO

from bot.app.parts import now
from bot.domain.redaction import redacted_text
from bot.domain.safe_text import safe


class Journal:
    """Writes lines; `log("event", key=value)`."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream

    def log(self, event: str, **fields: Any) -> None:
        """Write one line."""
        line: dict[str, Any] = {"at": now().isoformat(), "event": event}
        for name, value in fields.items():
            line[name] = value if isinstance(value, int | float) else redacted_text(safe(str(value)))
        self._stream.write(json.dumps(line) + "\n")
        self._stream.flush()

    def logger(self, name: str) -> logging.Logger:
        """Return a logger for a library, whose warnings and errors become lines here."""
        logger = logging.Logger(name, logging.WARNING)
        logger.addHandler(_Handler(self))
        return logger


class _Handler(logging.Handler):
    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        self._journal.log("library", source=record.name, level=record.levelname.lower(), says=record.getMessage())
