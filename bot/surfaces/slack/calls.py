"""Calls to Slack that show something to people: the meaning of each answer, how long to wait, how many to send.

Errors: https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update, and
https://docs.slack.dev/interactivity/handling-user-interaction for a command's response address.
Limits: https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.document import Block, Dialog, clipped
from bot.chat.service import (
    ChatService,
    Delivered,
    Message,
    MessageGone,
    NoAccess,
    Outcome,
    PicturesRefused,
    Rejected,
    RetryLater,
    Uploaded,
    UploadOutcome,
)
from bot.domain.addresses import is_loopback
from bot.domain.contracts import Log
from bot.domain.errors import CannotTell
from bot.domain.post import MessageRef
from bot.domain.safe_text import one_line, redacted_line
from bot.sources.addresses import is_safe_for_secrets
from bot.surfaces.slack import drawing

ALT_TEXT = 1000  # Slack's limit, in characters
# Slack never accepts this wording, however often it is sent.
WORDING = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"})
# Slack cannot answer now; its other refusals of a token or file are final.
PASSING = frozenset({"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"})
# The message to edit or the thread to post into is gone, or is not the bot's.
GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"})
# The bot may not write in that channel.
NO_ACCESS = frozenset(
    {"channel_not_found", "not_in_channel", "user_not_in_channel", "is_archived", "restricted_action", "no_permission"}
)


def web_client(token: str, api_url: str) -> AsyncWebClient:
    """Return a client of Slack's Web API, without a session yet."""
    client = AsyncWebClient(token=token or None, base_url=api_url)
    if is_loopback(urlsplit(api_url).hostname or ""):
        client.proxy = None  # a proxy from the environment cannot reach this machine
    return client


@contextlib.asynccontextmanager
async def short_client(token: str, api_url: str, seconds: float) -> AsyncIterator[AsyncWebClient]:
    """Yield a client with a session of its own, in which each call ends within so many seconds."""
    client = web_client(token, api_url)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session:
        client.session = session
        yield client


# How a call of Slack's Web API fails; ValueError: a 200 without JSON, from a proxy on the way to Slack.
FAILURES = (SlackApiError, aiohttp.ClientError, TimeoutError, OSError, ValueError)


class Web(Protocol):
    """Posts JSON, or bytes, to an address; returns status and headers."""

    async def __call__(self, url: str, body: Mapping[str, Any] | bytes) -> tuple[int, Mapping[str, str]]:
        """Post. Raises: OSError or aiohttp.ClientError when the address cannot be reached."""


class Calls(drawing.SlackDrawing, ChatService):
    """Draws, posts, edits, answers, uploads, and opens dialogs; each call ends within `limit_seconds`."""

    def __init__(self, client: AsyncWebClient, web: Web, limit_seconds: float, log: Log) -> None:
        self._client = client
        self._web = web
        self._limit = limit_seconds
        self._log = log
        self._takes_newer_blocks = True  # until this workspace refuses them

    strips = staticmethod(drawing.strips)
    illustrated = staticmethod(drawing.illustrated)

    async def post(self, channel: str, thread: str, message: Message) -> Outcome:
        """Post a new message in a channel, or in a thread there."""
        more: dict[str, Any] = {"thread_ts": thread} if thread else {}
        more |= {"reply_broadcast": True} if thread and message.broadcast else {}
        return await self._send_in_some_form(
            message,
            lambda body: self._client.chat_postMessage(
                channel=channel, mrkdwn=False, unfurl_links=False, unfurl_media=False, **body, **more
            ),
        )

    async def edit(self, place: MessageRef, message: Message) -> Outcome:
        """Replace the text and the blocks of a posted message."""
        return await self._send_in_some_form(
            message,  # an empty list removes the old blocks
            lambda body: self._client.chat_update(channel=place.channel, ts=place.ts, **{"blocks": [], **body}),
        )

    async def whisper(self, channel: str, user: str, thread: str, message: Message) -> Outcome:
        """Show a message to one person alone, in the channel; without a channel, in their direct messages."""
        if not channel:
            return await self.post(user, "", message)
        more: dict[str, Any] = {"thread_ts": thread} if thread else {}
        return await self._send_in_some_form(
            message, lambda body: self._client.chat_postEphemeral(channel=channel, user=user, **body, **more)
        )

    async def respond(self, address: str, message: Message, *, for_card: bool = False) -> Outcome:
        """Answer a slash command at its response address, which takes five answers within half an hour."""
        message = drawing.for_one_person(message) if for_card else message

        async def answered(body: Mapping[str, Any]) -> Outcome:
            body = {"response_type": "ephemeral", "text": body["text"], "blocks": body.get("blocks", [])}
            status, headers = await self._web(address, body)
            if status < 300:
                return Delivered()
            if status == 429 or status >= 500:
                return RetryLater(f"http_{status}", _retry_after(headers))
            return Rejected(f"http_{status}") if status == 400 else MessageGone(f"http_{status}")

        return await self._send_in_some_form(message, answered)

    async def open_dialog(self, trigger: str, dialog: Dialog, sealed: str) -> None:
        """Open a dialog for the person who clicked. Raises: CannotTell where Slack does not open it.

        A trigger lives three seconds and works once, so there is no second try.
        """
        view = drawing.dialog_view(dialog, sealed)
        outcome = await self._call_outcome(self._client.views_open(trigger_id=trigger, view=view))
        if error := self._log_refused_view("dialog", outcome):
            raise CannotTell(f"Slack did not open the dialog ({error}).", "Click again.")

    async def publish_home(self, user: str, blocks: Sequence[Block], sealed: str) -> None:
        """Show a person the App Home, which Slack shows to nobody else; a failure is only logged."""
        view = drawing.home_view(blocks)
        self._log_refused_view("home", await self._call_outcome(self._client.views_publish(user_id=user, view=view)))

    async def upload(
        self, name: str, content: bytes, alt_text: str, *, channel: str = "", thread: str = ""
    ) -> UploadOutcome:
        """Upload a file in three calls: ask where to send it, send it there, say that it is complete.

        https://docs.slack.dev/messaging/working-with-files#upload. A file shared in no channel is visible where a block
        of the bot shows it, and nowhere else: https://docs.slack.dev/reference/block-kit/blocks/image-block
        """
        try:
            async with asyncio.timeout(self._limit):
                alt_text = clipped(alt_text, ALT_TEXT)
                asked = await self._client.files_getUploadURLExternal(
                    filename=name, length=len(content), alt_txt=alt_text
                )
                url, file = str(asked["upload_url"]), str(asked["file_id"])
                if not is_safe_for_secrets(url):
                    return Rejected("the upload's address is neither https nor on loopback")
                status, _ = await self._web(url, content)
                if status >= 300:
                    passing = status == 429 or status >= 500
                    return RetryLater(f"http_{status}") if passing else Rejected(f"http_{status}")
                await self._client.files_completeUploadExternal(
                    files=[{"id": file, "title": name}], channel_id=channel or None, thread_ts=thread or None
                )
                return Uploaded(file)
        except SlackApiError as error:
            word, status = error_name(error), getattr(error.response, "status_code", 200)
            if status == 429 or status >= 500 or word in PASSING:
                return RetryLater(word, retry_after(error))
            return Rejected(word)
        # KeyError and ValueError: a 200 that is not Slack's answer, from a proxy on the way.
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, KeyError) as error:
            return RetryLater(failure_words(error))

    async def _send_in_some_form(
        self, message: Message, call: Callable[[Mapping[str, Any]], Awaitable[Any]]
    ) -> Outcome:
        """Show a message as well as Slack takes it: as it is, in older blocks, then as text alone."""
        message = message if self._takes_newer_blocks else drawing.in_older_blocks(message)
        outcome = await self._call_outcome(call(_body(message)))
        if isinstance(outcome, Rejected | RetryLater) and drawing.has_pictures(message):
            return PicturesRefused(outcome.error) if is_about_content(outcome.error) else outcome
        if isinstance(outcome, Rejected) and drawing.has_newer_blocks(message):
            self._log("slack_refused", part="newer blocks", error=outcome.error)
            self._takes_newer_blocks = False
            message = drawing.in_older_blocks(message)
            outcome = await self._call_outcome(call(_body(message)))
        if isinstance(outcome, Rejected) and message.blocks:
            self._log("slack_refused", part="blocks", error=outcome.error)
            outcome = await self._call_outcome(call(_body(drawing.without_blocks(message))))
        return outcome

    def _log_refused_view(self, view: str, outcome: Outcome) -> str:
        """Log why a view is not shown, and return it in short; empty where it is shown."""
        if isinstance(outcome, Delivered):
            return ""
        self._log("slack_failed", view=view, error=outcome.error)
        return outcome.error if outcome.error.isidentifier() else "no answer"

    async def _call_outcome(self, call: Awaitable[Any]) -> Outcome:
        try:
            async with asyncio.timeout(self._limit):
                answer = await call
        except SlackApiError as error:
            return _refusal(error)
        except FAILURES as error:
            return RetryLater(failure_words(error))
        if isinstance(answer, Outcome):
            return answer
        return Delivered(MessageRef(str(answer["channel"]), str(answer["ts"])) if answer.get("ts") else None)


def error_name(error: SlackApiError) -> str:
    """Return Slack's name for an error, or the HTTP status where there is none."""
    body = getattr(error.response, "data", None)
    name = body.get("error") if isinstance(body, dict) else None
    return one_line(str(name), 80) if name else f"http_{getattr(error.response, 'status_code', 0)}"


def failure_words(error: BaseException) -> str:
    """Return how a call failed, without the address and headers that aiohttp quotes: these let anybody in.

    Example:
    >>> failure_words(aiohttp.InvalidURL("wss://slack.example/?ticket=1")), failure_words(OSError("broken pipe"))
    ('InvalidURL', "OSError('broken pipe')")
    """
    kind = type(error).__name__
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{kind} http_{error.status}"
    return kind if isinstance(error, aiohttp.InvalidURL) else redacted_line(repr(error))


def failure_reason(error: BaseException) -> str:
    """Return in a few words why a call failed."""
    if isinstance(error, SlackApiError):
        return error_name(error)
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.InvalidURL):
        return failure_words(error)
    return "no answer in time" if isinstance(error, TimeoutError) else redacted_line(str(error) or repr(error), 120)


def is_about_content(error: str) -> bool:
    """True for an error of Slack that concerns the content, not the network or a passing state.

    Example:
    >>> is_about_content("invalid_blocks"), is_about_content("http_503"), is_about_content("internal_error")
    (True, False, False)
    """
    return error.isidentifier() and not error.startswith("http_") and error not in PASSING


def retry_after(error: SlackApiError) -> float:
    """Return how many seconds Slack asks to wait; 0 where it does not say."""
    return _retry_after(getattr(error.response, "headers", {}))


def _refusal(error: SlackApiError) -> Outcome:
    name = error_name(error)
    if getattr(error.response, "status_code", 200) == 429 or name in ("ratelimited", "rate_limited"):
        return RetryLater(name, max(1.0, retry_after(error)))
    for names, meaning in ((WORDING, Rejected), (GONE, MessageGone), (NO_ACCESS, NoAccess)):
        if name in names:
            return meaning(name)
    return RetryLater(name)


def _body(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"text": message.text, "parse": "none", "link_names": False}
    return body | ({"blocks": list(message.blocks)} if message.blocks else {})


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        return min(3600.0, float(headers.get("Retry-After") or headers.get("retry-after") or 0))
    except ValueError:
        return 1.0
