"""The bot's own log: a JSON object per line on stderr, redacted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TextIO

from bot.app.factories import now
from bot.domain.safe_text import redacted, safe
from bot.domain.secret_forms import MARK

LONGEST = 2000  # characters of a field
SHORTEST_SECRET = 8  # a shorter secret may be part of ordinary words


class JsonLog:
    """Writes lines; `log("event", key=value)`. `secrets` are the bot's own, and are redacted everywhere."""

    def __init__(self, stream: TextIO = sys.stderr, secrets: Iterable[str] = ()) -> None:
        self._stream = stream
        self._secrets = tuple(secret for secret in secrets if len(secret) >= SHORTEST_SECRET)
        self._listeners: list[Callable[[str, Mapping[str, Any]], None]] = []

    def listen(self, listener: Callable[[str, Mapping[str, Any]], None]) -> None:
        """Pass every line's event and fields to a listener too."""
        self._listeners.append(listener)

    def log(self, event: str, **fields: Any) -> None:
        """Write a line; a reader that is gone does not stop work."""
        line: dict[str, Any] = {"at": now().isoformat(), "event": event}
        for name, value in fields.items():
            line[name] = value if isinstance(value, int | float) else self._redacted_value(name, str(value))
        for listener in self._listeners:
            listener(event, fields)
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(json.dumps(line) + "\n")
            self._stream.flush()

    def _redacted_value(self, name: str, value: str) -> str:
        for secret in self._secrets:  # before it is cut, because half a secret is not recognised
            value = value.replace(secret, MARK)
        if len(value) > 4 * LONGEST:  # to search all of it would take long; the last word may be half a secret
            value = value[: 4 * LONGEST].rpartition(" ")[0] or value[: 4 * LONGEST]
        named: dict[str, str] = redacted({name: safe(value)})  # a field's name also says what it holds
        return next(iter(named.values()))[:LONGEST]

    def logger(self, name: str) -> logging.Logger:
        """Return a logger for a library, whose warnings and errors become lines here."""
        logger = logging.Logger(name, logging.WARNING)
        logger.addHandler(_Handler(self))
        return logger

    @contextlib.contextmanager
    def library_logs(self) -> Iterator[None]:
        """While the block runs, turn everything that libraries log into lines here."""
        handler, root = _Handler(self), logging.getLogger()
        root.addHandler(handler)
        try:
            yield
        finally:
            root.removeHandler(handler)

    def log_task_failures(self, loop: asyncio.AbstractEventLoop) -> None:
        """Turn failures of a loop's tasks into lines here."""
        loop.set_exception_handler(
            lambda _, context: self.log("task_failed", says=context["message"], error=repr(context.get("exception")))
        )


class _Handler(logging.Handler):
    def __init__(self, json_log: JsonLog) -> None:
        super().__init__(logging.WARNING)
        self._json_log = json_log

    def emit(self, record: logging.LogRecord) -> None:
        error = {"error": repr(record.exc_info[1])} if record.exc_info else {}
        self._json_log.log(
            "library", source=record.name, level=record.levelname.lower(), says=record.getMessage(), **error
        )
