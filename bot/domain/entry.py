"""One line of the ledger, the hash that chains it to the line before it in its stream, and its body: an event.

Each event's body has a numbered form. A field that is added with a default needs no new number: older bodies lack it,
older programs ignore it. A change of meaning does: the event's number in `FORMS` is raised, and `LIFTS` says how a body
of the number before becomes one of the next. A program that meets a number above its own leaves the incident alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, get_args

from bot.domain.errors import UnreadableEntry
from bot.domain.events import IncidentEvent
from bot.domain.house_events import HouseEvent
from bot.domain.json_form import NotOfForm, plain, read

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


Event: TypeAlias = IncidentEvent | HouseEvent
Body: TypeAlias = dict[str, Any]
Lift: TypeAlias = Callable[[Body], Body]

INCIDENT_EVENTS: tuple[type[Any], ...] = get_args(IncidentEvent)
HOUSE_EVENTS: tuple[type[Any], ...] = get_args(HouseEvent)
EVENTS: Mapping[str, type[Any]] = {event.__name__: event for event in (*INCIDENT_EVENTS, *HOUSE_EVENTS)}

FORMS: Mapping[str, int] = {}  # kinds whose form is no longer 1
LIFTS: Mapping[tuple[str, int], Lift] = {}  # (kind, form) → a body of that form becomes one of the next


def kind_of(event: Event) -> str:
    """Return the event's name, as an entry keeps it."""
    return type(event).__name__


def body_of(event: Event, forms: Mapping[str, int] = FORMS) -> Body:
    """Return the event as a JSON object; `form` in it is the number of its form."""
    return {"form": forms.get(kind_of(event), 1), **plain(event)}


def event_of(
    kind: str, body: Mapping[str, Any], forms: Mapping[str, int] = FORMS, lifts: Mapping[tuple[str, int], Lift] = LIFTS
) -> Event:
    """Return the event that a body stands for.

    Raises: UnreadableEntry when the kind or its form is unknown here, or the body is malformed.
    """
    event, form = EVENTS.get(kind), body.get("form")
    if event is None or not isinstance(form, int) or form > forms.get(kind, 1):
        raise UnreadableEntry(
            f"An entry of kind {kind!r}, form {form!r}, is not known to this program.", "A newer one may have made it."
        )
    lifted = dict(body)
    try:
        for number in range(form, forms.get(kind, 1)):
            lifted = lifts[kind, number](lifted)
        found: Event = read(event, lifted)
    except (NotOfForm, KeyError) as no:
        raise UnreadableEntry(f"An entry of kind {kind} is malformed: {no}.") from no
    return found


def written(body: Mapping[str, Any]) -> str:
    """Return a body as the one text that is kept and hashed: sorted keys, no spaces, nothing but ASCII."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
