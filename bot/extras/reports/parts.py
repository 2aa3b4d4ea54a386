"""What a report consists of: sections of sentences, points, tables, lines and pictures; no markup of any kind.

Sentences and a node's lines are those of a card; a report adds what no chat shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bot.chat.document import Line, Lines
from bot.seats import Picture
from bot.view.words import Sentence


@dataclass(frozen=True, slots=True)
class Point:
    """A list item: what it is about, a sentence, and lines that were printed or are to be typed."""

    about: str
    words: Sentence = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Points:
    """A list; `to_do`: each item is something that a person has to do."""

    points: tuple[Point, ...]
    to_do: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: its headings, and rows with as many cells."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Sentence, ...], ...]


ReportPart: TypeAlias = Line | Points | Grid | Lines | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its content; a page shows one that is `folded` when it is asked for."""

    title: str
    parts: tuple[ReportPart, ...]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A whole report: its headline, a line about it, and its sections; empty sections are left out."""

    headline: str
    about: str
    sections: tuple[Section, ...]


def paragraph(text: str) -> Line:
    """Return plain words as a paragraph."""
    return Line((text,))


def cells(*texts: str) -> tuple[Sentence, ...]:
    """Return plain words as the cells of a row."""
    return tuple((text,) for text in texts)
