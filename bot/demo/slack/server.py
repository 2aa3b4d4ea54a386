"""The simulated Slack workspace: a server on loopback for the tests and the demo."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar

from aiohttp import ClientSession, web

from bot.demo.slack.access import DEFAULT_SCOPES, Access
from bot.demo.slack.composer import COMMANDS, Composer, Said, SlashCommand
from bot.demo.slack.delivery import Delivered, DeliveryTimeouts
from bot.demo.slack.dispatcher import Dispatcher
from bot.demo.slack.faults import RESPONSE_URL, Faults
from bot.demo.slack.ids import IdGenerator, RandomBytes
from bot.demo.slack.interactions import Interactions, Submitted
from bot.demo.slack.message import Message
from bot.demo.slack.page import Page
from bot.demo.slack.page_guard import PageGuard
from bot.demo.slack.payloads import Payloads
from bot.demo.slack.rate_limits import RateLimits
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.response_urls import ResponseUrls
from bot.demo.slack.signed_http import SignedHttp
from bot.demo.slack.socket_mode import SocketMode
from bot.demo.slack.triggers import Triggers
from bot.demo.slack.uploads import MOST_BYTES, Uploads
from bot.demo.slack.view import View
from bot.demo.slack.web_api import RecordedCall, WebApi, apply_fault, drop_connection
from bot.demo.slack.workspace import Workspace
from bot.domain.contracts import Clock

T = TypeVar("T")
HOST = "127.0.0.1"
LONG = timedelta(seconds=60)


class SlackWorkspace:
    """A simulated Slack workspace.

    Example: `async with SlackWorkspace.start(clock=clock, random_bytes=os.urandom) as slack: …` and then
    `AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)`
    """

    def __init__(
        self,
        clock: Clock,
        random_bytes: RandomBytes,
        session: ClientSession,
        scopes: Iterable[str],
        commands: tuple[SlashCommand, ...],
        patience: DeliveryTimeouts,
        exact_limits: bool,
    ) -> None:
        names = IdGenerator(clock, random_bytes)
        self.state = Workspace(names)
        self.faults = Faults()
        self.limits = RateLimits(clock, are_exact=exact_limits)
        self.triggers = Triggers(clock, names)
        self.access = Access.grant(names, scopes)
        self.sockets = SocketMode(names, self.faults, self.state.changes, patience)
        self.dispatcher = Dispatcher(self.sockets, patience, self.state.changes)
        self.origin = ""
        self._clock, self._names, self._session, self._patience = clock, names, session, patience
        self._urls = ResponseUrls(clock, names, self.state)
        uploads = Uploads(clock, names)
        self._api = WebApi(
            self.state, self.access, self.triggers, uploads, self.limits, self.faults, clock, self.sockets.ticket
        )
        payloads = Payloads(self.access, names)
        self._composer = Composer(
            self.state, self.dispatcher, payloads, self.access, self.triggers, self._urls, clock, commands
        )
        self._interactions = Interactions(self.state, self.dispatcher, payloads, self.triggers, self._urls, clock)
        self._guard = PageGuard(names)
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
        exact_limits: bool = False,
    ) -> AsyncIterator[SlackWorkspace]:
        """Serve a workspace on loopback for the length of a block; port 0 lets the kernel choose.

        `scopes` are the bot's, `commands` its manifest's slash commands; `exact_limits` switches Slack's limits on.
        """
        async with ClientSession() as session:
            slack = cls(clock, random_bytes, session, scopes, commands, patience or DeliveryTimeouts(), exact_limits)
            app = web.Application(middlewares=[slack._guard.check], client_max_size=MOST_BYTES + 1_000_000)
            app.router.add_routes([*slack._api.routes(), *slack.page.routes(), *slack._routes()])
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
            await runner.setup()
            try:
                await web.TCPSite(runner, HOST, port).start()
                slack._set_origin(f"http://{HOST}:{runner.addresses[0][1]}")
                yield slack
            finally:
                slack._api.closing.set()
                await slack.dispatcher.close()
                await slack.sockets.close()
                await slack.page.close()
                await runner.cleanup()

    def _set_origin(self, origin: str) -> None:
        self.origin = self._api.origin = self.sockets.origin = self._urls.origin = origin
        self._interactions.file_address = f"{origin}/page/files"
        self._guard.set_origin(origin)

    def _routes(self) -> list[web.RouteDef]:
        return [
            web.get("/link/", self.sockets.serve),
            web.post("/{kind:commands|actions}/{team}/{number}/{ticket}", self._receive_response),
        ]

    async def _receive_response(self, request: web.Request) -> web.Response:
        fault = self.faults.take(RESPONSE_URL)
        suffered = await apply_fault(fault, request, self._api.closing)
        if suffered is not None:
            return suffered
        try:
            self._urls.receive(request.match_info["ticket"], await request.read())
        except SlackRefused as refused:
            return web.json_response(refused.body(), status=404 if refused.error.endswith("_url") else 400)
        return drop_connection(request) if fault is not None else web.Response(text="ok")

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

    def deliver_to(self, url: str) -> SignedHttp:
        """Deliver by signed HTTP to this address from now on, instead of Socket Mode."""
        way = SignedHttp(url, self.signing_secret, self._clock, self._names, self.faults, self._patience, self._session)
        self.dispatcher.way = way
        return way

    # --- what people do

    async def say(self, user: str, channel: str, text: str, thread_ts: str | None = None) -> Said:
        """Type something and press Enter; see `Composer.say`."""
        return await self._composer.say(user, channel, text, thread_ts)

    async def click(
        self,
        user: str,
        message: Message,
        action_id: str,
        value: Any = None,
        block_id: str | None = None,
        shown: dict[str, Any] | None = None,
    ) -> Delivered:
        """Click a button, or choose `value` in a menu of a message; see `Interactions.click`."""
        return await self._interactions.click(user, message, action_id, value, block_id, shown)

    async def click_in_view(
        self, user: str, view: View, action_id: str, value: Any = None, block_id: str | None = None
    ) -> Delivered | None:
        """Click or choose in a modal or the App Home; see `Interactions.click_in_view`."""
        return await self._interactions.click_in_view(user, view, action_id, value, block_id)

    async def suggest(
        self, user: str, place: Message | View, action_id: str, typed: str, block_id: str | None = None
    ) -> list[dict[str, Any]]:
        """Type into a menu whose options the app knows; see `Interactions.suggest`."""
        return await self._interactions.suggest(user, place, action_id, typed, block_id)

    async def submit(self, user: str, view: View, values: Mapping[str, Any] | None = None) -> Submitted:
        """Fill in a modal and submit it; see `Interactions.submit`."""
        return await self._interactions.submit(user, view, values)

    async def close(self, user: str, view: View) -> Delivered | None:
        """Close a modal without submitting it."""
        return await self._interactions.close(user, view)

    async def open_home(self, user: str) -> Delivered:
        """Open the App Home."""
        return await self._interactions.open_home(user)

    # --- for tests

    def messages(self, channel: str, user: str | None = None) -> list[Message]:
        """Return a conversation's messages and replies, with the ephemeral ones of `user`."""
        return self.state.messages(channel, user)

    def thread(self, message: Message) -> list[Message]:
        """Return a message and the replies to it."""
        return self.state.thread(message.channel, message.thread_ts or message.ts)

    def modal(self, user: str) -> View | None:
        """Return the modal that a person sees."""
        stack = self.state.modals.get(self.state.user(user).id)
        return stack[-1] if stack else None

    def home(self, user: str) -> View | None:
        """Return a person's App Home."""
        return self.state.homes.get(self.state.user(user).id)

    def asked(self, method: str = "") -> list[RecordedCall]:
        """Return the Web API calls so far, or only those of a method."""
        return [each for each in self._api.asked if method in ("", each.method)]

    async def until(self, question: Callable[[], T | None], timeout: timedelta = LONG, what: str = "a condition") -> T:
        """Wait until the function returns something truthy, and return that. Raises: TimeoutError."""
        return await self.state.changes.until(question, timeout, what)
