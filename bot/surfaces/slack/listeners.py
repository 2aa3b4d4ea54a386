"""What Slack brings: acknowledged at once, translated into values, and handed over, each delivery once."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

from slack_bolt.async_app import AsyncApp

from bot.domain.contracts import Log
from bot.domain.safe_text import one_line
from bot.surfaces.slack.block_actions import BlockActions, Click, click_of
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.requests import CommandRequest
from bot.surfaces.slack.view_submissions import AppHome, Submission, ViewSubmissions, submission_of

REMEMBERED = 2000
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_LINK = re.compile(r"<(?:https?://[^|>]*\|)([^>]*)>")  # Slack turns names like node.example.com into links
_ANY = re.compile(r".*", re.DOTALL)


class Background:
    """Runs work that nobody waits for."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    def begin(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Have something done; nothing begins once this was drained."""
        if self._is_closed:
            work.close()
            return
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def drain(self, seconds: float) -> None:
        """Wait for what is under way, so long at most, and break off the rest."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=seconds)
        self._is_closed = True
        late = set(self._tasks)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log("wish_failed", wish=task.get_name(), error=repr(error))


class CommandSink(Protocol):
    """Takes what people type."""

    def take(self, request: CommandRequest, /) -> None:
        """Begin to handle a request; returns at once."""
        ...


class InteractionHandler:
    """Takes clicks and dialogs, and has each handled once in the background."""

    def __init__(self, context: SlackContext, home: AppHome, background: Background) -> None:
        self._context = context
        self._background = background
        self._block_actions = BlockActions(context)
        self._view_submissions = ViewSubmissions(context, home)
        self._seen: OrderedDict[str, None] = OrderedDict()

    def clicked(self, click: Click) -> None:
        """Begin to handle a click; returns at once. A second delivery of it is ignored."""
        if self._is_new(click.key):
            self._background.begin(self._block_actions.handle(click), f"click {one_line(click.action, 40)}")

    def submitted(self, submission: Submission) -> Mapping[str, str]:
        """Begin to handle a dialog; return the errors that it shows instead of closing, by block."""
        errors, refusal = self._view_submissions.objection(submission)
        if self._is_new(submission.key):
            if refusal is not None:
                noted = self._context.note("decide", submission.person.by, refusal)
                self._background.begin(noted, "note of a refusal")
            else:
                self._background.begin(self._view_submissions.handle(submission), "submission")
        return errors

    def _is_new(self, key: str) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > REMEMBERED:
            self._seen.popitem(last=False)
        return True


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
            return  # never talk to bots, least of all to ourselves
        commands.take(_mention(body, event))

    @app.event("app_home_opened")
    async def opened(ack: Any, event: Mapping[str, Any]) -> None:
        await ack()
        if event.get("tab", "home") == "home" and event.get("user"):
            home.open(str(event["user"]))

    @app.action(_ANY)  # also buttons that are on no card of ours: the person is told so
    async def click(ack: Any, body: Mapping[str, Any]) -> None:
        await ack()
        interactions.clicked(click_of(body))

    @app.view("reason")
    async def submission(ack: Any, body: Mapping[str, Any]) -> None:
        errors = interactions.submitted(submission_of(body))
        if errors:
            await ack(response_action="errors", errors=dict(errors))
        else:
            await ack()


def _command(body: Mapping[str, Any]) -> CommandRequest:
    return CommandRequest(
        # Slack makes this id for each command; a repeated delivery brings the same.
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
    """Take out the mention of ourselves; where Slack does not say who we are, the first mention."""
    if us - {""}:
        return _MENTION.sub(lambda match: " " if match[1] in us else match[0], text)
    return _MENTION.sub(" ", text, count=1)


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
