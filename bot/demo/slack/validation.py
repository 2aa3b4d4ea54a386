"""Slack's validation of messages and views.

Limits and error strings: https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update and …/views.open.
Two limits are not documented but known from measurements: a text of more than 4,000 characters is refused, and so are
blocks whose JSON is longer than about 13,200 characters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bot.demo.slack import block_rules
from bot.demo.slack.composition import plain_text
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.shapes import Rule, anything, boolean, both, items, matching, one_of, problem, shape, string

TEXT_CHARACTERS = 4000
BLOCKS_CHARACTERS = 13_200
VIEW_BYTES = 250_000
MESSAGE_BLOCKS = 50
VIEW_BLOCKS = 100
ATTACHMENTS = 100

_MESSAGE_BLOCKS = both(items(block_rules.IN_MESSAGE, MESSAGE_BLOCKS, 0), block_rules.ids_are_unique)
_VIEW_BLOCKS = both(items(block_rules.IN_VIEW, VIEW_BLOCKS, 0), block_rules.ids_are_unique)
_ATTACHMENT = shape(
    {},
    {
        "color": string(7),
        "fallback": string(TEXT_CHARACTERS),
        "text": string(TEXT_CHARACTERS),
        "blocks": _MESSAGE_BLOCKS,
    },
)
_ANY_VIEW: Mapping[str, Rule] = {
    "private_metadata": string(3000),
    "callback_id": string(255),
    "external_id": string(255),
}
_MODAL = shape(
    {"type": anything, "title": plain_text(24), "blocks": _VIEW_BLOCKS},
    {
        **_ANY_VIEW,
        "close": plain_text(24),
        "submit": plain_text(24),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "submit_disabled": boolean,
    },
)
_HOME = shape({"type": anything, "blocks": _VIEW_BLOCKS}, _ANY_VIEW)


def check_message(text: str, blocks: Any, attachments: Any = None, *, in_all: int | None = BLOCKS_CHARACTERS) -> None:
    """Validate a message's content; `in_all` is the limit for all of its blocks together, None for no limit.

    Raises: SlackRefused with `no_text`, `msg_too_long`, `invalid_blocks`, `invalid_blocks_format`,
    `msg_blocks_too_long`, `invalid_attachments` or `too_many_attachments`.
    """
    if not text.strip() and not blocks and not attachments:
        raise SlackRefused("no_text")
    if len(text) > TEXT_CHARACTERS:
        raise SlackRefused("msg_too_long")
    if blocks:
        check_blocks(blocks)
        if in_all is not None and characters_in(blocks) > in_all:
            raise SlackRefused("msg_blocks_too_long")
    if attachments:
        if not isinstance(attachments, list):
            raise SlackRefused("invalid_attachments")
        if len(attachments) > ATTACHMENTS:
            raise SlackRefused("too_many_attachments")
        if found := list(items(_ATTACHMENT, ATTACHMENTS)(attachments, "/attachments")):
            raise SlackRefused.listing("invalid_attachments", found)


def check_blocks(blocks: Any) -> None:
    """Validate a message's blocks.

    Raises: SlackRefused with `invalid_blocks`, `invalid_blocks_format`, or `invalid_attachments` for a second table.
    """
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackRefused("invalid_blocks_format")
    if found := list(_MESSAGE_BLOCKS(blocks, "/blocks")):
        raise SlackRefused.listing("invalid_blocks", found)
    if sum(block["type"] == "table" for block in blocks) > 1:
        raise SlackRefused.listing("invalid_attachments", ["only_one_table_allowed"])


def check_view(view: Any, kind: str) -> None:
    """Validate a modal or an App Home (`kind` is `modal` or `home`).

    Raises: SlackRefused with `invalid_arguments` or `view_too_large`.
    """
    if not isinstance(view, dict):
        raise SlackRefused.arguments(problem("must provide an object", "/view"))
    found = list(one_of(kind)(view.get("type"), "/view/type"))
    if not found:
        found = list(matching(_MODAL if kind == "modal" else _HOME)(view, "/view"))
    if not found and kind == "modal" and "submit" not in view and any(b["type"] == "input" for b in view["blocks"]):
        found = [problem("missing required field: submit", "/view")]
    if found:
        raise SlackRefused.arguments(*found)
    if len(json.dumps(view).encode()) > VIEW_BYTES:
        raise SlackRefused("view_too_large")


def characters_in(blocks: Any) -> int:
    """Return the size of blocks, as it counts towards Slack's limit for a message."""
    return len(json.dumps(blocks, ensure_ascii=False, separators=(",", ":")))
