"""Documents as Adaptive Cards 1.5, within the limits that every message keeps. Pure functions.

Teams reads Markdown in a TextBlock, so words stand in RichTextBlocks, which the vendor's renderer shows as they are but
for `{{DATE(…)}}` and `{{TIME(…)}}`; as that was not seen in Teams itself, what would be a link or a mention in Markdown
is broken by a character without width, like those. https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from bot.chat.blocks import CHECK_AGAIN, CHECK_MEANT, REPORT
from bot.chat.dialog import LONGEST, LONGEST_REASON
from bot.chat.document import (
    BUTTON,
    MOST_OPTIONS,
    OPTION,
    TEXT,
    Block,
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
    Record,
    SmallPrint,
    Table,
    Title,
    clipped,
)
from bot.chat.drawing import CELL, SPARE, Drawing, Element, MessageRoom
from bot.chat.service import Message, texts_in
from bot.domain.safe_text import one_line, safe
from bot.surfaces.teams.settings import teams_user
from bot.view.heat_strip import heat_strip
from bot.view.standing import PICK
from bot.view.words import Bold, Channel, Code, Group, Link, Person, Styled, plain

LARGEST = 40_000  # characters of JSON, as UTF-16 80 KB; Teams refuses a message of 100 KB
COLUMNS = 41  # the widest line of fixed letters that a phone does not wrap
WIDTH = 46  # of buttons side by side, in letters
CARD = "application/vnd.microsoft.card.adaptive"
VERB = "zombie"
ACTION, VALUE, ROW, CHOSEN, HOME = "a", "v", "b", "p", "h"  # what a button brings back
SEALED, OPENED, REASON = "sealed", "opened", "reason"  # what a dialog brings back
PERSON = "person"  # marks the name of a person or a team, which is filled in when the card is sent
# They open no dialog, so Teams need not open a frame for one.
_QUICK = frozenset((CHECK_AGAIN, CHECK_MEANT, REPORT, PICK))
_STYLES = {"primary": "positive", "danger": "destructive"}
_TEAM = re.compile(r"teams:(19:[\w-]+@thread\.tacv2)\Z", re.ASCII)
_BREAKS = re.compile(r"(?<=\])(?=\()|(?<=<)(?=/?at\b)|(?<=\w:)(?=//)|(?<=\{)(?=\{(?:DATE|TIME)\()", re.IGNORECASE)
_BREAK = "\u200b"
_LONG = re.compile(r"(\S{36})(?=\S)")  # in small print: a digest would be wider than a phone


def card(body: Sequence[Element], actions: Sequence[Element] = ()) -> dict[str, Any]:
    """Return a card as an attachment."""
    content: dict[str, Any] = {"type": "AdaptiveCard", "version": "1.5", "body": list(body)}
    content |= {"actions": list(actions)} if actions else {}
    return {"contentType": CARD, "content": {**content, "msteams": {"width": "Full"}}}


def dialog_task(dialog: Dialog, sealed: str, opened: str, error: str = "") -> dict[str, Any]:
    """Return the dialog that asks for a reason; it brings back what is sealed. `error` is why it was not taken."""
    body = DRAWING.all(dialog.blocks)
    body += _lines(error, color="attention") if error else ()
    if dialog.asks:
        typed = {"type": "Input.Text", "id": REASON, "isMultiline": True, "maxLength": LONGEST_REASON}
        says = {"label": f"{dialog.label} (it goes on record with your name)", "placeholder": dialog.asks}
        body.append({**typed, **says, "isRequired": True, "errorMessage": "A decision needs a reason."})
    body += DRAWING.all(dialog.small)
    data = {SEALED: sealed, OPENED: opened}
    send = {"type": "Action.Submit", "title": dialog.submit, "style": "positive", "data": data}
    shown = {"title": dialog.title, "width": "large", "height": "large", "card": card(body, [send] * bool(dialog.asks))}
    return {"type": "continue", "value": shown}


def with_home(elements: Sequence[Element], sealed: str) -> tuple[Element, ...]:
    """Return the elements of a home, whose buttons bring back what is sealed."""

    def marked(each: Element) -> Element:
        return {**each, "data": {**each["data"], HOME: sealed}}

    return tuple(
        {**each, "actions": list(map(marked, each["actions"]))} if _is_pressed(each) else each for each in elements
    )


def people_in(part: Any) -> set[str]:
    """Return the ids of the people and teams whose names a message needs."""
    if isinstance(part, Mapping):
        return ({part[PERSON]} if PERSON in part else set[str]()).union(*map(people_in, part.values()))
    return set[str]().union(*map(people_in, part)) if isinstance(part, list | tuple) else set()


def has_buttons(message: Message) -> bool:
    """True for a message that somebody can press something on."""
    return any(map(_is_pressed, message.blocks))


def _is_pressed(element: Element) -> bool:
    return element["type"] == "ActionSet" and "data" in element["actions"][0]


def named(part: Any, names: Mapping[str, str]) -> Any:
    """Return a part of a message with the names of people and teams in it."""
    if isinstance(part, Mapping):
        shown = {key: named(inner, names) for key, inner in part.items() if key != PERSON}
        return shown | ({"text": break_markup(name)} if (name := names.get(part.get(PERSON, ""))) else {})
    return [named(inner, names) for inner in part] if isinstance(part, list | tuple) else part


def message_text(message: Message) -> str:
    """Return a message as text alone."""
    said = [message.text, *(text for block in message.blocks for text in texts_in(block))]
    return clipped(break_markup("\n".join(dict.fromkeys(said))), TEXT)


# --- words


def break_markup(text: str) -> str:
    """Return text in which nothing is a link, a mention or a date to format, should somebody read it as markup.

    Example:
    >>> [part for part in break_markup("[ok](https://x) <at>all</at>").split(chr(0x200B))]
    ['[ok]', '(https:', '//x) <', 'at>all<', '/at>']
    """
    return _BREAKS.sub(_BREAK, safe(text))


def _text_run(words: str, **style: Any) -> dict[str, Any]:
    text = _LONG.sub(rf"\1{_BREAK}", break_markup(words)) if "isSubtle" in style else break_markup(words)
    return {"type": "TextRun", "text": text or " ", **style}


def _rich(runs: Sequence[Element], **more: Any) -> Element:
    return {"type": "RichTextBlock", "inlines": list(runs), **more}


def _lines(words: str, **style: Any) -> list[Element]:
    """Words in an element for each line: a run of text shows no line break."""
    return [
        _rich([_text_run(each, **style)], **({"spacing": "none"} if at else {}))
        for at, each in enumerate(words.split("\n"))
    ]


def _monospace(lines: Iterable[str], name: str = "") -> Element:
    """A node's lines, or commands, in letters of one width; blanks that stand together would be one."""
    runs = [_text_run(safe(each).replace("  ", "\u00a0\u00a0"), fontType="monospace", size="small") for each in lines]
    items = [_rich([run], spacing="none") for run in runs]
    return {"type": "Container", "style": "emphasis", "items": items} | ({"id": name} if name else {})


def _piece(piece: Styled) -> Element:
    match piece:
        case Person(by=by):
            user = teams_user(by)
            return _text_run(one_line(by, 140), **({PERSON: user, "weight": "bolder"} if user else {}))
        case Bold(words=words):
            return _text_run(_as_typed_in_teams(words), weight="bolder")
        case Code(words=words) | Channel(id=words):
            return _text_run(words, fontType="monospace")
        case Group(id=group):  # until its name is known: a channel's id tells a person nothing
            is_team = {PERSON: found[1]} if (found := _TEAM.match(group)) else {}
            return _text_run("everybody in the approvers' team ([policy] approver_groups)", **is_team)
        case Link(words=words, address=address):
            opens = {"type": "Action.OpenUrl", "url": address}
            return _text_run(clipped(one_line(words, 75), 75), selectAction=opens, color="accent")
    return _text_run(plain((piece,)))


def _as_typed_in_teams(words: str) -> str:
    """Return what people type: the bot's own words say it as in a chat with slash commands."""
    return f"@{words[1:]}" if words.startswith("/zombie") else words


def _list_elements(part: Line | Listing) -> Iterator[Element]:
    if isinstance(part, Line):
        yield _rich([_piece(piece) for piece in part.pieces])
        return
    if part.title:
        yield _rich([_text_run(part.title, weight="bolder")])
    for number, item in enumerate(part.items, 1):
        sign = f"{number}. " if part.ordered else "• "
        yield _rich([_text_run(sign), *map(_piece, item)], spacing="small")


# --- elements


def _elements(shown: Block) -> Iterator[Element]:
    match shown:
        case Title(words=words):
            yield _rich([_text_run(clipped(words, 150), size="large", weight="bolder")])
        case Paragraph(words=words, whole=whole):
            yield from _lines(words if whole else clipped(words, TEXT))
        case Line() | Listing():
            yield from _list_elements(shown)
        case BlockGroup(parts=parts):
            yield {"type": "Container", "items": [each for part in parts for each in _list_elements(part)]}
        case SmallPrint(texts=texts):
            yield from (each for text in texts for each in _lines(clipped(text, 2000), isSubtle=True, size="small"))
        case Lines(lines=lines):
            yield _monospace(lines)
        case Fold(title=title, words=words):
            name = f"fold-{sha256(repr((title, words)).encode()).hexdigest()[:12]}"
            toggle = {"type": "Action.ToggleVisibility", "title": f"▸ {safe(title)}", "targetElements": [name]}
            yield {"type": "ActionSet", "actions": [toggle]}
            yield {**_monospace(words.split("\n"), name), "isVisible": False}
        case CoreLoadStrip(heat=heat):
            yield _monospace([*(row.replace(" ", "\u00a0") for row in heat_strip(heat, COLUMNS)), heat.words])
        case ButtonRow(items=items, name=name):
            yield from _controls(items, name)
        case Record(head=head):
            yield _rich([_text_run(f"record {head}", isSubtle=True, size="small")])


def _controls(items: Sequence[Button | Menu], name: str) -> Iterator[Element]:
    """Menus above, buttons below: what is chosen is sent by a button of its own."""
    actions = list[Element]()
    for item in items:
        if isinstance(item, Button):
            actions.append(_button(item, name))
            continue
        chosen, words = f"{item.action}-{name}", safe(item.placeholder)
        choices = [{"title": one_line(each, OPTION) or "?", "value": value} for each, value in item.options]
        yield {"type": "Input.ChoiceSet", "choices": choices[:MOST_OPTIONS], "id": chosen, "placeholder": words}
        actions.append(_action(clipped(words, BUTTON), item.action, {ROW: name, CHOSEN: chosen}))
    yield from _action_sets(actions)


def _action_sets(actions: Iterable[Element]) -> Iterator[Element]:
    """Buttons side by side, as many as a phone shows whole."""
    row = list[Element]()
    for action in actions:
        if row and sum(len(each["title"]) + 5 for each in (*row, action)) > WIDTH:
            yield {"type": "ActionSet", "actions": row}
            row = []
        row.append(action)
    yield {"type": "ActionSet", "actions": row}


def _button(button: Button, row: str) -> Element:
    data = {VALUE: button.value, ROW: row}
    drawn = _action(clipped(safe(button.words), BUTTON), button.action, data, button.name)
    styled = {"style": _STYLES[button.style]} if button.style in _STYLES else {}
    return {**drawn, "associatedInputs": "none", **styled}


def _action(words: str, action: str, data: Mapping[str, str], name: str = "") -> Element:
    data = {ACTION: name or action, **data}
    if action in _QUICK or name.startswith(CHECK_MEANT):
        return {"type": "Action.Execute", "title": words, "verb": VERB, "data": data}
    return {"type": "Action.Submit", "title": words, "data": {**data, "msteams": {"type": "task/fetch"}}}


def _table(table: Table, rows: Sequence[Sequence[str]]) -> Element:
    drawn = [{"type": "TableRow", "cells": [_cell(word, bold=not at) for word in row]} for at, row in enumerate(rows)]
    return {"type": "Table", "columns": [{"width": 1} for _ in table.heading], "rows": drawn}


def _cell(word: str, *, bold: bool) -> Element:
    run = _text_run(one_line(word, CELL), size="small", **({"weight": "bolder"} if bold else {}))
    return {"type": "TableCell", "items": [_rich([run])]}


def _text_of(document: Document) -> str:
    text = document.text
    return safe(text if isinstance(text, str) else plain(text))


class TeamsDrawing(Drawing):
    """Documents as Teams shows them."""

    message = MessageRoom(LARGEST, LARGEST)
    dialog = MessageRoom(LARGEST, LARGEST - LONGEST - 2 * SPARE)  # beside what is sealed, and the reason's input
    text, elements, table = staticmethod(_text_of), staticmethod(_elements), staticmethod(_table)


DRAWING = TeamsDrawing()
draw, fits, added = DRAWING.draw, DRAWING.fits, DRAWING.added
