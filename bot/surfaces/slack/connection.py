"""The connection to Slack: its Web API, and Socket Mode with an app token or signed HTTP without."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import timedelta
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError

from bot.chat.commands import Commands
from bot.chat.connection import ChatConnection
from bot.chat.decisions import Decisions
from bot.chat.dialog import MetadataSigner
from bot.chat.home import HomePublisher
from bot.chat.service import Timing
from bot.domain.addresses import is_loopback
from bot.domain.contracts import Clock, Log
from bot.domain.errors import SettingsError
from bot.domain.post import MessageRef
from bot.domain.safe_text import one_line
from bot.surfaces.hooks import Counted
from bot.surfaces.slack.calls import FAILURES, PASSING, Calls, error_name, failure_reason, web_client
from bot.surfaces.slack.listeners import Listeners
from bot.surfaces.slack.people import SlackPeople, Workspace
from bot.surfaces.slack.socket_mode import SocketMode
from bot.surfaces.slack.tokens import SlackTokens
from bot.surfaces.web_limits import UNREAD, read_request_body

T = TypeVar("T")
WHAT_IT_IS = {
    "SLACK_BOT_TOKEN": "It is the xoxb-… token of “OAuth & Permissions”, once the app is installed: "
    "SLACK_BOT_TOKEN=xoxb-1234-… zombie serve",
    "SLACK_APP_TOKEN": "It is an xapp-… token of “Basic Information”, “App-Level Tokens”, with the scope "
    "connections:write: SLACK_APP_TOKEN=xapp-1-… zombie serve",
}
# The outcome that is counted for a request that is not passed on, by the status answered.
UNHEARD = {400: "malformed", 401: "unauthorized"}


class SlackConnection(ChatConnection):
    """An app in a workspace: `listeners` take what it delivers, `calls` shows messages, `signer` signs dialogs."""

    def __init__(
        self,
        tokens: SlackTokens,
        timing: Timing,
        now: Clock,
        log: Log,
        logger: logging.Logger,
        counted: Counted | None = None,
    ) -> None:
        self._tokens = tokens
        self._counted = counted
        self._timing = timing
        self._log = log
        self._client = web_client(tokens.bot, tokens.api_url)
        self._opener = web_client(tokens.app, tokens.api_url)
        self.workspace = Workspace()  # empty until Slack has said which
        self.signer = MetadataSigner(tokens.bot)  # the same in every program that has this app's token
        self.listeners = Listeners(self._client, timing.clock, logger, counted)
        self.calls = Calls(self._client, self._post, timing.call_limit, log)
        self._http = SignedHttp(tokens.signing_secret, now, self.listeners.dispatch)
        self._session: aiohttp.ClientSession | None = None
        self._sockets: SocketMode | None = None
        self._first_address = ""

    word = "Slack"

    @property
    def by(self) -> str:  # type: ignore[override]
        """How Slack reaches the bot."""
        return "socket" if self.by_socket else "http"

    @property
    def by_socket(self) -> bool:
        """True when Slack reaches the bot by Socket Mode."""
        return bool(self._tokens.app)

    @property
    def is_connected(self) -> bool:
        """True while Slack can reach the bot, as far as known."""
        return self.listeners.is_open and (self._sockets is None or self._sockets.is_connected)

    async def start(self) -> str:
        """Ask Slack who the bot is and begin to listen; returns why Slack cannot be reached now, or an empty string.

        Raises: SettingsError when Slack rejects a token.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._timing.call_limit))
            self._client.session = self._opener.session = self._session
        try:
            async with asyncio.timeout(self._timing.call_limit):
                who = await _call_or_explain("SLACK_BOT_TOKEN", self._client.auth_test())
                if self.by_socket:
                    # Asked at the start, because a wrong token can be reported only to the person who starts the bot.
                    self._first_address = await _call_or_explain("SLACK_APP_TOKEN", self._new_address())
        except SlackApiError as error:
            return error_name(error)
        except FAILURES as error:
            return failure_reason(error)
        url = str(who.get("url") or "")
        self.workspace = Workspace(
            str(who.get("team_id") or ""),
            str(who.get("enterprise_id") or ""),
            bool(who.get("is_enterprise_install")),
            url if url.startswith("https://") or is_loopback(urlsplit(url).hostname or "") else "",
        )
        self.listeners.authorized = AuthorizeResult.from_auth_test_response(
            bot_token=self._tokens.bot, auth_test_response=who
        )
        self.listeners.is_open = True
        if self.by_socket:
            self._sockets = SocketMode(
                self._session, self._client.proxy, self._address, self.listeners.bring, self._timing, self._log
            )
            self._sockets.start()
            await self._sockets.wait_until_connected()
        return ""

    async def stop_listening(self) -> None:
        """Accept nothing more; messages may still be posted."""
        self.listeners.is_open = False
        if self._sockets is not None:
            await self._sockets.stop(self._timing.hang_up)

    async def stop(self) -> None:
        """Hang up."""
        if self._session is not None:
            await self._session.close()

    def listen(self, commands: Commands, home: HomePublisher, decisions: Decisions) -> None:
        """Take what Slack delivers from now on, and hand it to these."""
        self.listeners.bind(commands, home, decisions)

    def address(self, place: MessageRef) -> str:
        """Return the address of a message; empty while the workspace's address is unknown."""
        return self.workspace.permalink(place)

    def people(self, groups: Collection[str]) -> SlackPeople:
        """Return the directory of people, which asks Slack; `groups` are the approver groups."""
        return SlackPeople(self._client, self, groups, self._timing.clock, self._timing.call_limit)

    def routes(self) -> tuple[tuple[str, Callable[[web.Request], Awaitable[web.Response]]], ...]:
        """Return the HTTP routes by which Slack reaches the bot; none in Socket Mode."""
        return () if self.by_socket else (("/slack/events", self._receive),)

    # --- both ways in

    async def _receive(self, request: web.Request) -> web.Response:
        if not self.listeners.is_open:
            return web.Response(status=503, text="not ready")
        began, outcome = self._timing.clock(), ""
        try:
            response = await self._http.receive(request)
            outcome = UNHEARD.get(response.status, "")
            return response
        except web.HTTPException as no:
            outcome = UNREAD.get(no.status_code, "")
            raise
        finally:  # what was passed on is counted there
            if self._counted is not None and outcome:
                self._counted("slack", outcome, self._timing.clock() - began)

    async def _address(self) -> str:
        address, self._first_address = self._first_address, ""
        return address or await self._new_address()

    async def _new_address(self) -> str:
        return str((await self._opener.apps_connections_open(app_token=self._tokens.app))["url"])

    # --- calls

    async def _post(self, url: str, body: Mapping[str, Any] | bytes) -> tuple[int, Mapping[str, str]]:
        assert self._session is not None
        sent: dict[str, Any] = {"json": body}
        if isinstance(body, bytes):
            sent = {"data": body, "headers": {"Content-Type": "application/octet-stream"}, "allow_redirects": False}
        async with self._session.post(url, proxy=self._client.proxy, **sent) as answered:
            return answered.status, answered.headers


async def _call_or_explain(name: str, call: Awaitable[T]) -> T:
    try:
        return await call
    except SlackApiError as error:
        refusal = error_name(error)
        if getattr(error.response, "status_code", 0) != 200 or refusal in PASSING:
            raise
        raise SettingsError(f"Slack rejects {name}: {refusal}.", WHAT_IT_IS[name]) from error


# --- Signed HTTP: Slack posts to the bot's address, and signs each request with the app's secret
#
# The signature: https://docs.slack.dev/authentication/verifying-requests-from-slack


WINDOW = timedelta(minutes=5)  # an older request may be a replay; a repetition within it has a known key
_DIGITS = 12
Dispatch: TypeAlias = Callable[[AsyncBoltRequest], Awaitable[BoltResponse]]  # passes a request to its listener


class SignedHttp:
    """Accepts what Slack posts, once the signature is verified."""

    def __init__(self, secret: str, now: Clock, dispatch: Dispatch) -> None:
        self._secret = secret.encode()
        self._now = now
        self._dispatch = dispatch

    async def receive(self, request: web.Request) -> web.Response:
        """Answer a request."""
        body = await read_request_body(request)
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        if not self._is_signed(stamp, request.headers.get("X-Slack-Signature", ""), body):
            return web.Response(status=401, text="not signed by Slack")
        try:
            received = AsyncBoltRequest(body=body.decode(), query=request.query_string, headers=dict(request.headers))
        except (ValueError, AttributeError, TypeError) as error:  # no UTF-8, no JSON, or not in Slack's form
            return web.Response(status=400, text=one_line(str(error)))
        if not _is_of_slacks_shape(received.body):  # Bolt would fail on it, and Slack would deliver it again
            return web.Response(status=400, text="a payload without the fields of its type")
        return await to_aiohttp_response(await self._dispatch(received))

    def _is_signed(self, stamp: str, signature: str, body: bytes) -> bool:
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= _DIGITS):
            return False
        if abs(self._now().timestamp() - int(stamp)) > WINDOW.total_seconds():
            return False
        digest = hmac.new(self._secret, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(f"v0={digest}".encode(), signature.encode(errors="replace"))


def _is_of_slacks_shape(body: Mapping[str, Any]) -> bool:
    """True where a payload has the fields that its type promises: https://docs.slack.dev/reference/interaction-payloads."""
    match body.get("type"):
        case "block_actions":
            actions = body.get("actions")
            first = actions[0] if isinstance(actions, list) and actions else None
            return isinstance(first, dict) and isinstance(first.get("action_id"), str)
        case "view_submission":
            view = body.get("view")
            return isinstance(view, dict) and isinstance(view.get("type"), str)
        case "event_callback":
            return isinstance(body.get("event"), dict)
    return True
