"""Whom a message notifies.

Defined in https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.demo.slack.message import Message

_MENTION = re.compile(r"<(@[UW][A-Z0-9]+|!subteam\^S[A-Z0-9]+|!(?:channel|here|everyone))(?:\|[^>]*)?>")


def mentions(message: Message) -> list[str]:
    """Return whom a message notifies: ids of users and groups, and `channel`, `here`, `everyone`.

    Slack acts on control sequences in the text, in mrkdwn and in rich text, and not in plain text.
    """
    found = _mentions_in(message.text)
    for block in message.blocks:
        found += _mentions_of(block)
    return found


def _mentions_in(text: str) -> list[str]:
    return [found.removeprefix("@").removeprefix("!subteam^").removeprefix("!") for found in _MENTION.findall(text)]


def _mentions_of(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        kind = part.get("type")
        if kind == "mrkdwn":
            yield from _mentions_in(str(part.get("text", "")))
        elif kind == "user":
            yield part["user_id"]
        elif kind == "usergroup":
            yield part["usergroup_id"]
        elif kind == "broadcast":
            yield part["range"]
        for inner in part.values():
            yield from _mentions_of(inner)
    elif isinstance(part, (list, tuple)):
        for inner in part:
            yield from _mentions_of(inner)
