"""The connection to Slack: its Web API, and Socket Mode with an app token or signed HTTP without."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.contracts import Clock, Log
from bot.domain.errors import CannotTell, SettingsError
from bot.domain.safe_text import one_line
from bot.surfaces.slack.calls import FAILURES, PASSING, Calls, Timing, error_name
from bot.surfaces.slack.dialog import MetadataSigner
from bot.surfaces.slack.member import SlackTokens
from bot.surfaces.slack.people import People, Workspace
from bot.surfaces.slack.signed_http import SignedHttp
from bot.surfaces.slack.socket_mode import SocketMode
from bot.surfaces.slack.uploads import Uploads
from bot.surfaces.web_limits import UNREAD

T = TypeVar("T")
WHAT_IT_IS = {
    "SLACK_BOT_TOKEN": "It is the xoxb-… token of “OAuth & Permissions”, once the app is installed: "
    "SLACK_BOT_TOKEN=xoxb-1234-… zombie serve",
    "SLACK_APP_TOKEN": "It is an xapp-… token of “Basic Information”, “App-Level Tokens”, with the scope "
    "connections:write: SLACK_APP_TOKEN=xapp-1-… zombie serve",
}
# The outcome that is counted for a request that is not passed on, by the status answered.
UNHEARD = {400: "malformed", 401: "unauthorized"}


class CountRequest(Protocol):
    """Counts a request from Slack."""

    def __call__(self, source: str, outcome: str, seconds: float, /) -> None:
        """Count it: its outcome, and how long the answer took."""
        ...


class SlackConnection:
    """An app in a workspace: `app` takes listeners, `calls` sends messages, `signer` signs dialogs' metadata."""

    def __init__(
        self,
        tokens: SlackTokens,
        timing: Timing,
        now: Clock,
        log: Log,
        logger: logging.Logger,
        counted: CountRequest | None = None,
    ) -> None:
        self._tokens = tokens
        self._counted = counted
        self._timing = timing
        self._log = log
        self._client = web_client(tokens.bot, tokens.api_url)
        self._opener = web_client(tokens.app, tokens.api_url)
        self._authorized: AuthorizeResult | None = None
        self.workspace = Workspace()  # empty until Slack has said which
        self.signer = MetadataSigner(tokens.bot)  # the same in every program that has this app's token
        self.app = self._bolt_app(logger)
        self.calls = Calls(self._client, self._post, timing.call_limit)
        self.uploads = Uploads(self._client, self._send, timing.call_limit)
        self._http = SignedHttp(tokens.signing_secret, now, self._dispatch)
        self._session: aiohttp.ClientSession | None = None
        self._sockets: SocketMode | None = None
        self._first_address = ""
        self._takes = False

    @property
    def by_socket(self) -> bool:
        """True when Slack reaches the bot by Socket Mode."""
        return bool(self._tokens.app)

    @property
    def is_connected(self) -> bool:
        """True while Slack can reach the bot, as far as known."""
        return self._takes and (self._sockets is None or self._sockets.is_connected)

    async def start(self) -> str:
        """Ask Slack who the bot is and begin to listen; returns why Slack cannot be reached now, or an empty string.

        Raises: SettingsError when Slack rejects a token.
        """
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._timing.call_limit))
            self._client.session = self._opener.session = self._session
        try:
            async with asyncio.timeout(self._timing.call_limit):
                who = await _accepted("SLACK_BOT_TOKEN", self._client.auth_test())
                if self.by_socket:
                    # Asked at the start, because a wrong token can be reported only to the person who starts the bot.
                    self._first_address = await _accepted("SLACK_APP_TOKEN", self._new_address())
        except SlackApiError as error:
            return error_name(error)
        except FAILURES as error:
            return one_line(str(error) or repr(error))
        url = str(who.get("url") or "")
        self.workspace = Workspace(
            str(who.get("team_id") or ""),
            str(who.get("enterprise_id") or ""),
            bool(who.get("is_enterprise_install")),
            url if url.startswith("https://") or is_loopback(url) else "",
        )
        self._authorized = AuthorizeResult.from_auth_test_response(bot_token=self._tokens.bot, auth_test_response=who)
        self._takes = True
        if self.by_socket:
            self._sockets = SocketMode(
                self._session, self._client.proxy, self._address, self._bring, self._timing, self._log
            )
            self._sockets.start()
            await self._sockets.connected()
        return ""

    async def stop_listening(self) -> None:
        """Accept nothing more; messages may still be posted."""
        self._takes = False
        if self._sockets is not None:
            await self._sockets.stop(self._timing.hang_up)

    async def stop(self) -> None:
        """Hang up."""
        if self._session is not None:
            await self._session.close()

    async def open_dialog(self, trigger: str, view: Mapping[str, Any]) -> None:
        """Open a dialog for the person who clicked. Raises: CannotTell where Slack does not open it.

        A trigger lives three seconds and works once, so there is no second try.
        """
        if error := await self._shown("dialog", self._client.views_open(trigger_id=trigger, view=dict(view))):
            raise CannotTell(f"Slack did not open the dialog ({error}).", "Click again.")

    def people(self, groups: Collection[str]) -> People:
        """Return the directory of people, which asks Slack; `groups` are the approver groups."""
        return People(self._client, self, groups, self._timing.clock, self._timing.call_limit)

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> None:
        """Show a person the App Home; a failure is only logged, because they can open it again."""
        await self._shown("home", self._client.views_publish(user_id=user, view=dict(view)))

    def routes(self) -> tuple[tuple[str, Callable[[web.Request], Awaitable[web.Response]]], ...]:
        """Return the HTTP routes by which Slack reaches the bot; none in Socket Mode."""
        return () if self.by_socket else (("/slack/events", self._receive),)

    # --- both ways in

    def _bolt_app(self, logger: logging.Logger) -> AsyncApp:
        async def authorize() -> AuthorizeResult:
            assert self._authorized is not None  # one workspace, one token: read at the start, not for each event
            return self._authorized

        level = logger.level
        logger.setLevel(logging.ERROR)  # Bolt warns that it uses only one of two tokens; its choice is right
        app = AsyncApp(
            client=self._client,
            authorize=authorize,
            signing_secret=self._tokens.signing_secret or "unused",
            request_verification_enabled=False,  # signed_http verifies the raw bytes before anything reads them
            process_before_response=True,  # listeners acknowledge and pass on, so they return quickly
            logger=logger,
        )
        logger.setLevel(level)
        return app

    async def _dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        began, outcome = self._timing.clock(), "failed"
        try:
            response: BoltResponse = await self.app.async_dispatch(request)
            outcome = {200: "accepted", 404: "ignored"}.get(response.status, "failed")
        finally:
            if self._counted is not None:
                self._counted("slack", outcome, self._timing.clock() - began)
        if response.status == 404:  # the bot has no listener; without a 200 Slack would deliver it again and again
            return BoltResponse(status=200)
        return response

    async def _receive(self, request: web.Request) -> web.Response:
        if not self._takes:
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

    async def _bring(self, envelope: Mapping[str, Any]) -> Mapping[str, Any] | None:
        payload = envelope.get("payload")
        if not isinstance(payload, dict) or not self._takes:
            return None
        response = await self._dispatch(AsyncBoltRequest(mode="socket_mode", body=payload))
        if response.status != 200:
            return None
        answer = json.loads(response.body) if response.body.startswith("{") else {"text": response.body}
        return answer if response.body else {}

    async def _address(self) -> str:
        address, self._first_address = self._first_address, ""
        return address or await self._new_address()

    async def _new_address(self) -> str:
        return str((await self._opener.apps_connections_open(app_token=self._tokens.app))["url"])

    # --- calls

    async def _shown(self, view: str, call: Awaitable[object]) -> str:
        """Make the call that shows a view; return why it is not shown, or an empty string."""
        try:
            async with asyncio.timeout(self._timing.call_limit):
                await call
        except SlackApiError as error:
            self._log("slack_failed", view=view, error=error_name(error))
            return error_name(error)
        except FAILURES as error:
            self._log("slack_failed", view=view, error=one_line(repr(error)))
            return "no answer"
        return ""

    async def _post(self, url: str, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str]]:
        assert self._session is not None
        async with self._session.post(url, json=body, proxy=self._client.proxy) as answered:
            return answered.status, answered.headers

    async def _send(self, url: str, content: bytes) -> tuple[int, Mapping[str, str]]:
        assert self._session is not None
        kind = {"Content-Type": "application/octet-stream"}
        async with self._session.post(
            url, data=content, headers=kind, proxy=self._client.proxy, allow_redirects=False
        ) as answered:
            return answered.status, answered.headers


def web_client(token: str, api_url: str) -> AsyncWebClient:
    """Return a client of Slack's Web API, without a session yet."""
    client = AsyncWebClient(token=token or None, base_url=api_url)
    if is_loopback(api_url):
        client.proxy = None  # a proxy from the environment cannot reach this machine
    return client


@asynccontextmanager
async def short_client(token: str, api_url: str, seconds: float) -> AsyncIterator[AsyncWebClient]:
    """Yield a client with a session of its own, in which each call ends within so many seconds."""
    client = web_client(token, api_url)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=seconds)) as session:
        client.session = session
        yield client


def is_loopback(url: str) -> bool:
    """True when a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _accepted(name: str, call: Awaitable[T]) -> T:
    try:
        return await call
    except SlackApiError as error:
        refusal = error_name(error)
        if getattr(error.response, "status_code", 0) != 200 or refusal in PASSING:
            raise
        raise SettingsError(f"Slack rejects {name}: {refusal}.", WHAT_IT_IS[name]) from error
