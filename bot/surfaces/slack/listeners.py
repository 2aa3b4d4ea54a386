"""What Slack tells the bot: acknowledge, translate into a wish, hand over. Nothing else happens here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

from slack_bolt.async_app import AsyncApp

from bot.surfaces.slack.clicks import Click, Submission, click_of, submission_of
from bot.surfaces.slack.requests import Wish

_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<(?:https?://[^|>]*\|)([^>]*)>")  # Slack turns names like node.example.com into links
_ANY = re.compile(r".*", re.DOTALL)


class Hands(Protocol):
    """What takes clicks and dialogs; both return at once."""

    def clicked(self, click: Click) -> None:
        """Begin to see a click through."""
        ...

    def sent(self, submission: Submission) -> Mapping[str, str]:
        """Begin to see a dialog through; return what it is to say in place of closing, by block."""
        ...


class Ears(Protocol):
    """What takes wishes."""

    def take(self, wish: Wish) -> None:
        """Begin to see a wish through; returns at once."""
        ...


class Home(Protocol):
    """What shows people the App Home."""

    def open(self, user: str) -> None:
        """Begin to bring somebody's up to date; returns at once."""
        ...


def listen(app: AsyncApp, ears: Ears, home: Home, hands: Hands) -> None:
    """Bind the bot's listeners."""

    @app.command("/zombie")
    async def command(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        ears.take(_command_wish(body))

    @app.event("app_mention")
    async def mention(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        event = body["event"]
        if event.get("bot_id") or event.get("subtype") or not event.get("user"):
            return  # never talk to bots, least of all to ourselves
        ears.take(_mention_wish(body, event))

    @app.event("app_home_opened")
    async def opened(ack: Any, event: Mapping[str, Any]) -> None:
        await ack()
        if event.get("tab", "home") == "home" and event.get("user"):
            home.open(str(event["user"]))

    @app.action(_ANY)  # also what no card of ours has: whoever clicked is told so
    async def click(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        hands.clicked(click_of(body))

    @app.view("reason")
    async def submission(ack: Any, body: Mapping[str, Any]) -> None:
        errors = hands.sent(submission_of(body))
        if errors:
            await ack(response_action="errors", errors=dict(errors))
        else:
            await ack()


def _command_wish(body: Mapping[str, Any]) -> Wish:
    return Wish(
        # Made by Slack for this one saying; a replayed request brings the same.
        key=f"cmd-{body.get('trigger_id') or body.get('response_url', '')}",
        team=str(body.get("enterprise_id") or body.get("team_id", "")),
        user=str(body.get("user_id", "")),
        channel=str(body.get("channel_id", "")),
        text=_unescaped(_LINK.sub(r"\1", str(body.get("text", "")))),
        answer_at=str(body.get("response_url", "")),
        workspace=str(body.get("team_id") or ""),
        enterprise=str(body.get("enterprise_id") or ""),
    )


def _mention_wish(body: Mapping[str, Any], event: Mapping[str, Any]) -> Wish:
    us = {str(one.get("user_id", "")) for one in body.get("authorizations") or () if isinstance(one, Mapping)}
    said = _LINK.sub(r"\1", _without_us(str(event.get("text", "")), us)).strip()
    return Wish(
        # The message's own id, not the delivery's: a delivery may come twice under two ids.
        key=f"msg-{event.get('channel', '')}-{event.get('client_msg_id') or event.get('ts', '')}",
        team=str(body.get("enterprise_id") or body.get("team_id", "")),
        user=str(event["user"]),
        channel=str(event.get("channel", "")),
        text=_unescaped(said),
        thread_ts=str(event.get("thread_ts", "")),
        workspace=str(event.get("team") or body.get("team_id") or ""),
        enterprise=str(body.get("enterprise_id") or ""),
    )


def _without_us(text: str, us: set[str]) -> str:
    """Take out who was spoken to: ourselves, or whoever was named first where Slack does not say who we are."""
    if us - {""}:
        return _MENTION.sub(lambda one: " " if one[1] in us else one[0], text)
    return _MENTION.sub(" ", text, count=1)


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
