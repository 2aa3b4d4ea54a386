"""The simulated Slack workspace as a test's bed: people act in it, calls are recorded and go wrong as a test says."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from aiohttp import web
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.demo.slack import server
from bot.demo.slack.arguments import read_arguments
from bot.demo.slack.delivery import DeliveryTimeouts
from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.message import Message
from bot.demo.slack.socket_mode import SocketMode, disconnection, send_json
from bot.demo.slack.view import View
from bot.domain.contracts import Clock
from tests.changes import until_changed
from tests.faults import RESPONSE_URL, UPLOAD, Fault, Faults, Handler, drop_connection
from tests.slack.rate_limits import RateLimits
from tests.slack.signed_http import SignedHttp

T = TypeVar("T")
LONG = timedelta(seconds=60)
MOST_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that was made. `error` is empty if the answer was `ok`."""

    method: str
    arguments: Mapping[str, Any]
    at: datetime
    status: int
    error: str


class TwiceOver(SocketMode):
    """Sends an envelope twice, and ends connections, where a test says so."""

    faults: Faults

    async def _send(self, envelope: dict[str, Any]) -> bool:
        sent = await super()._send(envelope)
        return await super()._send(envelope) if sent and self.faults.take_duplicate() else sent

    @property
    def connections(self) -> int:
        """The number of connections that accept envelopes."""
        return sum(not each.is_leaving and not each.socket.closed for each in self._connections)

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Ask every connection to disconnect, as Slack does every few hours. After `warning` they keep working."""
        for connection in list(self._connections):
            connection.is_leaving = reason != "warning"
            await send_json(connection.socket, disconnection(reason))

    def drop(self) -> None:
        """Abort every connection, as a broken network does."""
        for connection in list(self._connections):
            connection.is_leaving = True
            if connection.transport is not None:
                connection.transport.abort()


class SlackWorkspace(server.SlackWorkspace):
    """A simulated Slack workspace whose calls go wrong as `faults` say; `limits` can be exact."""

    socket_mode = TwiceOver
    sockets: TwiceOver

    def __init__(
        self,
        origin: str,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        scopes: Iterable[str],
        commands: Any,
        patience: DeliveryTimeouts,
    ) -> None:
        super().__init__(origin, clock, random_bytes, scopes, commands, patience)
        self.faults = self.sockets.faults = Faults({"ok": False, "error": "ratelimited"})
        self.limits = RateLimits(clock)
        self._clock, self._patience, self._names = clock, patience, IdGenerator(clock, random_bytes)
        self._asked: deque[RecordedCall] = deque(maxlen=MOST_REMEMBERED)
        self._closing = asyncio.Event()
        self.say = self._composer.say
        self.click, self.click_in_view = self._interactions.click, self._interactions.click_in_view
        self.submit, self.close = self._interactions.submit, self._interactions.close
        self.open_home = self._interactions.open_home

    def middlewares(self) -> list[Any]:
        return [*super().middlewares(), self._goes_wrong]

    async def close_connections(self) -> None:
        self._closing.set()
        await super().close_connections()

    @web.middleware
    async def _goes_wrong(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Apply the call's fault and its limit, and record it."""
        _, kind, *rest = request.path.split("/")
        method = {"commands": RESPONSE_URL, "actions": RESPONSE_URL, "upload": UPLOAD, "api": rest[0] if rest else ""}
        if kind not in method:
            return await handler(request)
        arguments = await _readable(request) if kind == "api" else {}
        fault = self.faults.take(method[kind])
        response = await self._answer(request, handler, fault, method[kind], str(arguments.get("channel", "")))
        if kind == "api" and isinstance(response, web.Response):
            self._remember(method[kind], arguments, response)
        self.state.changes.wake()
        return response

    async def _answer(
        self, request: web.Request, handler: Handler, fault: Fault | None, method: str, channel: str
    ) -> web.StreamResponse:
        if fault is not None and (suffered := await fault.answer(request, self._closing)) is not None:
            return suffered
        if wait_seconds := self.limits.wait_seconds(method, channel):
            headers = {"Retry-After": str(wait_seconds)}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
        response = await handler(request)
        return drop_connection(request) if fault is not None and fault.is_after_effect else response

    def _remember(self, method: str, arguments: Mapping[str, Any], response: web.Response) -> None:
        error = ""
        if response.status != 200 or response.body is None:
            error = "ratelimited" if response.status == 429 else "lost"
        elif '"ok": false' in (text := response.text or ""):
            error = text.partition('"error": "')[2].partition('"')[0]
        known = {name: value for name, value in arguments.items() if name != "token"}
        self._asked.append(RecordedCall(method, known, self._clock(), response.status, error))

    def deliver_to(self, url: str) -> SignedHttp:
        """Deliver by signed HTTP to this address from now on, instead of Socket Mode."""
        way = SignedHttp(url, self.signing_secret, self._clock, self._names, self.faults, self._patience)
        self.dispatcher.way = way
        return way

    def delete(self, message: Message) -> None:
        """Delete a message that has no replies."""
        del self.state._messages[message.channel][message.ts]
        self.state.changes.wake()

    # --- for tests

    def messages(self, channel: str, user: str | None = None) -> list[Message]:
        """Return a conversation's messages and replies, with the ephemeral ones of `user`."""
        return self.state.messages(channel, user)

    def thread(self, message: Message) -> list[Message]:
        """Return a message and the replies to it."""
        return self.state.thread(message.channel, message.thread_ts or message.ts)

    @property
    def environment(self) -> dict[str, str]:
        """What a program is told that works in it."""
        tokens = {"SLACK_BOT_TOKEN": self.bot_token, "SLACK_APP_TOKEN": self.app_token}
        return {**tokens, "SLACK_API_URL": self.api_url}

    def modal(self, user: str) -> View | None:
        """Return the modal that a person sees."""
        stack = self.state.modals.get(self.state.user(user).id)
        return stack[-1] if stack else None

    def home(self, user: str) -> View | None:
        """Return a person's App Home."""
        return self.state.homes.get(self.state.user(user).id)

    def asked(self, method: str = "") -> list[RecordedCall]:
        """Return the Web API calls so far, or only those of a method."""
        return [each for each in self._asked if method in ("", each.method)]

    async def until(self, question: Callable[[], T | None], timeout: timedelta = LONG, what: str = "a condition") -> T:
        """Wait until the function returns something truthy, and return that. Raises: TimeoutError."""
        return await until_changed(self.state.changes, question, timeout, what)


async def _readable(request: web.Request) -> dict[str, Any]:
    return read_arguments(request.headers.get("Content-Type", ""), await request.read(), request.query)


def now() -> datetime:
    """The real clock."""
    return datetime.now(UTC)


class SteppedClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def move(self, by: timedelta) -> None:
        """Let time pass."""
        self.at += by


@asynccontextmanager
async def workspace(**settings: Any) -> AsyncIterator[SlackWorkspace]:
    """A workspace of its own for one test."""
    settings.setdefault("clock", now)
    exact_limits = settings.pop("exact_limits", False)
    async with SlackWorkspace.start(random_bytes=os.urandom, **settings) as started:
        assert isinstance(started, SlackWorkspace)
        started.limits.are_exact = exact_limits
        yield started


def client(slack: SlackWorkspace, token: str | None = None) -> AsyncWebClient:
    """Return the real Web API client, pointed at the workspace and carrying the bot's token unless told otherwise."""
    return AsyncWebClient(token=slack.bot_token if token is None else token, base_url=slack.api_url)


@asynccontextmanager
async def bolt(slack: SlackWorkspace) -> AsyncIterator[AsyncApp]:
    """Bolt's own app, connected over Socket Mode."""
    app = AsyncApp(client=client(slack), ignoring_self_events_enabled=False)
    async with AsyncExitStack() as stack:
        handler = AsyncSocketModeHandler(
            app, slack.app_token, web_client=client(slack, slack.app_token), ping_interval=0.2
        )
        stack.push_async_callback(handler.close_async)
        await handler.connect_async()  # type: ignore[no-untyped-call]
        await slack.until(lambda: slack.sockets.connections == 1, what="Bolt's connection")
        yield app
