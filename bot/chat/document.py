"""What a chat shows, without any chat's markup: documents of blocks, and dialogs. The surface of a chat draws them.

No words in them are ever markup: neither a node's, nor an alert's, nor a person's, nor the bot's own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.domain.core_heat import CoreHeat
from bot.domain.safe_text import safe
from bot.view.words import Bold, Person, Sentence, Styled, in_chat

TEXT = 3000  # characters of a document's text; screen readers and phones take it whole
BUTTON = OPTION = 75  # characters of a button's words, and of a menu's entry
MOST_OPTIONS = 100
FOLDED = 5000  # characters of a fold


Pieces: TypeAlias = tuple[Styled, ...]


@dataclass(frozen=True, slots=True)
class Title:
    """A large line."""

    words: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words; one that is `whole` is never shortened."""

    words: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence that may show people, instants and links."""

    pieces: Pieces


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of sentences, under a bold title where it has one."""

    items: tuple[Pieces, ...]
    title: str = ""
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class BlockGroup:
    """Lines and lists as one block."""

    parts: tuple[Line | Listing, ...]


@dataclass(frozen=True, slots=True)
class SmallPrint:
    """Small print."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """A node's own lines, or commands, as they are and never shortened."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Words that are hidden under a title until somebody opens it."""

    title: str
    words: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Shape: rows that find no room are counted, with `more`, a command that shows them. `sortable`: people can sort and
    page through it; None: only one of many rows.
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    more: str = ""
    sortable: bool | None = None


@dataclass(frozen=True, slots=True)
class CoreLoadStrip:
    """The load of cores; on an incident's card a picture may replace the strip."""

    heat: CoreHeat
    incident: str = ""

    @property
    def name(self) -> str:
        """The name of the drawing: a new reading gets a new name and picture."""
        spans = [f"{span:.3f}" for span in self.heat.spans]
        shown = repr((self.heat.what, self.heat.hot, self.heat.cores, spans, self.heat.percents))
        return f"{self.incident}-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Button:
    """A button: its action with a value, and its own name where several of a row have the same action."""

    words: str
    action: str
    value: str
    style: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Menu:
    """A menu of which one entry may be chosen: its words, and the value that it stands for."""

    action: str
    placeholder: str
    options: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ButtonRow:
    """Buttons and menus side by side; `name` comes with their clicks."""

    items: tuple[Button | Menu, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """The record's head, which an audit finds again; no node or alert can forge it."""

    head: str


@dataclass(frozen=True, slots=True)
class IfRoom:
    """A block that is left out where there is no room for it."""

    block: CoreLoadStrip | Listing


_Words: TypeAlias = Title | Paragraph | Line | Listing | BlockGroup | SmallPrint | Lines | Fold
Block: TypeAlias = _Words | Table | CoreLoadStrip | ButtonRow | Record | IfRoom
Fits: TypeAlias = Callable[[Sequence[Block]], bool]


@dataclass(frozen=True, slots=True)
class Document:
    """What is posted: the whole story in `text`, and the blocks that show it.

    Shape: `broadcast`: a reply in a thread that the channel sees too.
    """

    text: Pieces | str
    blocks: tuple[Block, ...] = ()
    broadcast: bool = False


@dataclass(frozen=True, slots=True)
class Dialog:
    """What a dialog shows, with the input for a reason between `blocks` and `small`.

    Shape: without `asks`, the input's own hint, there is none, and nothing can be sent. `focus`: the cursor is in it;
    `label` stands above it.
    """

    title: str
    submit: str
    blocks: tuple[Block, ...]
    asks: str = ""
    small: tuple[Block, ...] = ()
    focus: bool = False
    label: str = "Reason"


def clipped(text: str, limit: int) -> str:
    """Return text of at most `limit` characters, with an ellipsis where it was longer."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def plain_document(words: str, *blocks: Block) -> Document:
    """Return a document that says this, above its other blocks."""
    return Document(words, (Paragraph(words), *blocks))


def line(*pieces: Styled) -> Line:
    """Return a line of these pieces."""
    return Line(pieces)


def bullets(rows: Iterable[tuple[str, str]]) -> Listing:
    """Return a list of (bold word, sentence)."""
    return Listing(tuple((Bold(f"{word}: "), words) if word else (words,) for word, words in rows))


def small(*texts: str, limit: int = 2000) -> Iterator[SmallPrint]:
    """Yield small print; empty texts are left out."""
    if words := tuple(clipped(text, limit) for text in texts if text.strip()):
        yield SmallPrint(words)


def folded(title: str, words: str) -> Iterator[Fold]:
    """Yield words folded under a title; long texts in several folds."""
    text = safe(words).strip() or "nothing"
    for number, at in enumerate(range(0, len(text), FOLDED), 1):
        more = f", continued ({number})" if number > 1 else ""
        yield Fold(f"{clipped(title, 120)}{more}", text[at : at + FOLDED])


def paged(blocks: Sequence[Block], fits: Fits) -> Iterator[tuple[Block, ...]]:
    """Split blocks into documents that each fit; nothing is left out."""
    page: list[Block] = []
    if not fits(blocks):
        for block in blocks:
            if page and not fits([*page, block]):
                yield tuple(page)
                page = []
            page.append(block)
    if page or blocks:
        yield tuple(page or blocks)


def asked_by(by: str) -> Iterator[Line]:
    """Yield who asked, if that is a person of a chat."""
    if in_chat(by):
        yield line("Asked by ", Person(by))


def with_people(words: str, people: Iterable[str], limit: int) -> Sentence:
    """Return a sentence in which these people, named as in the record, are shown as people."""
    text, named = clipped(safe(words), limit), sorted(by for by in people if by)
    if not named:
        return (text,)
    parts = re.split(f"({'|'.join(map(re.escape, named))})", text)
    return tuple(Person(part) if part in named else part for part in parts if part)
