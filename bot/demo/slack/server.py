"""The simulated Slack workspace: a server on loopback for the tests and the demo."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from bot.demo.loopback import opened, served
from bot.demo.slack.access import DEFAULT_SCOPES, Access
from bot.demo.slack.arguments import Arguments
from bot.demo.slack.call import Call
from bot.demo.slack.composer import COMMANDS, Composer, SlashCommand
from bot.demo.slack.delivery import DeliveryTimeouts
from bot.demo.slack.dispatcher import Dispatcher
from bot.demo.slack.ids import IdGenerator, RandomBytes
from bot.demo.slack.interactions import Interactions
from bot.demo.slack.page import Page
from bot.demo.slack.page_guard import PageGuard
from bot.demo.slack.payloads import Payloads
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.response_urls import ResponseUrls
from bot.demo.slack.socket_mode import SocketMode
from bot.demo.slack.triggers import Triggers
from bot.demo.slack.uploads import MOST_BYTES, Uploads
from bot.demo.slack.web_api import WebApi
from bot.demo.slack.workspace import Workspace
from bot.domain.contracts import Clock


class SlackWorkspace:
    """A simulated Slack workspace. Tests have one in which things go wrong (tests/slack/workspace.py).

    Example: `async with SlackWorkspace.start(clock=clock, random_bytes=os.urandom) as slack: …` and then
    `AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)`
    """

    socket_mode = SocketMode

    def __init__(
        self,
        origin: str,
        clock: Clock,
        random_bytes: RandomBytes,
        scopes: Iterable[str],
        commands: tuple[SlashCommand, ...],
        patience: DeliveryTimeouts,
    ) -> None:
        self.origin = origin
        names = IdGenerator(clock, random_bytes)
        self.state = Workspace(names)
        self.triggers = Triggers(clock, names)
        self.access = Access.grant(names, scopes)
        self.sockets = self.socket_mode(names, self.state.changes, patience, origin)
        self.dispatcher = Dispatcher(self.sockets, patience, self.state.changes)
        self._urls = ResponseUrls(clock, names, self.state, origin)
        asked = (Arguments({}), self.state, self.access, self.triggers, Uploads(clock, names))
        self._api = WebApi(Call(*asked, origin, self.sockets.ticket))
        payloads = Payloads(self.access, names)
        hands = (self.state, self.dispatcher, payloads, self.triggers, self._urls, clock)
        self._composer = Composer(*hands, self.access, commands)
        self._interactions = Interactions(*hands, f"{origin}/page/files")
        self._guard = PageGuard(names, origin)
        self.page = Page(self.state, self._composer, self._interactions, self._guard)

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        *,
        clock: Clock,
        random_bytes: RandomBytes,
        port: int = 0,
        scopes: Iterable[str] = DEFAULT_SCOPES,
        commands: tuple[SlashCommand, ...] = COMMANDS,
        patience: DeliveryTimeouts | None = None,
    ) -> AsyncIterator[SlackWorkspace]:
        """Serve a workspace on loopback for the length of a block; port 0 lets the kernel choose.

        `scopes` are the bot's, `commands` its manifest's slash commands.
        """
        with opened(port) as (door, origin):
            slack = cls(origin, clock, random_bytes, scopes, commands, patience or DeliveryTimeouts())
            app = web.Application(middlewares=slack.middlewares(), client_max_size=MOST_BYTES + 1_000_000)
            app.router.add_routes([*slack._api.routes(), *slack.page.routes(), *slack._routes()])
            async with served(app, door):
                try:
                    yield slack
                finally:
                    await slack.close_connections()

    def middlewares(self) -> list[Any]:
        """Return what each request passes."""
        return [self._guard.check]

    async def close_connections(self) -> None:
        """End what would keep the server from ending."""
        await self.dispatcher.close()
        await self.sockets.close()
        await self.page.close()

    def _routes(self) -> list[web.RouteDef]:
        return [
            web.get("/link/", self.sockets.serve),
            web.post("/{kind:commands|actions}/{team}/{number}/{ticket}", self._receive_response),
        ]

    async def _receive_response(self, request: web.Request) -> web.Response:
        try:
            self._urls.receive(request.match_info["ticket"], await request.read())
        except SlackRefused as refused:
            return web.json_response(refused.body(), status=404 if refused.error.endswith("_url") else 400)
        return web.Response(text="ok")

    # --- for the bot's settings

    @property
    def api_url(self) -> str:
        """The Web API's base address, for `SLACK_API_URL`."""
        return f"{self.origin}/api/"

    @property
    def page_url(self) -> str:
        """The page's address with this run's token."""
        return f"{self.origin}/?token={self._guard.token}"

    @property
    def bot_token(self) -> str:
        """The bot's token, `xoxb-…`."""
        return self.access.bot_token

    @property
    def app_token(self) -> str:
        """The app's token for Socket Mode, `xapp-…`."""
        return self.access.app_token

    @property
    def signing_secret(self) -> str:
        """The key of the signatures of signed HTTP."""
        return self.access.signing_secret
