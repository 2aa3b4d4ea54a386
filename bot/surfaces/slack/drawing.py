"""Documents in Slack's blocks, within the limits that every message keeps. Pure functions.

Limits: the Block Kit reference, and what Slack refuses beyond it (13,000 characters in all). Words are plain text or
rich text, which is never parsed: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
Tables that people can sort, and folds, are of newer kinds, which not every workspace accepts:
https://docs.slack.dev/reference/block-kit/blocks/data-table-block (101 rows), …/table-block (100),
and …/container-block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from bot.chat.dialog import LONGEST_REASON
from bot.chat.document import (
    BUTTON,
    MOST_OPTIONS,
    OPTION,
    TEXT,
    BlockGroup,
    Button,
    ButtonRow,
    CoreLoadStrip,
    Dialog,
    Document,
    Fold,
    Line,
    Lines,
    Listing,
    Menu,
    Paragraph,
    Pieces,
    Record,
    SmallPrint,
    Table,
    Title,
    clipped,
)
from bot.chat.document import Block as Shown
from bot.chat.drawing import CELL, ROWS, Drawing, MessageRoom
from bot.chat.service import Message, texts_in
from bot.domain.alert import SLACK
from bot.domain.safe_text import one_line, safe
from bot.view.heat_strip import heat_strip
from bot.view.words import Bold, Channel, Code, Group, Instant, Link, Person, Styled, plain

Block: TypeAlias = Mapping[str, Any]

BLOCKS, DIALOG_BLOCKS = 50, 90  # a dialog may have 100
ALL_BLOCKS, DIALOG = 12_000, 150_000  # JSON of all blocks; Slack answers msg_blocks_too_long at 13,200, views of 250 kB
HEADER, SECTION, PIECES, RICH, LISTED = 150, 3000, 10, 2500, 1500
PAGE, FEW = 10, 10  # rows of tables; the kind for few rows wraps its cells
REASON, RECORD, CONTAINER = "reason", "record", "container"
HEAT, PICTURE = "heat-", "picture-"  # prefixes of block ids, which never contain words of a node or an alert
COLUMNS = 41  # the widest preformatted line that a phone does not wrap
_TABLE, _PLAIN_TABLE = "data_table", "table"
_USER = re.compile(r"[UW][A-Z0-9]{1,30}\Z")
INVITE = (
    "I may not write in this channel, so only you see this. "
    "/invite me and ask again to have it as a card, with its details."
)


def dialog_view(dialog: Dialog, sealed: str) -> dict[str, Any]:
    """Return the view of a dialog for a reason."""
    blocks = DRAWING.all(dialog.blocks)
    if dialog.asks:
        typed = {"type": "plain_text_input", "action_id": REASON, "multiline": True, "max_length": LONGEST_REASON}
        typed |= {"placeholder": plain_text(dialog.asks), "focus_on_load": dialog.focus}
        hint = plain_text("It goes on record with your name.")
        label = {"type": "input", "block_id": REASON, "label": plain_text(dialog.label)}
        blocks.append({**label, "hint": hint, "element": typed})
    blocks += DRAWING.all(dialog.small)
    view: dict[str, Any] = {"type": "modal", "callback_id": REASON, "private_metadata": sealed}
    view |= {
        "title": plain_text(dialog.title),
        "close": plain_text("Cancel" if dialog.asks else "Close"),
        "blocks": blocks,
    }
    return view | ({"submit": plain_text(dialog.submit)} if dialog.asks else {})


def home_view(shown: Sequence[Shown]) -> dict[str, Any]:
    """Return the view of an App Home."""
    return {"type": "home", "blocks": DRAWING.all(shown)}


# --- words


def slack_user(by: str) -> str:
    """Return the Slack id of a person named as in the record; empty for people outside Slack.

    Example:
    >>> slack_user("slack:T024/U123"), slack_user("terminal:ann"), slack_user("slack:T024/<!here>")
    ('U123', '', '')
    """
    kind, _, name = by.partition(":")
    user = name.rpartition("/")[2]
    return user if kind == SLACK and _USER.match(user) else ""


def escaped(text: str) -> str:
    """Return text in which nothing is a mention, a link or an entity to Slack.

    Example:
    >>> escaped("<!channel> & <@U1>")
    '&lt;!channel&gt; &amp; &lt;@U1&gt;'
    """
    return safe(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _text_of(document: Document) -> str:
    text = document.text
    return marked_up((text,) if isinstance(text, str) else text)


def marked_up(sentence: Pieces) -> str:
    """Return a sentence as a message's text; its only markup is people's names, and channels'."""
    return "".join(map(_piece_markup, sentence))


def _piece_markup(piece: Styled) -> str:
    match piece:
        case Person(by=by):  # Slack's clients and screen readers turn the id into a name
            return f"<@{user}>" if (user := slack_user(by)) else escaped(one_line(by, 140))
        case Channel(id=channel) if channel.isalnum():
            return f"<#{channel}>"
    return escaped(plain((piece,)))


def plain_text(words: str) -> Block:
    """A text object in which nothing is markup; the words have to be safe already."""
    return {"type": "plain_text", "text": words, "emoji": False}


def _piece_element(piece: Styled) -> Block:
    match piece:
        case Person(by=by):
            user = slack_user(by)
            return {"type": "user", "user_id": user} if user else _text(one_line(by, 140))
        case Group(id=group):
            kind, _, name = group.partition(":")
            known = kind == SLACK and name.isalnum()
            return {"type": "usergroup", "usergroup_id": name} if known else _styled(one_line(group, 60), "code")
        case Instant(at=at, exact=exact, dated=dated):
            pattern = "{date_short_pretty} at {time}" if dated else "{time_secs}" if exact else "{time}"
            return {"type": "date", "timestamp": int(at.timestamp()), "format": pattern, "fallback": plain((piece,))}
        case Bold(words=words):
            return _styled(words, "bold")
        case Code(words=words):
            return _styled(words, "code")
        case Link(words=words, address=address):
            return {"type": "link", "url": address, "text": clipped(one_line(words, 75), 75)}
    return _text(plain((piece,)))


def _text(words: str) -> Block:
    return {"type": "text", "text": clipped(safe(words), LISTED) or " "}


def _styled(words: str, style: str) -> Block:
    return {**_text(words), "style": {style: True}}


# --- blocks


def _blocks(shown: Shown) -> Iterator[Block]:
    match shown:
        case Title(words=words):
            yield {"type": "header", "text": plain_text(clipped(safe(words), HEADER))}
        case Paragraph(words=words, whole=whole):
            said = safe(words) if whole else clipped(safe(words), SECTION)
            yield from (_section(said[at : at + SECTION]) for at in range(0, max(1, len(said)), SECTION))
        case Line() | Listing():
            yield _rich(*_elements(shown))
        case BlockGroup(parts=parts):
            yield _rich(*(element for part in parts for element in _elements(part)))
        case SmallPrint(texts=texts):
            for at in range(0, len(texts), PIECES):
                pieces = [plain_text(clipped(safe(text), 2000)) for text in texts[at : at + PIECES]]
                yield {"type": "context", "elements": pieces}
        case Lines(lines=lines):
            yield from map(_preformatted, _pieces_for_blocks(lines))
        case Fold(title=title, words=words):
            # A fold holds plain text: rich text is promised there, but some Slack clients refuse it.
            sections = [_section(words[at : at + RICH]) for at in range(0, len(words), RICH)]
            fold: Block = {"type": CONTAINER, "title": plain_text(safe(title)), "child_blocks": sections}
            yield {**fold, "is_collapsible": True, "default_collapsed": True, "width": "full"}
        case CoreLoadStrip(heat=heat, incident=incident):
            strip = _preformatted("\n".join([*map(safe, heat_strip(heat, COLUMNS)), safe(heat.words)]))
            yield {**strip, "block_id": f"{HEAT}{shown.name}"} if incident else strip
        case ButtonRow(items=items, name=name):
            row = {"type": "actions", "elements": [_item_element(item) for item in items]}
            yield {**row, "block_id": name} if name else row
        case Record(head=head):
            yield {"type": "context", "elements": [plain_text(f"{RECORD} {safe(head)}")], "block_id": RECORD}


def _section(words: str) -> Block:
    return {"type": "section", "text": plain_text(words or " ")}


def _rich(*elements: Block) -> Block:
    return {"type": "rich_text", "elements": list(elements)}


def _preformatted(text: str) -> Block:
    return _rich({"type": "rich_text_preformatted", "elements": [{"type": "text", "text": text or " "}]})


def _sentence(sentence: Pieces) -> Block:
    return {"type": "rich_text_section", "elements": [_piece_element(piece) for piece in sentence]}


def _elements(part: Line | Listing) -> Iterator[Block]:
    if isinstance(part, Line):
        yield _sentence(part.pieces)
        return
    if part.title:
        yield _sentence((Bold(part.title),))
    style = "ordered" if part.ordered else "bullet"
    yield {"type": "rich_text_list", "style": style, "elements": [_sentence(item) for item in part.items]}


def _pieces_for_blocks(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines in pieces that each fit a block; a line is only parted where it is longer than a block."""
    held = list[str]()
    for each in lines:
        whole = safe(each).replace("\n", " ")
        for at in range(0, max(1, len(whole)), RICH):
            piece = whole[at : at + RICH]
            if held and sum(map(len, held)) + len(held) + len(piece) > RICH:
                yield "\n".join(held)
                held = []
            held.append(piece)
    if held:
        yield "\n".join(held)


def _item_element(item: Button | Menu) -> Block:
    if isinstance(item, Button):
        text = plain_text(clipped(safe(item.words), BUTTON))
        button = {"type": "button", "text": text, "action_id": item.name or item.action, "value": item.value}
        return button | ({"style": item.style} if item.style else {})
    menu = {"type": "static_select", "action_id": item.action, "placeholder": plain_text(safe(item.placeholder))}
    return {**menu, "options": [_option(*each) for each in item.options[:MOST_OPTIONS]]}


def _option(words: str, value: str) -> Block:
    return {"text": plain_text(clipped(one_line(words, OPTION), OPTION) or "?"), "value": value}


def _table(table: Table, rows: Sequence[Sequence[str]]) -> Block:
    cells = [[_cell(word) for word in row] for row in rows]
    block: Block = {"type": _TABLE, "caption": one_line(table.caption, 200), "page_size": PAGE, "rows": cells}
    sortable = len(table.rows) > FEW if table.sortable is None else table.sortable
    return block if sortable else _older_block(block)


def _cell(word: str) -> Mapping[str, str]:
    return {"type": "raw_text", "text": one_line(word, CELL) or " "}


# --- pictures, and the record's heads


def shown_by(block: Block) -> str:
    """Return the name of the drawing that a block shows, as a strip or as a picture; empty for any other block."""
    name = str(block.get("block_id", ""))
    begins = next((begins for begins in (HEAT, PICTURE) if name.startswith(begins)), "")
    return name.removeprefix(begins) if begins else ""


def strips(message: Message) -> list[str]:
    """Return the names of the drawings that a message shows, as strips or as pictures."""
    return [name for block in message.blocks if (name := shown_by(block))]


def illustrated(message: Message, pictures: Mapping[str, tuple[str, str]]) -> Message:
    """Return the message with uploaded pictures in place of strips: by the strip's name, file and alt text."""
    blocks = []
    for block in message.blocks:
        if picture := pictures.get(name := shown_by(block)):
            image = {"type": "image", "slack_file": {"id": picture[0]}, "alt_text": picture[1]}
            block = {**image, "block_id": f"{PICTURE}{name}"}
        blocks.append(block)
    return replace(message, blocks=tuple(blocks))


def has_pictures(message: Message) -> bool:
    """True for a message with pictures that Slack has as files."""
    return any("slack_file" in block for block in message.blocks)


def record_heads(blocks: Iterable[Any]) -> Iterator[str]:
    """Yield the record's heads in a message of the bot."""
    for block in blocks:
        if isinstance(block, Mapping) and block.get("block_id") == RECORD and (elements := block.get("elements")):
            yield str(elements[0].get("text", "")).removeprefix(f"{RECORD} ")


# --- simpler forms, for when Slack refuses a message


def has_newer_blocks(message: Message) -> bool:
    """True for a message with blocks that a workspace may refuse."""
    return any(block.get("type") in (CONTAINER, _TABLE) for block in message.blocks)


def in_older_blocks(message: Message) -> Message:
    """Return the message in blocks that every workspace accepts; folds are open, as far as there is room."""
    blocks = list[Block]()
    for block in message.blocks:
        if block["type"] == CONTAINER:
            blocks += [_rich(_sentence((Bold(block["title"]["text"]),))), *block["child_blocks"]]
        else:
            blocks.append(_older_block(block))
    return replace(message, blocks=tuple(blocks[:BLOCKS]))


def _older_block(block: Block) -> Block:
    """Return a table as one whose cells are wrapped; any other block as it is."""
    if block["type"] != _TABLE:
        return block
    rows = block["rows"][:ROWS]
    return {"type": _PLAIN_TABLE, "rows": rows, "column_settings": [{"is_wrapped": True}] * len(rows[0])}


def without_blocks(message: Message) -> Message:
    """Return the message as text alone: all words that fit a text.

    A fence stops markup: in an edited text Slack would otherwise make words between asterisks bold.
    """
    said = [message.text, *(escaped(text) for block in message.blocks for text in texts_in(block))]
    text = "\n".join(dict.fromkeys(said)).replace("```", "'''")
    return Message(f"```{clipped(text, TEXT)}```", broadcast=message.broadcast)


def for_one_person(message: Message) -> Message:
    """Return the message for one person, where the bot may not write in the channel; it says how to invite the bot."""
    blocks = (*message.blocks[: BLOCKS - 1], _section(INVITE)) if message.blocks else ()
    return Message(f"{clipped(message.text, TEXT)}\n{INVITE}", blocks)


class SlackDrawing(Drawing):
    """Documents as Slack shows them."""

    message, dialog = MessageRoom(BLOCKS, ALL_BLOCKS), MessageRoom(DIALOG_BLOCKS, DIALOG)
    text, elements, table = staticmethod(_text_of), staticmethod(_blocks), staticmethod(_table)


DRAWING = SlackDrawing()
draw, fits, added = DRAWING.draw, DRAWING.fits, DRAWING.added
