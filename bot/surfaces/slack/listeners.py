"""What Slack tells the bot: acknowledge, translate into a wish, hand over. Nothing else happens here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from slack_bolt.async_app import AsyncApp

from bot.surfaces.slack.desk import Wish

_MENTION = re.compile(r"<@[UW][A-Z0-9]+(?:\|[^>]*)?>")


def listen(app: AsyncApp, take: Callable[[Wish], None], home: Callable[[str], Any]) -> None:
    """Bind the bot's listeners; `take` sees a wish through, `home` publishes a person's App Home."""

    @app.command("/zombie")
    async def command(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        take(_command_wish(body))

    @app.event("app_mention")
    async def mention(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        event = body["event"]
        if event.get("bot_id") or event.get("subtype"):
            return  # never talk to bots, least of all to ourselves
        take(_mention_wish(body, event))

    @app.event("app_home_opened")
    async def opened(ack: Any, event: Mapping[str, Any]) -> None:
        await ack()
        if event.get("tab", "home") == "home":
            await home(str(event["user"]))


def _command_wish(body: Mapping[str, Any]) -> Wish:
    return Wish(
        key=f"cmd-{body.get('trigger_id') or body.get('ssl_check', '')}",
        team=str(body.get("enterprise_id") or body.get("team_id", "")),
        user=str(body.get("user_id", "")),
        channel=str(body.get("channel_id", "")),
        text=str(body.get("text", "")),
        answer_at=str(body.get("response_url", "")),
    )


def _mention_wish(body: Mapping[str, Any], event: Mapping[str, Any]) -> Wish:
    return Wish(
        # The message's own id, not the delivery's: a delivery may come twice under two ids.
        key=f"msg-{event.get('channel', '')}-{event.get('client_msg_id') or event.get('ts', '')}",
        team=str(body.get("enterprise_id") or body.get("team_id", "")),
        user=str(event.get("user", "")),
        channel=str(event.get("channel", "")),
        text=_MENTION.sub(" ", str(event.get("text", ""))).strip(),
        thread_ts=str(event.get("thread_ts", "")),
    )
