"""The Web API's `conversations.history` and `conversations.replies`: what stands in a channel and in a thread.

Methods, arguments and errors: https://docs.slack.dev/reference/methods/conversations.history and
https://docs.slack.dev/reference/methods/conversations.replies
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.demo.slack.call import Call, Handler
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER, Channel
from bot.demo.slack.refusal import SlackRefused

MOST = 999  # messages on a page
USUAL = 100


def history(call: Call) -> dict[str, Any]:
    """List a conversation's messages, the newest first; replies only where they were also sent to the channel."""
    channel = _readable(call)
    everything = call.workspace.messages(channel.id)
    return _page(call, [each for each in reversed(_seen_by_all(everything)) if not each.is_reply or each.is_broadcast])


def replies(call: Call) -> dict[str, Any]:
    """List a message and the replies to it, the oldest first."""
    channel = _readable(call)
    thread = _seen_by_all(call.workspace.thread(channel.id, call.arguments.text("ts")))
    if not thread:
        raise SlackRefused("thread_not_found")
    return _page(call, thread)


def _readable(call: Call) -> Channel:
    """Return a conversation that the bot may read: it is a member, and has the scope for conversations of this kind."""
    channel = call.workspace.channels.get(call.arguments.text("channel"))
    if channel is None or (channel.is_private and BOT_USER not in channel.members):
        raise SlackRefused("channel_not_found")
    needed = "im:history" if channel.is_direct else "groups:history" if channel.is_private else "channels:history"
    if needed not in call.access.scopes:
        raise SlackRefused("missing_scope", needed=needed, provided=",".join(sorted(call.access.scopes)))
    if BOT_USER not in channel.members:
        raise SlackRefused("not_in_channel")
    return channel


def _seen_by_all(messages: Iterable[Message]) -> list[Message]:
    """Leave out what only one person sees: history never has it."""
    return [each for each in messages if each.only_for is None]


def _page(call: Call, messages: Sequence[Message]) -> dict[str, Any]:
    """Return a page, which begins after `cursor`, of what is newer than `oldest`."""
    oldest = float(call.arguments.text("oldest", "0"))
    newer = [each for each in messages if float(each.ts) > oldest]
    limit = min(int(call.arguments.text("limit", str(USUAL))), MOST)
    start = int(call.arguments.text("cursor", "") or 0)
    rest = newer[start + limit :]
    return {
        "messages": [call.shown(each) for each in newer[start : start + limit]],
        "has_more": bool(rest),
        "response_metadata": {"next_cursor": str(start + limit) if rest else ""},
    }


HANDLERS: Mapping[str, Handler] = {"conversations.history": history, "conversations.replies": replies}
