"""What people type to the bot, as Slack delivers it: a slash command, or a message that mentions the bot.

Payloads are not trusted: https://docs.slack.dev/interactivity/implementing-slash-commands
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bot.chat.requests import CommandRequest

_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<(?:https?://[^|>]*\|)([^>]*)>")  # Slack turns names like node.example.com into links


def command_of(body: Mapping[str, Any]) -> CommandRequest:
    """Return the request of a slash command; a missing field is empty."""
    return CommandRequest(
        # Slack makes this id for each command; a repeated delivery has the same id.
        key=f"cmd-{body.get('trigger_id') or body.get('response_url', '')}",
        team=str(body.get("enterprise_id") or body.get("team_id", "")),
        user=str(body.get("user_id", "")),
        channel=str(body.get("channel_id", "")),
        text=_unescaped(_LINK.sub(r"\1", str(body.get("text", "")))),
        answer_at=str(body.get("response_url", "")),
        workspace=str(body.get("team_id") or ""),
        enterprise=str(body.get("enterprise_id") or ""),
    )


def mention_of(body: Mapping[str, Any], event: Mapping[str, Any]) -> CommandRequest:
    """Return the request of a message that mentions the bot; a missing field is empty."""
    authorizations = [entry for entry in body.get("authorizations") or () if isinstance(entry, Mapping)]
    us = {str(entry.get("user_id", "")) for entry in authorizations}
    said = _LINK.sub(r"\1", _without_us(str(event.get("text", "")), us)).strip()
    return CommandRequest(
        # The message's id, not the delivery's: a message may be delivered twice under two ids.
        key=f"msg-{event.get('channel', '')}-{event.get('client_msg_id') or event.get('ts', '')}",
        team=str(body.get("enterprise_id") or body.get("team_id", "")),
        user=str(event["user"]),
        channel=str(event.get("channel", "")),
        text=_unescaped(said),
        thread_ts=str(event.get("thread_ts", "")),
        workspace=str(event.get("team") or body.get("team_id") or ""),
        enterprise=str(body.get("enterprise_id") or ""),
        asked_at=_instant(event.get("ts")),
    )


def _instant(ts: object) -> datetime | None:
    try:
        return datetime.fromtimestamp(float(str(ts)), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _without_us(text: str, us: set[str]) -> str:
    """Remove the mention of the bot; where Slack does not say who the bot is, the first mention."""
    if us - {""}:
        return _MENTION.sub(lambda match: " " if match[1] in us else match[0], text)
    return _MENTION.sub(" ", text, count=1)


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
