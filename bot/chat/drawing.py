"""A document within the limits of a chat's messages: the same for each chat, which says what it makes of a block."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from bot.chat.document import TEXT, Block, Document, IfRoom, SmallPrint, Table, clipped
from bot.chat.service import Message, message_of

Element: TypeAlias = Mapping[str, Any]

ROWS, CELL = 100, 120  # of a table, and characters of a cell
SPARE = 500  # characters of JSON beside a table of which rows are left out


class MessageRoom(NamedTuple):
    """What a message, or a dialog, may hold: so many elements, and characters of their JSON."""

    elements: int
    characters: int


class Drawing(ABC):
    """How a chat draws documents; `message` and `dialog` say how much each of them may hold."""

    message: MessageRoom
    dialog: MessageRoom

    @abstractmethod
    def text(self, document: Document) -> str:
        """Return a document's words, which are read where the chat shows no blocks."""

    @abstractmethod
    def elements(self, shown: Block) -> Iterable[Element]:
        """Return what a block becomes."""

    @abstractmethod
    def table(self, table: Table, rows: Sequence[Sequence[str]]) -> Element:
        """Return a table of these rows, the heading among them."""

    def draw(self, document: Document) -> Message:
        """Return a message: what has to be there whole, then as many rows of tables, and of the rest, as fit."""
        drawn = [[] if isinstance(block, IfRoom | Table) else self.all([block]) for block in document.blocks]
        for at, block in enumerate(document.blocks):
            stands = list(chain.from_iterable(drawn))
            if isinstance(block, Table):
                drawn[at] = self._table_that_fits(block, self.message.characters - sum(map(length, stands)))
            elif isinstance(block, IfRoom) and _fits_room(self.message, [*stands, *(whole := self.all([block]))]):
                drawn[at] = whole
        return Message(clipped(self.text(document), TEXT), tuple(chain.from_iterable(drawn)), document.broadcast)

    def fits(self, blocks: Sequence[Block], *, dialog: bool = False) -> bool:
        """True where a message, or a dialog, shows all of it and cuts nothing."""
        are_whole = all(len(block.rows) <= ROWS for block in blocks if isinstance(block, Table))
        return are_whole and _fits_room(self.dialog if dialog else self.message, self.all(blocks))

    def added(self, content: Mapping[str, Any], blocks: Sequence[Block]) -> Message | None:
        """Return a message of the outbox with these blocks at its end, once; None where there is no room."""
        stands = message_of(content)
        both = (*stands.blocks, *(each for each in self.all(blocks) if each not in stands.blocks))
        return replace(stands, blocks=both) if _fits_room(self.message, both) else None

    def all(self, blocks: Iterable[Block]) -> list[Element]:
        """Return these blocks drawn, none of them left out."""
        drawn = list[Element]()
        for block in blocks:
            if isinstance(block, Table):
                drawn += self._table_that_fits(block, sys.maxsize)
            else:
                drawn += self.elements(block.block if isinstance(block, IfRoom) else block)
        return drawn

    def _table_that_fits(self, table: Table, room: int) -> list[Element]:
        """Return a table of the rows that fit into so many characters, at least one, and how many do not."""
        rows = [table.heading, *table.rows[:ROWS]]
        if length(block := self.table(table, rows)) > room:
            while length(block := self.table(table, rows)) > room - SPARE and len(rows) > 2:
                del rows[max(2, len(rows) * 9 // 10) :]
        left = len(table.rows) - len(rows) + 1
        says = f"And {left:,} more: {table.more}" if table.more else f"And {left:,} more"
        return [block, *(self.elements(SmallPrint((says,))) if left else ())]


def length(element: Element) -> int:
    """Return an element's share of a chat's limit: its JSON, not only its words."""
    return len(json.dumps(element, ensure_ascii=False, separators=(",", ":"))) + 1


def _fits_room(room: MessageRoom, elements: Sequence[Element]) -> bool:
    return len(elements) <= room.elements and sum(map(length, elements)) <= room.characters
