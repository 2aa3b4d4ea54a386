"""The way to Slack: its Web API, Socket Mode where there is an app token, and signed HTTP where there is none."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.errors import SettingsError
from bot.domain.safe_text import one_line
from bot.surfaces.slack.message import Message

SLACK_API = "https://slack.com/api/"
PING_SECONDS = 10.0
CALL_SECONDS = 12


@dataclass(frozen=True, slots=True)
class SlackTokens:
    """What Slack gave the app; never shown, not even by repr."""

    bot: str = field(repr=False)
    app: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    api_url: str = SLACK_API


class SlackConnection:
    """One app in one workspace. `app` takes listeners; `client` is its Web API."""

    def __init__(self, tokens: SlackTokens, log: logging.Logger) -> None:
        self._tokens = tokens
        self._log = log
        self.client = AsyncWebClient(token=tokens.bot, base_url=tokens.api_url, timeout=CALL_SECONDS)
        self.app = AsyncApp(
            client=self.client,
            signing_secret=tokens.signing_secret or "unused-in-socket-mode",
            request_verification_enabled=bool(tokens.signing_secret),
            logger=log,
            # One workspace, one token: it is checked once at start, not before every event.
            ssl_check_enabled=True,
            url_verification_enabled=True,
        )
        self._socket: AsyncSocketModeHandler | None = None
        self._http: aiohttp.ClientSession | None = None

    @property
    def by_socket(self) -> bool:
        """True when Slack reaches us by Socket Mode."""
        return bool(self._tokens.app)

    async def start(self) -> str:
        """Check the token, connect, and return the bot's team.

        Raises: SettingsError when Slack does not take the tokens.
        """
        if not (self._tokens.app or self._tokens.signing_secret):
            raise SettingsError(
                "Slack cannot reach the bot: neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set.",
                "Set SLACK_APP_TOKEN=xapp-… for Socket Mode (no inbound port), or SLACK_SIGNING_SECRET for HTTP.",
            )
        self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=CALL_SECONDS))
        try:
            who = await self.client.auth_test()
        except SlackApiError as error:
            raise SettingsError(
                f"Slack does not take SLACK_BOT_TOKEN: {error.response.get('error')}.",
                "It is the xoxb-… token of “OAuth & Permissions”, after the app was installed.",
            ) from error
        if self._tokens.app:
            # The handler opens its connections with a client of its own: given none it would use the bot's token.
            opener = AsyncWebClient(token=self._tokens.app, base_url=self._tokens.api_url, timeout=CALL_SECONDS)
            self._socket = AsyncSocketModeHandler(
                self.app, self._tokens.app, web_client=opener, ping_interval=PING_SECONDS, logger=self._log
            )
            await self._socket.connect_async()  # type: ignore[no-untyped-call]
        return str(who.get("team_id", ""))

    async def stop_listening(self) -> None:
        """Take nothing more; what is under way may still be posted."""
        if self._socket is not None:
            await self._socket.close_async()  # type: ignore[no-untyped-call]

    async def stop(self) -> None:
        """Hang up."""
        if self._http is not None:
            await self._http.close()

    async def connected(self) -> bool:
        """True while Slack can reach us, as far as can be told."""
        return self._socket is None or bool(await self._socket.client.is_connected())

    async def answer(self, url: str, message: Message) -> None:
        """Answer a slash command at its own address, in private.

        Raises: OSError or aiohttp.ClientError when Slack cannot be reached.
        """
        assert self._http is not None
        body = {"response_type": "ephemeral", "text": message.text}
        async with self._http.post(url, json=body) as answered:
            if answered.status >= 400:
                self._log.warning("slack answer refused: %s", answered.status)

    def routes(self) -> tuple[tuple[str, Callable[[web.Request], object]], ...]:
        """Return the HTTP routes by which Slack reaches us, where a signing secret is set."""
        return (("/slack/events", self._event),) if self._tokens.signing_secret else ()

    async def _event(self, request: web.Request) -> web.Response:
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        if not stamp.isdigit():  # the verifier would stumble over it
            return web.Response(status=401, text="no valid timestamp")
        try:
            return await to_aiohttp_response(await self.app.async_dispatch(await to_bolt_request(request)))
        except UnicodeDecodeError as error:
            return web.Response(status=400, text=one_line(str(error)))
