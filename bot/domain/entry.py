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
from bot.domain.events import AlertReceived, Approved, Endorsed, IncidentEvent, StepStarted
from bot.domain.house_events import HouseEvent
from bot.domain.json_form import NotOfForm, plain, read
from bot.domain.wave_events import WaveEvent

NOTHING_BEFORE = "0" * 64  # what a stream's first entry is chained to
NOTED_DIGITS = (
    32  # of a hash that is noted outside the ledger: half of SHA-256, which nobody can find a second text for
)
_content = json.JSONEncoder(separators=(",", ":")).encode  # built once: building it costs more than running it
_STREAM = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
_NOTED = re.compile(rf"(?:([1-9]\d{{0,17}}):([0-9a-fA-F]{{{NOTED_DIGITS},64}})|([0-9a-fA-F]{{12,64}}))\Z", re.ASCII)


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

    @property
    def noted(self) -> str:
        """How it is noted on cards: `SEQ:HASH`, the hash by its first 32 digits; empty for an empty stream.

        Example:
        >>> Head(12, "3f9a" * 16).noted
        '12:3f9a3f9a3f9a3f9a3f9a3f9a3f9a3f9a'
        """
        return f"{self.seq}:{self.hash[:NOTED_DIGITS]}" if self.seq else ""


@dataclass(frozen=True, slots=True)
class NotedHead:
    """A head of `house` that was noted outside the ledger, or, of an older note, a hash alone.

    Shape: `seq` is None where only a hash was noted: it may be any entry's of any stream. `digits` are the first of the
    hash, in lower case; `where` says where it was noted, for a sentence; empty for a command line.
    """

    seq: int | None
    digits: str
    where: str = ""

    @classmethod
    def of(cls, text: str, where: str = "") -> NotedHead:
        """Read `SEQ:HASH` with at least 32 digits, or the older form: a hash alone, with at least 12.

        Raises: ValueError when it is neither.

        Example:
        >>> NotedHead.of("12:" + "3F9a" * 8).seq
        12
        >>> NotedHead.of("3f9a1c04b7de").seq is None
        True
        """
        if (found := _NOTED.match(text)) is None:
            raise ValueError(
                f"{text[:80]!r} is no head: write SEQ:HASH with at least {NOTED_DIGITS} hexadecimal digits, as on a "
                "card, or a hash alone with at least 12"
            )
        return cls(int(found[1]) if found[1] else None, (found[2] or found[3]).lower(), where)

    def __str__(self) -> str:
        return self.digits if self.seq is None else f"{self.seq}:{self.digits}"


def chained(previous: str, stream: str, seq: int, at: str, by: str, kind: str, body: str) -> str:
    """Return the hash of an entry: SHA-256, in hex, over the hash before it and every field as it is kept."""
    content = _content([previous, stream, seq, at, by, kind, body])
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


Event: TypeAlias = IncidentEvent | HouseEvent | WaveEvent
Body: TypeAlias = dict[str, Any]
Lift: TypeAlias = Callable[[Body], Body]

INCIDENT_EVENTS: tuple[type[Any], ...] = get_args(IncidentEvent)
HOUSE_EVENTS: tuple[type[Any], ...] = get_args(HouseEvent)
WAVE_EVENTS: tuple[type[Any], ...] = get_args(WaveEvent)
ANCHORED = frozenset(
    event.__name__ for event in (AlertReceived, Endorsed, Approved, StepStarted, *WAVE_EVENTS)
)  # in `house`, at once
EVENTS: Mapping[str, type[Any]] = {event.__name__: event for event in (*INCIDENT_EVENTS, *HOUSE_EVENTS, *WAVE_EVENTS)}

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
