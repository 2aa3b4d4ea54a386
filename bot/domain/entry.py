"""One line of the ledger, and the hash that chains it to the line before it in its stream."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.domain.event_form import Event, event_of

NOTHING_BEFORE = "0" * 64  # what a stream's first entry is chained to
_STREAM = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: the `seq`-th of its stream, never changed once it stands there.

    Shape: `seq` counts from 1; `at` is the database's time in whole milliseconds; `by` is `bot` or a person as the
    record writes them; `body` is the event's, redacted.
    """

    stream: str
    seq: int
    at: datetime
    by: str
    kind: str
    body: Mapping[str, Any]
    hash: str

    @property
    def event(self) -> Event:
        """What happened.

        Raises: UnreadableEntry when this program does not know the entry's kind or form, or its body is malformed.
        """
        return event_of(self.kind, self.body)


@dataclass(frozen=True, slots=True)
class Head:
    """Where a stream ends: its last entry's number and hash; 0 where it has none."""

    seq: int = 0
    hash: str = NOTHING_BEFORE


def chained(previous: str, stream: str, seq: int, at: str, by: str, kind: str, body: str) -> str:
    """Return the hash of an entry: SHA-256, in hex, over the hash before it and every field as it is kept."""
    content = json.dumps([previous, stream, seq, at, by, kind, body], separators=(",", ":"))
    return hashlib.sha256(content.encode("ascii")).hexdigest()


def instant_text(instant: datetime) -> str:
    """Return an instant as the ledger keeps it, so that texts sort as the instants do.

    Example:
    >>> instant_text(datetime(2026, 11, 21, 9, 30, tzinfo=UTC))
    '2026-11-21T09:30:00.000Z'
    """
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_of(text: str) -> datetime:
    """Return the instant that the ledger keeps as that text.

    Raises: ValueError when it is none.
    """
    instant = datetime.fromisoformat(text)
    if instant.utcoffset() != timedelta(0):
        raise ValueError(f"{text!r} is not in UTC")
    return instant.astimezone(UTC)


def is_stream(text: str) -> bool:
    """True when `text` can name a stream.

    Example:
    >>> is_stream("house"), is_stream("7k3m9x2qpv"), is_stream("../x")
    (True, True, False)
    """
    return _STREAM.match(text) is not None
