"""What Slack delivers: acknowledged at once, translated into values, and passed on, each delivery once.

Payloads are not trusted: https://docs.slack.dev/reference/interaction-payloads
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from slack_bolt.async_app import AsyncApp

from bot.domain.json_form import NotOfForm, read
from bot.domain.safe_text import redacted_text
from bot.surfaces.slack.dialog import CONTROL, PLAN_DIALOG, REASON
from bot.surfaces.slack.message import Block
from bot.surfaces.slack.people import Person, mapping
from bot.surfaces.slack.requests import CommandRequest
from bot.surfaces.slack.suggestions import FIND_NODE

UNKNOWN_BUTTON = "This button does nothing: the bot does not know it."
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<(?:https?://[^|>]*\|)([^>]*)>")  # Slack turns names like node.example.com into links
_ANY = re.compile(r".*", re.DOTALL)
_DIALOGS = re.compile(rf"(?:{REASON}|{PLAN_DIALOG})\Z")


@dataclass(frozen=True, slots=True)
class Click:
    """A clicked button, or a chosen menu entry.

    Shape: `key` is Slack's id of the click: two deliveries with the same key are one click. `value` is the button's
    value, or the chosen entry. `channel` and `ts` are the message's, both empty in the App Home, which sends its
    signed `metadata` instead.
    """

    key: str
    person: Person
    action: str
    value: str
    block: str
    trigger: str
    channel: str = ""
    ts: str = ""
    thread_ts: str = ""
    in_home: bool = False
    metadata: str = ""

    @property
    def thread(self) -> str:
        """The thread in which the person is answered; empty for a message in the channel itself."""
        return self.thread_ts if self.thread_ts != self.ts else ""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted dialog: its signed metadata, and the reason that was typed.

    Shape: `control` is the choice in the dialog that asks how many nodes a wave leaves alone, not for a reason.
    """

    key: str
    person: Person
    metadata: str
    reason: str
    control: str | None = None

    @property
    def block(self) -> str:
        """The block of the dialog at which it shows an error."""
        return REASON if self.control is None else CONTROL

    @property
    def text(self) -> str:
        """The submission in its stored form, redacted."""
        return json.dumps({**asdict(self), "reason": redacted_text(self.reason)}, separators=(",", ":"))


class CommandSink(Protocol):
    """Takes what people type."""

    def take(self, request: CommandRequest, /) -> None:
        """Begin to handle a request; returns at once."""
        ...


class InteractionSink(Protocol):
    """Takes clicks and dialogs."""

    def clicked(self, click: Click, /) -> None:
        """Begin to handle a click; returns at once."""
        ...

    async def suggested(self, body: Mapping[str, Any], /) -> Sequence[Block]:
        """Return the options of a menu in which a person types a node's name."""
        ...

    async def submitted(self, submission: Submission, /) -> Mapping[str, str]:
        """Store a dialog and begin to handle it; return the errors that it shows instead of closing, by block."""
        ...


class AppHome(Protocol):
    """Shows people the App Home."""

    def open(self, user: str, channel: str = "", /) -> None:
        """Begin to bring a person's App Home up to date; returns at once. `channel` is their direct message."""
        ...


def listen(app: AsyncApp, commands: CommandSink, home: AppHome, interactions: InteractionSink) -> None:
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


def click_of(body: Mapping[str, Any]) -> Click:
    """Return the click that a payload describes; a missing field is empty."""
    actions = body.get("actions")
    action = mapping(actions[0] if isinstance(actions, list) and actions else None)
    container, channel = mapping(body.get("container")), mapping(body.get("channel"))
    message = mapping(body.get("message"))
    chosen = mapping(action.get("selected_option"))
    return Click(
        key=f"click-{action.get('action_ts', '')}-{body.get('trigger_id', '')}",
        person=Person.of(body),
        action=str(action.get("action_id", "")),
        value=str(chosen.get("value") if chosen else action.get("value", "")),
        block=str(action.get("block_id", "")),
        trigger=str(body.get("trigger_id", "")),
        channel=str(channel.get("id") or container.get("channel_id") or ""),
        ts=str(container.get("message_ts") or message.get("ts") or ""),
        thread_ts=str(container.get("thread_ts") or message.get("thread_ts") or ""),
        in_home=container.get("type") == "view",
        metadata=str(mapping(body.get("view")).get("private_metadata") or ""),
    )


def submission_of(body: Mapping[str, Any]) -> Submission:
    """Return the submission that a payload describes; a missing field is empty."""
    view = mapping(body.get("view"))
    values = mapping(mapping(view.get("state")).get("values"))
    typed = mapping(mapping(values.get(REASON)).get(REASON)).get("value")
    chosen = mapping(mapping(mapping(values.get(CONTROL)).get(CONTROL)).get("selected_option")).get("value")
    return Submission(
        key=f"sent-{view.get('id', '')}-{body.get('trigger_id', '')}",
        person=Person.of(body),
        metadata=str(view.get("private_metadata", "")),
        reason=str(typed or "").strip(),
        control=str(chosen or "") if view.get("callback_id") == PLAN_DIALOG else None,
    )


def kept_submission(text: str) -> Submission | None:
    """Return the submission stored as this text; None where it cannot be read."""
    try:
        return read(Submission, json.loads(text))
    except (ValueError, RecursionError, NotOfForm):
        return None


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
