"""What Slack delivers: acknowledged at once, translated into values, and passed on, each delivery once.

Payloads are not trusted: https://docs.slack.dev/reference/interaction-payloads
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.clicks import Click, Submission, mapping
from bot.chat.commands import Commands
from bot.chat.decisions import Decisions
from bot.chat.home import HomePublisher
from bot.chat.people import Person
from bot.chat.requests import CommandRequest
from bot.domain.contracts import Seconds
from bot.surfaces.hooks import Counted
from bot.surfaces.slack.drawing import REASON
from bot.surfaces.slack.people import person_of

_ANY = re.compile(r".*", re.DOTALL)
_DIALOGS = re.compile(rf"{REASON}\Z")


class Listeners:
    """Passes what Slack delivers, by socket or HTTP, to whoever takes it.

    Shape: nothing is taken before `is_open`; `authorized` is who the bot is, as Slack says at the start.
    """

    def __init__(
        self, client: AsyncWebClient, clock: Seconds, logger: logging.Logger, counted: Counted | None = None
    ) -> None:
        self.is_open = False
        self.authorized: AuthorizeResult | None = None
        self._clock = clock
        self._counted = counted
        self._app = self._bolt_app(client, logger)

    def bind(self, commands: Commands, home: HomePublisher, decisions: Decisions) -> None:
        """Say who takes what."""
        app = self._app

        @app.command("/zombie")
        async def command(ack: Any, body: Mapping[str, Any]) -> None:
            await ack()
            commands.take(command_of(body))

        @app.event("app_mention")
        async def mention(ack: Any, body: Mapping[str, Any]) -> None:
            await ack()
            event = body["event"]
            if event.get("bot_id") or event.get("subtype") or not event.get("user"):
                return  # never talk to bots, least of all to itself
            commands.take(mention_of(body, event))

        @app.event("app_home_opened")
        async def opened(ack: Any, event: Mapping[str, Any]) -> None:
            await ack()
            if event.get("tab", "home") == "home" and event.get("user"):
                home.open(str(event["user"]))

        @app.action(_ANY)  # also unknown buttons: the person is told so
        async def click(ack: Any, body: Mapping[str, Any]) -> None:
            await ack()
            decisions.handle_click(click_of(body))

        @app.view(_DIALOGS)
        async def submission(ack: Any, body: Mapping[str, Any]) -> None:
            if refusal := await decisions.handle_submission(submission_of(body)):  # on disk before it is acknowledged
                await ack(response_action="errors", errors={REASON: refusal})
            else:
                await ack()

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Pass a request to its listener, and return the acknowledgement."""
        began, outcome = self._clock(), "failed"
        try:
            response: BoltResponse = await self._app.async_dispatch(request)
            outcome = {200: "accepted", 404: "ignored"}.get(response.status, "failed")
        finally:
            if self._counted is not None:
                self._counted("slack", outcome, self._clock() - began)
        if response.status == 404:  # the bot has no listener; without a 200 Slack would deliver it again and again
            return BoltResponse(status=200)
        return response

    async def bring(self, envelope: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Pass on what a socket brought; return the payload of its acknowledgement, None to send none."""
        payload = envelope.get("payload")
        if not isinstance(payload, dict) or not self.is_open:
            return None
        response = await self.dispatch(AsyncBoltRequest(mode="socket_mode", body=payload))
        if response.status != 200:
            return None
        answer = json.loads(response.body) if response.body.startswith("{") else {"text": response.body}
        return answer if response.body else {}

    def _bolt_app(self, client: AsyncWebClient, logger: logging.Logger) -> AsyncApp:
        async def authorize() -> AuthorizeResult:
            assert self.authorized is not None  # one workspace, one token: read at the start, not for each event
            return self.authorized

        level = logger.level
        logger.setLevel(logging.ERROR)  # Bolt warns that it uses a single token of two; its choice is right
        app = AsyncApp(
            name="zombie",  # else Bolt reads the source of every caller on the stack for it
            client=client,
            authorize=authorize,
            signing_secret="unused",
            request_verification_enabled=False,  # signed_http verifies the raw bytes before anything reads them
            process_before_response=True,  # listeners acknowledge and pass on, so they return quickly
            logger=logger,
        )
        logger.setLevel(level)
        return app


def click_of(body: Mapping[str, Any]) -> Click:
    """Return the click that a payload describes; a missing field is empty."""
    actions = body.get("actions")
    action = mapping(actions[0] if isinstance(actions, list) and actions else None)
    container, channel = mapping(body.get("container")), mapping(body.get("channel"))
    message = mapping(body.get("message"))
    chosen = mapping(action.get("selected_option"))
    return Click(
        key=f"click-{action.get('action_ts', '')}-{body.get('trigger_id', '')}",
        person=person_of(body),
        action=str(action.get("action_id", "")),
        value=str(chosen.get("value") if chosen else action.get("value", "")),
        block=str(action.get("block_id", "")),
        trigger=str(body.get("trigger_id", "")),
        channel=str(channel.get("id") or container.get("channel_id") or ""),
        ts=str(container.get("message_ts") or message.get("ts") or ""),
        thread_ts=str(container.get("thread_ts") or message.get("thread_ts") or ""),
        in_home=container.get("type") == "view",
    )


def submission_of(body: Mapping[str, Any]) -> Submission:
    """Return the submission that a payload describes; a missing field is empty."""
    view = mapping(body.get("view"))
    values = mapping(mapping(view.get("state")).get("values"))
    typed = mapping(mapping(values.get(REASON)).get(REASON)).get("value")
    return Submission(
        key=f"sent-{view.get('id', '')}-{body.get('trigger_id', '')}",
        person=person_of(body),
        metadata=str(view.get("private_metadata", "")),
        reason=str(typed or "").strip(),
    )


_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<(?:https?://[^|>]*\|)([^>]*)>")  # Slack turns names like node.example.com into links


def command_of(body: Mapping[str, Any]) -> CommandRequest:
    """Return the request of a slash command; a missing field is empty."""
    return CommandRequest(
        # Slack makes this id for each command; a repeated delivery has the same id.
        key=f"cmd-{body.get('trigger_id') or body.get('response_url', '')}",
        person=_author(body, body.get("user_id"), body.get("team_id")),
        channel=str(body.get("channel_id", "")),
        text=_unescaped(_LINK.sub(r"\1", str(body.get("text", "")))),
        answer_at=str(body.get("response_url", "")),
        direct=str(body.get("channel_id", "")).startswith("D"),
    )


def mention_of(body: Mapping[str, Any], event: Mapping[str, Any]) -> CommandRequest:
    """Return the request of a message that mentions the bot; a missing field is empty."""
    authorizations = [entry for entry in body.get("authorizations") or () if isinstance(entry, Mapping)]
    us = {str(entry.get("user_id", "")) for entry in authorizations}
    said = _LINK.sub(r"\1", _without_us(str(event.get("text", "")), us)).strip()
    return CommandRequest(
        # The message's id, not the delivery's: a message may be delivered twice under two ids.
        key=f"msg-{event.get('channel', '')}-{event.get('client_msg_id') or event.get('ts', '')}",
        person=_author(body, event["user"], event.get("team") or body.get("team_id")),
        channel=str(event.get("channel", "")),
        text=_unescaped(said),
        thread_ts=str(event.get("thread_ts", "")),
        asked_at=_instant(event.get("ts")),
        direct=str(event.get("channel", "")).startswith("D"),
    )


def _author(body: Mapping[str, Any], user: object, team: object) -> Person:
    return Person(str(user or ""), str(team or ""), str(body.get("enterprise_id") or ""))


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
