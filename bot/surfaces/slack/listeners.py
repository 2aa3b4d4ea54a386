"""What Slack delivers: acknowledged at once, translated into values, and passed on, each delivery once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from slack_bolt.async_app import AsyncApp

from bot.surfaces.slack.click import click_of
from bot.surfaces.slack.dialog import PLAN_DIALOG, REASON
from bot.surfaces.slack.interactions import InteractionHandler
from bot.surfaces.slack.requests import CommandRequest
from bot.surfaces.slack.suggestions import FIND_NODE
from bot.surfaces.slack.view_submissions import AppHome, submission_of

_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<(?:https?://[^|>]*\|)([^>]*)>")  # Slack turns names like node.example.com into links
_ANY = re.compile(r".*", re.DOTALL)
_DIALOGS = re.compile(rf"(?:{REASON}|{PLAN_DIALOG})\Z")


class CommandSink(Protocol):
    """Takes what people type."""

    def take(self, request: CommandRequest, /) -> None:
        """Begin to handle a request; returns at once."""
        ...


def listen(app: AsyncApp, commands: CommandSink, home: AppHome, interactions: InteractionHandler) -> None:
    """Bind the bot's listeners."""

    @app.command("/zombie")
    async def command(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        commands.take(_command(body))

    @app.event("app_mention")
    async def mention(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        event = body["event"]
        if event.get("bot_id") or event.get("subtype") or not event.get("user"):
            return  # never talk to bots, least of all to itself
        commands.take(_mention(body, event))

    @app.event("app_home_opened")
    async def opened(ack: Any, event: Mapping[str, Any]) -> None:
        await ack()
        if event.get("tab", "home") == "home" and event.get("user"):
            home.open(str(event["user"]), str(event.get("channel") or ""))

    @app.action(_ANY)  # also unknown buttons: the person is told so
    async def click(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        interactions.clicked(click_of(body))

    @app.options(FIND_NODE)
    async def suggestions(ack: Any, body: Mapping[str, Any]) -> None:
        await ack(options=list(await interactions.suggested(body)))  # nothing is done, so nothing is stored

    @app.view(_DIALOGS)
    async def submission(ack: Any, body: Mapping[str, Any]) -> None:
        errors = await interactions.submitted(submission_of(body))  # on disk before it is acknowledged
        if errors:
            await ack(response_action="errors", errors=dict(errors))
        else:
            await ack()


def _command(body: Mapping[str, Any]) -> CommandRequest:
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


def _mention(body: Mapping[str, Any], event: Mapping[str, Any]) -> CommandRequest:
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
