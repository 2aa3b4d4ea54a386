"""What Slack tells the bot: acknowledge, translate into a wish, hand over. Nothing else happens here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.surfaces.slack.wish import Wish

_MENTION = re.compile(r"<@[UW][A-Z0-9]+(?:\|[^>]*)?>")
_LINK = re.compile(r"<(?:https?://[^|>]*\|)([^>]*)>")  # Slack turns names like node.example.com into links


def listen(app: AsyncApp, take: Callable[[Wish], None], home: Callable[[str], None]) -> None:
    """Bind the bot's listeners; `take` sees a wish through, `home` shows a person the App Home; both return at once."""

    @app.command("/zombie")
    async def command(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        take(_command_wish(body))

    @app.event("app_mention")
    async def mention(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        event = body["event"]
        if event.get("bot_id") or event.get("subtype") or not event.get("user"):
            return  # never talk to bots, least of all to ourselves
        take(_mention_wish(body, event))

    @app.event("app_home_opened")
    async def opened(ack: Any, event: Mapping[str, Any]) -> None:
        await ack()
        if event.get("tab", "home") == "home":
            home(str(event["user"]))


def _command_wish(body: Mapping[str, Any]) -> Wish:
    return Wish(
        # Made by Slack for this one saying; a replayed request brings the same.
        key=f"cmd-{body.get('trigger_id') or body.get('response_url', '')}",
        team=str(body.get("enterprise_id") or body.get("team_id", "")),
        user=str(body.get("user_id", "")),
        channel=str(body.get("channel_id", "")),
        text=_LINK.sub(r"\1", str(body.get("text", ""))),
        answer_at=str(body.get("response_url", "")),
    )


def _mention_wish(body: Mapping[str, Any], event: Mapping[str, Any]) -> Wish:
    text = _LINK.sub(r"\1", _MENTION.sub(" ", str(event.get("text", "")))).strip()
    return Wish(
        # The message's own id, not the delivery's: a delivery may come twice under two ids.
        key=f"msg-{event.get('channel', '')}-{event.get('client_msg_id') or event.get('ts', '')}",
        team=str(body.get("enterprise_id") or body.get("team_id", "")),
        user=str(event["user"]),
        channel=str(event.get("channel", "")),
        text=text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"),
        thread_ts=str(event.get("thread_ts", "")),
    )
