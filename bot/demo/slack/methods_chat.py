"""The Web API's `chat.*`: posting and editing.

Methods, arguments and errors: https://docs.slack.dev/reference/methods?family=chat
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.demo.slack.call import Call, Handler
from bot.demo.slack.people import BOT_USER, Channel
from bot.demo.slack.refusal import SlackRefused, problem
from bot.demo.slack.validation import check_message

TS = re.compile(r"\d{1,12}\.\d{6}")


def _content(call: Call) -> tuple[str, Any]:
    text = call.arguments.text("text", "")
    blocks = call.arguments.structure("blocks", "invalid_blocks_format")
    check_message(text, blocks)
    _check_files(call, blocks or [])
    return text, blocks


def _check_files(call: Call, blocks: Sequence[Mapping[str, Any]]) -> None:
    """Refuse a picture block that shows no completed upload.

    Raises: SlackRefused with `invalid_blocks`.
    """
    for at, block in enumerate(blocks):
        file = block.get("slack_file", {}).get("id")
        if file is not None and file not in call.workspace.files:
            raise SlackRefused.listing("invalid_blocks", [problem("invalid slack file", f"/blocks/{at}/slack_file")])


def thread_of(call: Call, channel: Channel) -> str | None:
    """Return the parent's ts of the thread a message is for, or None.

    Raises: SlackRefused with `invalid_thread_ts`, `thread_not_found` or `cannot_reply_to_message`.
    """
    ts = call.arguments.text("thread_ts", "")
    if not ts:
        return None
    if not TS.fullmatch(ts):
        raise SlackRefused("invalid_thread_ts")
    parent = call.workspace.find(channel.id, ts)
    if parent is None:
        raise SlackRefused("thread_not_found")
    if parent.only_for:
        raise SlackRefused("cannot_reply_to_message")
    return parent.thread_ts or parent.ts


def post_message(call: Call) -> dict[str, Any]:
    """Post a message that everybody in the channel sees."""
    channel = call.channel(call.arguments.text("channel"))
    text, blocks = _content(call)
    thread_ts = thread_of(call, channel)
    message = call.workspace.post(
        channel.id,
        BOT_USER,
        text,
        blocks=blocks,
        thread_ts=thread_ts,
        is_broadcast=thread_ts is not None and call.arguments.switch("reply_broadcast"),
    )
    return {"channel": channel.id, "ts": message.ts, "message": call.shown(message)}


def post_ephemeral(call: Call) -> dict[str, Any]:
    """Post a message that only one person sees."""
    channel = call.channel(call.arguments.text("channel"))
    user = call.arguments.text("user")
    if user not in channel.members:
        raise SlackRefused("user_not_in_channel")
    text, blocks = _content(call)
    message = call.workspace.post(
        channel.id,
        BOT_USER,
        text,
        blocks=blocks,
        thread_ts=thread_of(call, channel),
        only_for=user,
    )
    return {"message_ts": message.ts}


def update(call: Call) -> dict[str, Any]:
    """Edit a message of the bot. What is not given stays, including the blocks."""
    channel = call.channel(call.arguments.text("channel"), foreign_is="channel_not_found")
    message = call.message(channel, call.arguments.text("ts"))
    if message.user != BOT_USER:
        raise SlackRefused("cant_update_message")
    text, blocks = _content(call)
    parts: dict[str, Any] = {"text": text}
    if blocks is not None:
        parts["blocks"] = tuple(blocks)
    message = call.workspace.edit(message, **parts)
    return {"channel": channel.id, "ts": message.ts, "text": message.text, "message": call.shown(message)}


HANDLERS: Mapping[str, Handler] = {
    "chat.postMessage": post_message,
    "chat.postEphemeral": post_ephemeral,
    "chat.update": update,
}
