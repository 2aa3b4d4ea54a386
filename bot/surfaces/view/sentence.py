"""A sentence that names people and instants, so that each surface can show them in its own way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from bot.domain.alert import is_who
from bot.domain.safe_text import one_line


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, as the record names them: `slack:T024/U123`, `terminal:ann`."""

    by: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group of approvers, as the policy names it: `slack:S024`."""

    id: str


@dataclass(frozen=True, slots=True)
class Instant:
    """A point in time; `exact` shows the seconds too."""

    at: datetime
    exact: bool = False


Piece: TypeAlias = str | Person | Group | Instant
Sentence: TypeAlias = tuple[Piece, ...]


def plain(sentence: Sentence) -> str:
    """Return a sentence as plain text.

    Example:
    >>> plain(("Approved by ", Person("terminal:ann"), "."))
    'Approved by terminal:ann.'
    """
    return "".join(_plain(piece) for piece in sentence)


def joined(sentences: Iterable[Sentence]) -> Sentence:
    """Return sentences as one, with a blank between them; empty ones are left out."""
    pieces: list[Piece] = []
    for sentence in sentences:
        if sentence:
            pieces += [" "] * bool(pieces) + list(sentence)
    return tuple(pieces)


def led_by_person(words: str) -> Sentence:
    """Return a sentence of the record; a person whom it begins with is shown as one.

    Example:
    >>> led_by_person("slack:T024/U123 called it off.")
    (Person(by='slack:T024/U123'), ' called it off.')
    >>> led_by_person("The node is gone.")
    ('The node is gone.',)
    """
    by, space, rest = words.partition(" ")
    if is_who(by) and ":" in by:
        return (Person(by), space + rest)
    return (words,) if words else ()


def stopped(words: str) -> str:
    """Return a sentence of the record with a full stop, where it has none; nothing stays nothing.

    Example:
    >>> stopped("It is too late"), stopped("Is it?"), stopped("")
    ('It is too late.', 'Is it?', '')
    """
    return words if not words or words[-1] in ".!?…”" else f"{words}."


def utc(at: datetime) -> str:
    """Return an instant as `09:45 UTC`."""
    return f"{at:%H:%M} UTC"


def _plain(piece: Piece) -> str:
    match piece:
        case Person(by=by):
            return one_line(by, 140)
        case Group(id=group):
            return f"group {one_line(group, 60)}"
        case Instant(at=at):
            return utc(at)
    return piece
