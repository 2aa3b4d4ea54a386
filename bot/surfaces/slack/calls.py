"""Calls to Slack that show something to people: the meaning of each answer, how long to wait, how many to send.

Errors: https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update, and
https://docs.slack.dev/interactivity/handling-user-interaction for a command's response address.
Limits: https://docs.slack.dev/apis/web-api/rate-limits
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.addresses import is_loopback
from bot.domain.contracts import Log, Outbox, Seconds
from bot.domain.errors import CannotTell, LedgerError
from bot.domain.post import MessageRef
from bot.domain.safe_text import one_line
from bot.surfaces.slack.message import Message

# Slack never accepts this wording, however often it is sent.
WORDING = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text"})
# Slack cannot answer now; its other refusals of a token or file are final.
PASSING = frozenset({"ratelimited", "internal_error", "fatal_error", "service_unavailable", "request_timeout"})
# The message to edit or the thread to post into is gone, or is not the bot's.
GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"})
# The bot may not write in that channel.
NO_ACCESS = frozenset({"channel_not_found", "not_in_channel", "is_archived", "restricted_action", "no_permission"})


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


@dataclass(frozen=True, slots=True)
class Timing:
    """All waits, in seconds; tests hand in shorter values.

    Shape: a failed call is tried again after `first_pause`, then after twice as long each time, up to `longest_pause`;
    Slack's Retry-After goes before both. Progress is edited every `edit_every` at most. The spans are those over which
    Slack counts edits, and posts in a channel. `posts_apart` is the distance between alerts' posts in a channel.
    `sweep_every` is how often the outbox is searched for posts that no worker sends. `drain` is for readings that run
    when the bot stops, `post_drain` for posting their verdicts; together they stay within the 30 s that Kubernetes
    gives.
    """

    clock: Seconds = time.monotonic
    call_limit: float = 12.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    edit_every: float = 2.0
    edits_span: float = 60.0
    posts_span: float = 3.5
    posts_apart: float = 1.2
    ping_every: float = 10.0
    sweep_every: float = 5.0
    drain: float = 17.0
    post_drain: float = 5.0
    hang_up: float = 2.0


@dataclass(frozen=True, slots=True)
class Delivered:
    """Slack has the message; `place` is where, None if only one person sees it."""

    place: MessageRef | None = None


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Slack could not be reached or cannot do it now: try again, after `seconds` where Slack named them."""

    error: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Rejected:
    """Slack never accepts this wording."""

    error: str


@dataclass(frozen=True, slots=True)
class MessageGone:
    """The message to edit or the thread to answer in is gone."""

    error: str


@dataclass(frozen=True, slots=True)
class NoAccess:
    """The bot may not write there."""

    error: str


# How a call of Slack's Web API fails; ValueError: a 200 without JSON, from a proxy on the way to Slack.
FAILURES = (SlackApiError, aiohttp.ClientError, TimeoutError, OSError, ValueError)
Outcome: TypeAlias = Delivered | RetryLater | Rejected | MessageGone | NoAccess


class Web(Protocol):
    """Posts JSON to an address; returns status and headers."""

    async def __call__(self, url: str, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str]]:
        """Post. Raises: OSError or aiohttp.ClientError when the address cannot be reached."""
        ...


class Calls:
    """Posts, edits, answers, and opens dialogs; each call ends within `limit_seconds`."""

    def __init__(self, client: AsyncWebClient, web: Web, limit_seconds: float, log: Log) -> None:
        self._client = client
        self._web = web
        self._limit = limit_seconds
        self._log = log

    async def post(self, channel: str, thread_ts: str, message: Message) -> Outcome:
        """Post a new message in a channel, or in a thread there."""
        body = _body(message) | ({"thread_ts": thread_ts} if thread_ts else {})
        body |= {"reply_broadcast": True} if thread_ts and message.broadcast else {}
        call = self._client.chat_postMessage(
            channel=channel, mrkdwn=False, link_names=False, unfurl_links=False, unfurl_media=False, **body
        )
        return await self._made(call)

    async def edit(self, place: MessageRef, message: Message) -> Outcome:
        """Replace the text and the blocks of a posted message."""
        body = {"blocks": [], **_body(message)}  # an empty list removes the old blocks
        return await self._made(self._client.chat_update(channel=place.channel, ts=place.ts, link_names=False, **body))

    async def post_ephemeral(self, channel: str, user: str, thread_ts: str, message: Message) -> Outcome:
        """Post a message in a channel that only one person sees."""
        body = _body(message) | ({"thread_ts": thread_ts} if thread_ts else {})
        return await self._made(self._client.chat_postEphemeral(channel=channel, user=user, link_names=False, **body))

    async def answer(self, url: str, message: Message) -> Outcome:
        """Answer a slash command at its response address, which takes five answers within half an hour."""
        body = {"response_type": "ephemeral", "text": message.text, "blocks": list(message.blocks)}
        try:
            async with asyncio.timeout(self._limit):
                status, headers = await self._web(url, body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return RetryLater(one_line(repr(error)))
        if status < 300:
            return Delivered()
        if status == 429 or status >= 500:
            return RetryLater(f"http_{status}", _retry_after(headers))
        return Rejected(f"http_{status}") if status == 400 else MessageGone(f"http_{status}")

    async def open_dialog(self, trigger: str, view: Mapping[str, Any]) -> None:
        """Open a dialog for the person who clicked. Raises: CannotTell where Slack does not open it.

        A trigger lives three seconds and works once, so there is no second try.
        """
        outcome = await self._made(self._client.views_open(trigger_id=trigger, view=dict(view)))
        if error := self._noted("dialog", outcome):
            raise CannotTell(f"Slack did not open the dialog ({error}).", "Click again.")

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> None:
        """Show a person the App Home; a failure is only logged, because they can open it again."""
        self._noted("home", await self._made(self._client.views_publish(user_id=user, view=dict(view))))

    def _noted(self, view: str, outcome: Outcome) -> str:
        """Log why a view is not shown, and return it in short; empty where it is shown."""
        if isinstance(outcome, Delivered):
            return ""
        self._log("slack_failed", view=view, error=outcome.error)
        return outcome.error if outcome.error.isidentifier() else "no answer"

    async def _made(self, call: Awaitable[Any]) -> Outcome:
        try:
            async with asyncio.timeout(self._limit):
                answer = await call
        except SlackApiError as error:
            return _refusal(error)
        except FAILURES as error:
            return RetryLater(one_line(repr(error)))
        return Delivered(MessageRef(str(answer["channel"]), str(answer["ts"])) if answer.get("ts") else None)


def error_name(error: SlackApiError) -> str:
    """Return Slack's name for an error, or the HTTP status where there is none."""
    body = getattr(error.response, "data", None)
    name = body.get("error") if isinstance(body, dict) else None
    return one_line(str(name), 80) if name else f"http_{getattr(error.response, 'status_code', 0)}"


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
    body: dict[str, Any] = {"text": message.text, "parse": "none"}
    return body | ({"blocks": list(message.blocks)} if message.blocks else {})


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        return min(3600.0, float(headers.get("Retry-After") or headers.get("retry-after") or 0))
    except ValueError:
        return 1.0


SUMMARY = -1  # a message that sums up many cards goes before them
FIRST = 0  # decisions and their outcome, and cards before their details
VERDICT = 1
LAST = 9  # progress and details

Rank: TypeAlias = Callable[[], int]


@dataclass(slots=True, eq=False)
class _Waiting:
    rank: Rank
    number: int
    turn: asyncio.Future[None]


class RateLimiter:
    """Lets `calls` through in any `span_seconds`: the lowest rank first, equal ranks in order of arrival.

    Shape: ranks are read again whenever there is room, because waiting progress may have become a verdict; call `look`
    when a rank has changed. `reserved` is how many calls the last rank leaves to the others.
    """

    def __init__(self, calls: int, span_seconds: float, clock: Seconds, reserved: Rank = lambda: 0) -> None:
        self._calls = calls
        self._span = span_seconds
        self._clock = clock
        self._reserved = reserved
        self._through: deque[float] = deque()
        self._closed_until = clock()
        self._waiting: list[_Waiting] = []
        self._numbers = itertools.count()
        self._timer: asyncio.TimerHandle | None = None

    def is_idle(self) -> bool:
        """True when nothing waits here and no earlier call still counts."""
        self._forget()
        return not self._waiting and not self._through and self._clock() >= self._closed_until

    async def turn(self, rank: Rank) -> None:
        """Wait for a turn, and take it."""
        waiting = _Waiting(rank, next(self._numbers), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self.look()
        await waiting.turn

    def pause(self, seconds: float) -> None:
        """Let nothing through for so many seconds: Slack said Retry-After."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    def look(self) -> None:
        """Let through every call that may go now."""
        self._forget()
        self._waiting = [waiting for waiting in self._waiting if not waiting.turn.done()]  # drop those that gave up
        while self._waiting and self._clock() >= self._closed_until:
            first = min(self._waiting, key=lambda waiting: (waiting.rank(), waiting.number))
            room = self._calls - len(self._through)
            if room <= (self._reserved() if first.rank() == LAST else 0):
                break
            self._waiting.remove(first)
            self._through.append(self._clock())
            first.turn.set_result(None)
        self._look_again()

    def _forget(self) -> None:
        while self._through and self._clock() - self._through[0] >= self._span:
            self._through.popleft()

    def _look_again(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        now = self._clock()
        waits = [self._closed_until - now] if self._closed_until > now else []
        if not waits and self._through:
            waits.append(self._through[0] + self._span - now)
        if waits:  # otherwise only another rank or fewer reserved calls make room
            self._timer = asyncio.get_running_loop().call_later(max(0.001, waits[0]), self.look)


POSTS = 3  # per channel in a little over three seconds: Slack allows about one a second, in short bursts
POSTS_RESERVED = 1  # details leave this room for the next card
CHANNELS_REMEMBERED = 100


class ChannelTurns:
    """When the next message may be posted in each channel: within Slack's limits, apart from other programs' posts."""

    def __init__(self, outbox: Outbox, timing: Timing) -> None:
        self._outbox = outbox
        self._timing = timing
        self._channels: dict[str, RateLimiter] = {}

    def of(self, channel: str) -> RateLimiter:
        """Return the limiter of this program's turns in a channel."""
        if channel not in self._channels:
            if len(self._channels) >= CHANNELS_REMEMBERED:
                self._channels = {name: limiter for name, limiter in self._channels.items() if not limiter.is_idle()}
            self._channels[channel] = RateLimiter(
                POSTS, self._timing.posts_span, self._timing.clock, lambda: POSTS_RESERVED
            )
        return self._channels[channel]

    async def apart(self, channel: str) -> None:
        """Keep a distance to other programs' posts there; without the outbox, only Slack's limit applies."""
        if not self._timing.posts_apart:
            return
        with contextlib.suppress(LedgerError):
            until = await self._outbox.turn(channel, timedelta(seconds=self._timing.posts_apart))
            await asyncio.sleep(until.total_seconds())
