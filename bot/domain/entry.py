"""An entry of the ledger, the hash that chains it to the entry before it in its stream, and its body: an event.

Each event's body has a numbered form. A new field with a default needs no new number: older bodies lack it, older
programs ignore it. A change of meaning needs a new number: raise the event's number in `FORMS`, and add to `LIFTS` how
a body of the previous form becomes a body of the next. A program that finds a number above its own leaves the incident
alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias, get_args

from bot.domain.alert import BOT
from bot.domain.errors import UnreadableEntry
from bot.domain.events import AlertReceived, Approved, Endorsed, IncidentEvent, StepStarted
from bot.domain.house_events import HOUSE, HouseEvent
from bot.domain.json_form import NotOfForm, read, to_json_types

NOTHING_BEFORE = "0" * 64  # the hash before a stream's first entry
NOTED_DIGITS = (
    32  # of a hash that is noted outside the ledger: half of SHA-256, enough that nobody finds a second text for it
)
_content = json.JSONEncoder(separators=(",", ":")).encode  # built once: building it costs more than running it
_WHO = re.compile(r"[a-z][a-z0-9-]{0,31}:[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,128}\Z")
_STREAM = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
_WAVE = re.compile(r"wave-[a-z0-9]{4,40}\Z")
_NOTED = re.compile(r"(?:([1-9]\d{0,17}):)?([0-9a-fA-F]{1,64})\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: number `seq` of its stream, never changed once written.

    Shape: `seq` counts from 1; `at` is the database's time in whole milliseconds; `by` is `bot` or a person as the
    ledger writes people; `body` is the event's, redacted.
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

    @property
    def known_event(self) -> Event | None:
        """What happened; None where this program cannot know it, because a newer program wrote it."""
        try:
            return self.event
        except UnreadableEntry:
            return None


@dataclass(frozen=True, slots=True)
class Append:
    """Events of an incident to be appended, from entry `expected_seq + 1` on, in a transaction with others."""

    stream: str
    expected_seq: int
    events: tuple[IncidentEvent, ...]
    by: str


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a stream: its last entry's number and hash; number 0 if the stream is empty."""

    seq: int = 0
    hash: str = NOTHING_BEFORE

    @property
    def noted(self) -> str:
        """The head as noted on cards: `SEQ:HASH` with the hash's first 32 digits; empty for an empty stream.

        Example:
        >>> Head(12, "3f9a" * 16).noted
        '12:3f9a3f9a3f9a3f9a3f9a3f9a3f9a3f9a'
        """
        return f"{self.seq}:{self.hash[:NOTED_DIGITS]}" if self.seq else ""


@dataclass(frozen=True, slots=True)
class NotedHead:
    """A head of `house` that was noted outside the ledger; a note may have only a hash.

    Shape: `seq` is None if only a hash was noted: it may belong to any entry of any stream. `digits` are the first
    digits of the hash, in lower case; `where` says where it was noted, for a sentence; empty for a command line.
    """

    seq: int | None
    digits: str
    where: str = ""

    @classmethod
    def of(cls, text: str, where: str = "") -> NotedHead:
        """Read `SEQ:HASH`, or only the hash, each with at least 32 digits.

        Raises: ValueError when it is neither, or its hash is too short.

        Example:
        >>> NotedHead.of("12:" + "3F9a" * 8).seq
        12
        >>> NotedHead.of("3F9a" * 8).seq is None
        True
        """
        text = text.replace("\u200b", "").strip()  # by which a card breaks long words, for phones
        if (found := _NOTED.match(text)) is None:
            raise ValueError(
                f"{text[:80]!r} is not a head: write SEQ:HASH with at least {NOTED_DIGITS} hexadecimal digits, as on a "
                "card, or only the hash"
            )
        if len(found[2]) < NOTED_DIGITS:
            raise ValueError(
                f"the head {text} has {len(found[2])} digits, too few to prove anything: somebody can make another "
                f"entry with the same. Give {NOTED_DIGITS} or more"
            )
        return cls(int(found[1]) if found[1] else None, found[2].lower(), where)

    def is_of(self, stream: str, seq: int, digest: str) -> bool:
        """True when an entry with that hash is the one that was noted."""
        return digest.startswith(self.digits) and (self.seq is None or (stream, seq) == (HOUSE, self.seq))

    def __str__(self) -> str:
        return self.digits if self.seq is None else f"{self.seq}:{self.digits}"


def entry_hash(previous: str, stream: str, seq: int, at: str, by: str, kind: str, body: str) -> str:
    """Return an entry's hash: SHA-256, in hex, over the previous hash and every field as stored."""
    content = _content([previous, stream, seq, at, by, kind, body])
    return hashlib.sha256(content.encode("ascii")).hexdigest()


def instant_text(instant: datetime) -> str:
    """Return an instant as the ledger stores it: the texts sort like the instants.

    Example:
    >>> instant_text(datetime(2026, 11, 21, 9, 30, tzinfo=UTC))
    '2026-11-21T09:30:00.000Z'
    """
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant_of(text: str) -> datetime:
    """Return the instant that the ledger stores as that text.

    Raises: ValueError when it is not an instant.
    """
    instant = datetime.fromisoformat(text)
    if instant.utcoffset() != timedelta(0):
        raise ValueError(f"{text!r} is not in UTC")
    return instant.astimezone(UTC)


def is_author(text: str) -> bool:
    """True when `text` can name the author of an entry: `bot`, or a kind of people, a colon and a name.

    Example:
    >>> is_author("bot"), is_author("slack:T024/U123"), is_author("terminal:ann"), is_author("ann")
    (True, True, True, False)
    """
    return text == BOT or _WHO.match(text) is not None


def is_stream(text: str) -> bool:
    """True when `text` can name a stream.

    Example:
    >>> is_stream("house"), is_stream("7k3m9x2qpv"), is_stream("../x")
    (True, True, False)
    """
    return _STREAM.match(text) is not None


def is_wave(stream: str) -> bool:
    """True when a stream belongs to a wave; an incident's id has no dash.

    Example:
    >>> is_wave("wave-7k3m9x2qpv"), is_wave("7k3m9x2qpv"), is_wave("house")
    (True, False, False)
    """
    return _WAVE.match(stream) is not None


@dataclass(frozen=True, slots=True)
class OwnEvent:
    """An event of an extra; only the extra knows more of it. It never moves an incident."""


Event: TypeAlias = IncidentEvent | HouseEvent | OwnEvent
Body: TypeAlias = dict[str, Any]
Lift: TypeAlias = Callable[[Body], Body]

INCIDENT_EVENTS: tuple[type[Any], ...] = get_args(IncidentEvent)
HOUSE_EVENTS: tuple[type[Any], ...] = get_args(HouseEvent)
EVENTS: Mapping[str, type[Any]] = {event.__name__: event for event in (*INCIDENT_EVENTS, *HOUSE_EVENTS)}
WAVES = "waves"  # the extra to which an incident may be tied
OF_WAVES = (
    "WaveProposed",
    "WaveEndorsed",
    "WaveApproved",
    "WaveDeclined",
    "TurnGiven",
    "TurnEnded",
    "WaveStopped",
    "WaveResumed",
    "WaveEnded",
)
# The kinds of the extras' entries: without the extra they are stepped over, and no other unknown kind is.
OF_HOUSE: Mapping[str, str] = {  # in the stream `house`
    **dict.fromkeys(
        (
            "CaptureAsked",
            "CaptureApproved",
            "CaptureStarting",
            "CaptureBegan",
            "SymptomCaught",
            "CaptureStopping",
            "CaptureEnded",
        ),
        "captures",
    ),
    **dict.fromkeys(("VerdictMarked", "CauseLookedAt", "CauseDoubted"), "marks"),
}
OF_EXTRAS: Mapping[str, str] = {**OF_HOUSE, **dict.fromkeys(OF_WAVES, WAVES)}
ANCHORED = frozenset(  # in `house` at once
    (*(event.__name__ for event in (AlertReceived, Endorsed, Approved, StepStarted)), *OF_WAVES)
)

FORMS: Mapping[str, int] = {}  # kinds whose form is above 1
LIFTS: Mapping[tuple[str, int], Lift] = {}  # (kind, form) → makes a body of that form into a body of the next


def kind_of(event: Event) -> str:
    """Return the event's name, as an entry stores it."""
    return type(event).__name__


def body_of(event: Event, forms: Mapping[str, int] = FORMS) -> Body:
    """Return the event as a JSON object; its `form` is the number of its form."""
    return {"form": forms.get(kind_of(event), 1), **to_json_types(event)}


def event_of(
    kind: str,
    body: Mapping[str, Any],
    forms: Mapping[str, int] = FORMS,
    lifts: Mapping[tuple[str, int], Lift] = LIFTS,
    events: Mapping[str, type[Any]] = EVENTS,
) -> Event:
    """Return the event of a body; of an extra's, only that it is one, where `events` do not have its kind.

    Raises: UnreadableEntry when this program does not know the kind or its form, or the body is malformed.
    """
    event, form = events.get(kind), body.get("form")
    if event is None and kind in OF_EXTRAS:
        return OwnEvent()
    if event is None or not isinstance(form, int) or form > forms.get(kind, 1):
        raise UnreadableEntry(
            f"An entry of kind {kind!r}, form {form!r}, is not known to this program.",
            "A newer version may have written it.",
        )
    lifted = dict(body)
    try:
        for number in range(form, forms.get(kind, 1)):
            lifted = lifts[kind, number](lifted)
        found: Event = read(event, lifted)
    except (NotOfForm, KeyError) as error:
        raise UnreadableEntry(f"An entry of kind {kind} is malformed: {error}.") from error
    return found


def canonical_body(body: Mapping[str, Any]) -> str:
    """Return a body as the text that is stored and hashed: sorted keys, no spaces, only ASCII."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
