"""Blocks of newer kinds, which not every workspace accepts, and their older forms; tables are among them.

Tables: people can sort and page through the newer kind. Limits:
https://docs.slack.dev/reference/block-kit/blocks/data-table-block (101 rows) and …/table-block (100).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.domain.safe_text import one_line
from bot.surfaces.slack.feedback import has_feedback, with_plain_feedback
from bot.surfaces.slack.message import Block, Message, has_folds, length, unfolded

ROWS = 100  # without the heading; the older kind counts the heading too
CELL = 120
PAGE = 10
FEW = 10  # rows of the older kind, which wraps its cells
_KIND, _PLAIN_KIND = "data_table", "table"


def has_newer_blocks(message: Message) -> bool:
    """True for a message with blocks that a workspace may refuse."""
    return _has_data_table(message) or has_feedback(message) or has_folds(message)


def in_older_blocks(message: Message) -> Message:
    """Return the message in blocks that every workspace accepts."""
    plain = unfolded(message) if has_folds(message) else message
    return with_plain_feedback(replace(plain, blocks=tuple(map(_plain, plain.blocks))))


def data_table(caption: str, heading: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> tuple[Block, int]:
    """Return a table of the rows that fit into so many characters, at least one, and how many these are.

    Words are plain text: nothing in a cell is a mention or a link.
    """
    told = [[_cell(word) for word in row] for row in (heading, *rows[:ROWS])]
    block: Block = {"type": _KIND, "caption": one_line(caption, 200), "page_size": PAGE, "rows": told}
    while len(told) > 2 and length(block) > room:
        del told[max(2, len(told) * 9 // 10) :]
    return block, len(told) - 1


def table_block(caption: str, heading: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> tuple[Block, int]:
    """Return a table like `data_table`; a table of few rows has the older kind, whose cells a phone wraps."""
    block, shown = data_table(caption, heading, rows, room)
    return (_plain(block), shown) if len(rows) <= FEW else (block, shown)


def _cell(word: str) -> Mapping[str, str]:
    return {"type": "raw_text", "text": one_line(word, CELL) or " "}


def _has_data_table(message: Message) -> bool:
    return any(block.get("type") == _KIND for block in message.blocks)


def _plain(block: Block) -> Block:
    if block.get("type") != _KIND:
        return block
    return _wrapped(block["rows"][:ROWS])


def wrapped_table(rows: Sequence[Sequence[str]]) -> Block:
    """Return a table of the older kind, whose cells are wrapped; the first row is the heading."""
    return _wrapped([[_cell(word) for word in row] for row in rows])


def _wrapped(rows: Sequence[Sequence[Mapping[str, str]]]) -> Block:
    return {"type": _PLAIN_KIND, "rows": list(rows), "column_settings": [{"is_wrapped": True}] * len(rows[0])}
