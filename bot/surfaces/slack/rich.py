"""Rich text: the kind of block that shows people and dates, and never takes a node's words for markup.

Format: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from bot.domain.safe_text import one_line, safe
from bot.surfaces.slack.member import SLACK
from bot.surfaces.slack.message import Block, clipped, escaped
from bot.surfaces.view.sentence import Group, Instant, Person, Piece, Sentence, plain, utc

LONGEST = 1500
_USER = re.compile(r"[UW][A-Z0-9]{1,30}\Z")


def text(words: str, limit: int = LONGEST) -> Block:
    """Words as they are."""
    return {"type": "text", "text": clipped(safe(words), limit) or " "}


def bold(words: str, limit: int = LONGEST) -> Block:
    """Words that stand out."""
    return {**text(words, limit), "style": {"bold": True}}


def code(words: str, limit: int = LONGEST) -> Block:
    """A name or a command among words."""
    return {**text(words, limit), "style": {"code": True}}


def date(at: datetime, pattern: str = "{time}") -> Block:
    """An instant, which each reader sees in their own local time."""
    return {"type": "date", "timestamp": int(at.timestamp()), "format": pattern, "fallback": utc(at)}


def slack_user(by: str) -> str:
    """Return the Slack id of a person as the record names them; empty for people who are not in Slack.

    Example:
    >>> slack_user("slack:T024/U123"), slack_user("terminal:ann"), slack_user("slack:T024/<!here>")
    ('U123', '', '')
    """
    kind, _, name = by.partition(":")
    user = name.rpartition("/")[2]
    return user if kind == SLACK and _USER.match(user) else ""


def person(by: str) -> Block:
    """A person by the name that each reader knows them by; those who are not in Slack in words."""
    user = slack_user(by)
    return {"type": "user", "user_id": user} if user else text(one_line(by, 140))


def drawn(sentence: Sentence) -> list[Block]:
    """Draw a sentence of a view, with its people and instants, as the pieces of one paragraph."""
    return [_piece(piece) for piece in sentence]


def marked_up(sentence: Sentence) -> str:
    """Return a sentence of a view as a message's text, in which the only markup is the names of people."""
    return "".join(_named(piece.by) if isinstance(piece, Person) else escaped(plain((piece,))) for piece in sentence)


def _piece(piece: Piece) -> Block:
    match piece:
        case Person(by=by):
            return person(by)
        case Group(id=group):
            kind, _, name = group.partition(":")
            known = kind == SLACK and name.isalnum()
            return {"type": "usergroup", "usergroup_id": name} if known else code(name, 60)
        case Instant(at=at, exact=exact):
            return date(at, "{time_secs}" if exact else "{time}")
    return text(piece)


def _named(by: str) -> str:
    """A person in a text: Slack's clients and screen readers turn the id into a name."""
    user = slack_user(by)
    return f"<@{user}>" if user else escaped(one_line(by, 140))


def line(*pieces: Block) -> Block:
    """One paragraph."""
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(pieces)}]}


def listing(items: Sequence[Sequence[Block]], style: str = "bullet") -> Block:
    """A list, `bullet` or `ordered`, of paragraphs."""
    elements = [{"type": "rich_text_section", "elements": list(item)} for item in items]
    return {"type": "rich_text", "elements": [{"type": "rich_text_list", "style": style, "elements": elements}]}
