"""Puts together PagerDuty: its notes, the look for pages without webhooks, and the watched subscription."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.actions import ACTIONS
from bot.app.factories import chat_settings, now
from bot.app.policy_settings import policy_as_written
from bot.app.stores import Stores
from bot.chat.background import Background
from bot.chat.document import Document
from bot.chat.people import People
from bot.chat.post_state import MessageTarget
from bot.chat.poster import Poster
from bot.domain.alert import AlertGroup, Reporter
from bot.domain.contracts import Log
from bot.domain.errors import LedgerError, PagerDutyRefused, PagerDutyUnavailable
from bot.ledger import Outbox
from bot.response.intake.intake import PersonOf
from bot.response.intake.page_poller import PagePoller
from bot.response.intake.subscription_watch import SubscriptionWatch, Tell
from bot.response.repeating import repeat
from bot.settings import Settings
from bot.sources.pagerduty import alarm_of_page, signals_of
from bot.sources.pagerduty_client import PagerDutyClient
from bot.sources.pagerduty_http import Access, Patience
from bot.sources.pagerduty_settings import PagerDutySettings
from bot.surfaces.pagerduty import PARTS, PagerDutySurface
from bot.view.context import ViewContext
from bot.view.plan_words import PlanWords

Look: TypeAlias = Callable[[], Awaitable[None]]
POLLED_BACK = timedelta(hours=24)  # with polls only, open pages of this time are taken in
OUTBOX_LEASE = timedelta(seconds=30)  # longer than a post may take


@dataclass(slots=True)
class PagerDutyParts:
    """The parts that a service needs.

    Shape: `surface` is for the engine; `completed` for the intake. `pages` and `subscription` exist where there is an
    inbox.
    """

    client: PagerDutyClient
    surface: PagerDutySurface
    log: Log
    background: Background
    watch_every: timedelta
    look_every: timedelta
    polls: bool
    pages: PagePoller | None = None
    subscription: SubscriptionWatch | None = None
    _fields_known: bool = True

    def start(self) -> None:
        """Begin to send notes and to look."""
        self.background.begin(self.surface.run(), "pagerduty notes")
        if self.pages is not None:
            self._begin_repeating(self.look, self.look_every, "pagerduty look")
        if self.subscription is not None and not self.polls:
            self._begin_repeating(self.subscription.check_subscription, self.watch_every, "pagerduty subscription")

    async def stop(self, seconds: float = 3.0) -> None:
        """Send what is due, for at most so many seconds, and close; the rest waits in the outbox."""
        with contextlib.suppress(TimeoutError, LedgerError):
            async with asyncio.timeout(seconds):
                await self.surface.send_due()
        await self.background.drain(0)
        await self.client.close()

    @property
    def trouble(self) -> str:
        """What does not work at present, as a sentence; empty while all is well."""
        return (self.subscription.trouble if self.subscription is not None else "") or self.surface.trouble

    async def look(self) -> None:
        """Take in what no webhook brought.

        Raises: PagerDutyFailed, LedgerError.
        """
        if self.pages is not None:
            await self.pages.poll_pages(now() - POLLED_BACK if self.polls else None)

    async def catch_up(self, since: datetime) -> int:
        """Take in what was missed since then."""
        return await self.pages.poll_pages(since) if self.pages is not None else 0

    async def completed(self, alarm: AlertGroup) -> AlertGroup | None:
        """Return a page with its alerts and custom fields; None where the bot raised it itself.

        The fields are the page's own words, not an alert; what the bot itself writes there names no node.

        Raises: PagerDutyUnavailable, PagerDutyRefused.
        """
        if self.pages is None:  # there is no token to ask with
            return alarm
        alerts = await self.client.alerts_of(alarm.case)
        await self.pages.mark_alerts_read(alarm.case, alerts)
        alarm = replace(alarm, signals=signals_of(alerts))
        if alerts and not alarm.signals:
            return None
        if self._fields_known:
            try:
                fields, ours = await self.client.custom_fields(alarm.case), self.surface.fields.values()
                values = {name: value for name, value in fields.items() if value and name not in ours}
                return replace(alarm, body={**alarm.body, "custom_fields": values})
            except PagerDutyRefused as error:
                self._fields_known = error.status not in (402, 403, 404)  # account or token has no custom fields
            except PagerDutyUnavailable:
                if not alarm.signals:
                    raise  # nothing else says what the page is about
        return alarm

    def _begin_repeating(self, do: Look, every: timedelta, name: str) -> None:
        work = repeat(do, every.total_seconds(), self.log, "pagerduty_look_failed")
        self.background.begin(work, name)


def pagerduty_parts(
    settings: Settings,
    stores: Stores,
    log: Log,
    tell: Tell,
    arrivals: asyncio.Event,
    patience: Patience | None = None,
) -> PagerDutyParts | None:
    """Put it together; None where there is neither a token nor a routing key.

    Shape: `tell(name, says)` posts in the alerts channel, once for each name. `arrivals` wakes the intake.

    Raises: SettingsError for unusable settings.
    """
    said = settings.of(PagerDutySettings)
    access = Access.of(said)
    if not (access.token or access.routing_key):
        return None
    if access.token and not access.sender:
        log("pagerduty_sender_missing", because="PAGERDUTY_FROM is not set: PagerDuty may reject notes")
    client = PagerDutyClient.of(access, patience)
    surface = PagerDutySurface(
        client,
        Outbox(stores.database, OUTBOX_LEASE, parts=PARTS, at_once=1),
        stores.ledger,
        now,
        log,
        fields=said.fields,
        raises=bool(access.routing_key),
        writes=bool(access.token),
        context=ViewContext(
            policy_as_written(settings), PlanWords(ACTIONS), links=settings.links, chat=chat_settings(settings).word
        ),
    )
    parts = PagerDutyParts(
        client,
        surface,
        log,
        Background(log),
        watch_every=said.watch_every,
        look_every=said.poll_every if said.poll else said.relist_every,
        polls=said.poll,
    )
    if access.token:
        parts.pages = PagePoller(client, stores.inbox, stores.cases, alarm_of_page, now, log, arrivals)
        if said.webhook_secrets:  # without a secret no webhook of PagerDuty is accepted
            parts.subscription = SubscriptionWatch(client, said.subscription, now, log, tell, parts.catch_up)
    return parts


def serving_pagerduty(
    settings: Settings,
    stores: Stores,
    poster: Poster,
    log: Log,
    arrivals: asyncio.Event,
) -> PagerDutyParts | None:
    """Put it together for a serving bot: its remarks go to the alerts channel.

    Raises: SettingsError for unusable settings.
    """
    channel = chat_settings(settings).alerts_channel

    async def tell(name: str, says: str) -> None:
        if channel:
            await poster.finish(name.lower(), MessageTarget(channel), Document(says))

    return pagerduty_parts(settings, stores, log, tell, arrivals)


def asker_of(parts: PagerDutyParts | None, people: People) -> PersonOf:
    """Return a function that finds in the chat who raised a page by hand: the person with the same e-mail address."""

    async def person_of(raiser: Reporter) -> str:
        email = raiser.email or (await parts.client.email_of(raiser.id) if parts is not None else "")
        return await people.of_email(email) if email else ""

    return person_of
