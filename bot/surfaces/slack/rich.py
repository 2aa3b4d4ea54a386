"""Rich text: the one kind of block in which people and dates are shown and nothing that a node said is markup.

Format: https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from bot.domain.safe_text import one_line, safe
from bot.surfaces.slack.member import SLACK
from bot.surfaces.slack.message import Block, clipped, escaped

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


def usergroup(group: str) -> Block:
    """A user group of the workspace."""
    return {"type": "usergroup", "usergroup_id": group} if group.isalnum() else code(group, 60)


def person(by: str) -> Block:
    """A person as the record writes them: of Slack by the name that each reader knows, else in words."""
    user = slack_user(by)
    return {"type": "user", "user_id": user} if user else text(one_line(by, 140))


def named(by: str) -> str:
    """A person in a message's plain text, which Slack's clients and screen readers turn into their name."""
    user = slack_user(by)
    return f"<@{user}>" if user else escaped(one_line(by, 140))


def slack_user(by: str) -> str:
    """Return the Slack id of a person as the record writes them; nothing where they are none of Slack's.

    Example:
    >>> slack_user("slack:T024/U123"), slack_user("terminal:ann"), slack_user("slack:T024/<!here>")
    ('U123', '', '')
    """
    kind, _, name = by.partition(":")
    user = name.rpartition("/")[2]
    return user if kind == SLACK and _USER.match(user) else ""


def told_by(words: str) -> tuple[str, str]:
    """Split a sentence of the record that begins with a person of Slack into who it is, and the rest.

    Example:
    >>> told_by("slack:T024/U123 called it off."), told_by("The node is gone.")
    (('slack:T024/U123', ' called it off.'), ('', 'The node is gone.'))
    """
    by, space, rest = words.partition(" ")
    return (by, space + rest) if slack_user(by) else ("", words)


def line(*pieces: Block) -> Block:
    """One paragraph."""
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(pieces)}]}


def listing(items: Sequence[Sequence[Block]], style: str = "bullet") -> Block:
    """A list, `bullet` or `ordered`, of paragraphs."""
    elements = [{"type": "rich_text_section", "elements": list(item)} for item in items]
    return {"type": "rich_text", "elements": [{"type": "rich_text_list", "style": style, "elements": elements}]}


def utc(at: datetime) -> str:
    """An instant in words, where a date that turns into local time cannot stand."""
    return f"{at:%H:%M} UTC"
