"""The simulated PagerDuty: a server on loopback for the tests and the demo."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession, web

from bot.demo.loopback import opened, served
from bot.demo.pagerduty.account import Account, RandomBytes
from bot.demo.pagerduty.page import Page
from bot.demo.pagerduty.rest import RestApi
from bot.demo.pagerduty.webhooks import RetryPolicy, Subscription, Webhooks
from bot.demo.slack.ids import IdGenerator
from bot.demo.slack.page_guard import PageGuard
from bot.domain.contracts import Clock


class PagerDuty:
    """A simulated PagerDuty. Tests have one in which things go wrong (tests/alerts/pagerduty.py).

    Shape: change `account` (`account.trigger(…)`); `webhooks` reports it to the subscriptions, `page` shows it in a
    browser.

    Example: `async with PagerDuty.start(clock=clock, random_bytes=os.urandom) as pagerduty: …`, and then
    `PAGERDUTY_API_URL=pagerduty.api_url PAGERDUTY_API_TOKEN=pagerduty.token PAGERDUTY_FROM=pagerduty.sender`
    """

    kind_of_webhooks = Webhooks

    def __init__(
        self,
        origin: str,
        clock: Clock,
        random_bytes: RandomBytes,
        session: ClientSession,
        retry_policy: RetryPolicy,
    ) -> None:
        self.api_url = origin
        self.account = Account(clock, random_bytes)
        self.webhooks = self.kind_of_webhooks(self.account, session, retry_policy)
        self._guard = PageGuard(IdGenerator(clock, random_bytes), origin)
        self.page = Page(self.account, self.webhooks, self._guard)
        self._rest = RestApi(self.account, self.webhooks, random_bytes)

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        *,
        clock: Clock,
        random_bytes: RandomBytes,
        port: int = 0,
        retry_policy: RetryPolicy | None = None,
    ) -> AsyncIterator[PagerDuty]:
        """Serve an account on loopback for the length of a block."""
        with opened(port) as (door, origin):
            async with ClientSession() as session:
                pagerduty = cls(origin, clock, random_bytes, session, retry_policy or RetryPolicy())
                app = web.Application(middlewares=pagerduty.middlewares())
                app.router.add_routes([*pagerduty.page.routes(), *pagerduty._rest.routes()])
                async with served(app, door):
                    try:
                        yield pagerduty
                    finally:
                        await pagerduty.close_connections()

    def middlewares(self) -> list[Any]:
        """Return what each request passes."""
        return [self._guard.check]

    async def close_connections(self) -> None:
        """End what would keep the server from ending."""
        await self.webhooks.close()

    # --- for the bot's settings

    @property
    def page_url(self) -> str:
        """The page's address with this run's token."""
        return f"{self.api_url}/?token={self._guard.token}"

    @property
    def events_url(self) -> str:
        """The Events API's address, for `PAGERDUTY_EVENTS_URL`."""
        return f"{self.api_url}/v2/enqueue"

    @property
    def token(self) -> str:
        """The API token."""
        return self._rest.token

    @property
    def sender(self) -> str:
        """The e-mail address of the bot's user, for `PAGERDUTY_FROM`."""
        return self.account.bot.email

    @property
    def routing_key(self) -> str:
        """The Events API's key of the first service."""
        return next(iter(self.account.services.values())).routing_key

    def deliver_to(self, url: str, secret: str) -> Subscription:
        """Subscribe an address to every event."""
        return self.webhooks.subscribe(url, secret)
