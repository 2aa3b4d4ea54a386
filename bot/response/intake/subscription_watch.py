"""Watches the webhook subscription: PagerDuty may disable it for a day and drop waiting deliveries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.domain.contracts import Clock, Log
from bot.domain.pagerduty import Subscription, Subscriptions
from bot.domain.safe_text import one_line

UNKNOWN = timedelta(hours=24)  # how long a subscription that is off at the first look may have been off

Tell: TypeAlias = Callable[[str, str], Awaitable[None]]  # a name under which it is posted once, and the text
CatchUp: TypeAlias = Callable[[datetime], Awaitable[int]]  # since when nothing was heard; how many deliveries came


@dataclass(slots=True, eq=False)
class SubscriptionWatch:
    """Watches a subscription.

    Shape: `wanted` is its id; empty means the only subscription. `tell` posts where everybody sees it. `catch_up` takes
    in what was missed.
    """

    subscriptions: Subscriptions
    wanted: str
    now: Clock
    log: Log
    tell: Tell
    catch_up: CatchUp
    _heard_at: datetime | None = field(default=None, init=False)  # when it was last seen to be on
    _missed_since: datetime | None = field(default=None, init=False)
    _told_as: str = field(default="", init=False)  # the name under which an outage was posted
    trouble: str = field(
        default="", init=False
    )  # why no alerts come, as a sentence; empty while all is well or nothing is known

    async def check_subscription(self) -> None:
        """Read its state, report changes, and take in what was missed once it is on again.

        Raises: PagerDutyFailed when PagerDuty cannot be read; LedgerError when what was missed cannot be stored.
        """
        now = self.now()
        found, trouble = self._chosen(await self.subscriptions.subscriptions())
        if found is not None and not found.is_disabled:
            await self._note_as_on(found, now)
            return
        self._missed_since = self._missed_since or self._heard_at or now - UNKNOWN
        if trouble != self.trouble:
            self.log("subscription_trouble", because=trouble)
            if found is not None:
                self._told_as = self._told_as or f"subscription-{found.id}-{now:%Y%m%d%H}"  # the same for every runner
                await self.tell(
                    self._told_as, f"{trouble} Enable it in PagerDuty: Integrations, Generic Webhooks (v3)."
                )
        self.trouble = trouble

    def _chosen(self, known: tuple[Subscription, ...]) -> tuple[Subscription | None, str]:
        """The wanted subscription, and what is wrong with it."""
        if self.wanted:
            found = next((subscription for subscription in known if subscription.id == self.wanted), None)
            if found is None:
                return None, f"PagerDuty has no webhook subscription {one_line(self.wanted, 40)}."
        elif len(known) == 1:
            found = known[0]
        elif known:
            names = one_line(", ".join(subscription.id for subscription in known), 120)
            return None, f"PagerDuty has several webhook subscriptions ([pagerduty] subscription chooses): {names}."
        else:
            return None, "PagerDuty has no webhook subscription, so it sends no alerts."
        if not found.is_active:
            return found, f"PagerDuty's webhook subscription {found.id} is disabled: no alerts come."
        if found.is_suspended:
            return found, (
                f"PagerDuty has disabled its webhook subscription {found.id}, because three deliveries in a row "
                "failed: for 24 hours no alerts come."
            )
        return found, ""

    async def _note_as_on(self, found: Subscription, now: datetime) -> None:
        missed_since = self._missed_since
        if missed_since is not None:
            caught_up = await self.catch_up(missed_since)
            self.log("subscription_on", subscription=found.id, caught_up=caught_up)
            if self._told_as:
                await self.tell(
                    self._told_as,
                    f"PagerDuty's webhook subscription {found.id} is on again; {_missed_words(caught_up)}.",
                )
        self._missed_since, self._heard_at, self.trouble, self._told_as = None, now, "", ""


def _missed_words(pages: int) -> str:
    """How many pages came while it was off.

    Example:
    >>> _missed_words(0), _missed_words(1)
    ('no page was missed', '1 page was missed and is taken in now')
    """
    if not pages:
        return "no page was missed"
    return "1 page was missed and is taken in now" if pages == 1 else f"{pages} pages were missed and are taken in now"
