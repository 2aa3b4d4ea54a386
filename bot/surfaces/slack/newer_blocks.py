"""Blocks of newer kinds, which not every workspace accepts, and their older forms; tables are among them.

Tables: people can sort and page through the newer kind. Limits:
https://docs.slack.dev/reference/block-kit/blocks/data-table-block (101 rows) and …/table-block (100).
Questions with two answers: `feedback_buttons` have their own kind of block, and work in messages only:
https://docs.slack.dev/reference/block-kit/blocks/context-actions-block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bot.domain.safe_text import one_line
from bot.surfaces.slack.blocks import MOST_OPTIONS, OPTION, button, menu, option, row
from bot.surfaces.slack.message import Block, Message, clipped, has_folds, length, unfolded
from bot.surfaces.view.context import ClosingQuestion
from bot.surfaces.view.view import GroupView

ROWS = 100  # without the heading; the older kind counts the heading too
CELL = 120
PAGE = 10
FEW = 10  # rows of the older kind, which wraps its cells
_KIND, _PLAIN_KIND = "data_table", "table"
_ANSWERS = "context_actions"


def has_newer_blocks(message: Message) -> bool:
    """True for a message with blocks that a workspace may refuse."""
    return has_folds(message) or any(block.get("type") in (_KIND, _ANSWERS) for block in message.blocks)


def in_older_blocks(message: Message) -> Message:
    """Return the message in blocks that every workspace accepts."""
    plain = unfolded(message) if has_folds(message) else message
    return replace(plain, blocks=tuple(map(_older_answers, map(_plain, plain.blocks))))


def question_blocks(group: GroupView, question: ClosingQuestion) -> Iterator[Block]:
    """Yield a question about a card's verdicts: for a single node two buttons, for several two menus that name them."""
    about = [
        view for view in group.incidents if view.id and view.verdict is not None and question.is_about(view.verdict)
    ]
    if not about:
        return
    answers = question.yes, question.no
    if len(group.incidents) > 1:
        nodes = [(clipped(one_line(view.node, OPTION), OPTION) or view.id, view.id) for view in about[:MOST_OPTIONS]]
        menus = [
            menu(f"{question.action}-{word}", f"{label} on …", [option(node, f"{word}-{name}") for node, name in nodes])
            for word, label in answers
        ]
        yield row(menus)
        return
    yes, no = (option(label, f"{word}-{about[0].id}") for word, label in answers)
    buttons = {"type": "feedback_buttons", "action_id": question.action, "positive_button": yes, "negative_button": no}
    yield {"type": _ANSWERS, "elements": [buttons]}


def _older_answers(block: Block) -> Block:
    """Return a question as two buttons of the older kind; the name of each ends with its answer's word."""
    if block.get("type") != _ANSWERS:
        return block
    sides = [
        (element["action_id"], element[side])
        for element in block["elements"]
        for side in ("positive_button", "negative_button")
    ]
    return row(
        [
            button(side["text"]["text"], action, side["value"], action_id=f"{action}-{side['value'].partition('-')[0]}")
            for action, side in sides
        ]
    )


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


def _plain(block: Block) -> Block:
    if block.get("type") != _KIND:
        return block
    return _wrapped(block["rows"][:ROWS])


def wrapped_table(rows: Sequence[Sequence[str]]) -> Block:
    """Return a table of the older kind, whose cells are wrapped; the first row is the heading."""
    return _wrapped([[_cell(word) for word in row] for row in rows])


def _wrapped(rows: Sequence[Sequence[Mapping[str, str]]]) -> Block:
    return {"type": _PLAIN_KIND, "rows": list(rows), "column_settings": [{"is_wrapped": True}] * len(rows[0])}
