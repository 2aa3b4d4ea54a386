"""PagerDuty's incidents, notes and webhook subscriptions, and the contracts of its clients.

A PagerDuty incident is always called a page here, to tell it apart from our own incidents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from bot.domain.alert import Alert

PAGERDUTY = "pagerduty"  # the name of the source
OURS = "zombie-"  # prefix of the keys of alerts that the bot itself raises; such an alert starts no diagnosis
_ADDRESS = re.compile(r"https://(?:[a-z0-9-]{1,63}\.){1,5}pagerduty\.com/incidents/([A-Za-z0-9]{1,64})\Z")


@dataclass(frozen=True, slots=True)
class Page:
    """An incident of PagerDuty, with the fields in use; `body` is all that PagerDuty said about it."""

    id: str
    status: str  # triggered, acknowledged or resolved
    title: str = ""
    created_at: datetime | None = None
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_open(self) -> bool:
        """True until it is resolved."""
        return self.status != "resolved"


@dataclass(frozen=True, slots=True)
class Note:
    """A note on a page."""

    id: str
    content: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """A webhook subscription: where PagerDuty sends events.

    Shape: `is_active` is false if somebody switched it off; `is_suspended` is true if PagerDuty did, for 24 hours,
    after three failed deliveries in a row.
    """

    id: str
    url: str = ""
    is_active: bool = True
    is_suspended: bool = False
    events: tuple[str, ...] = ()

    @property
    def is_disabled(self) -> bool:
        """True when nothing is delivered."""
        return not self.is_active or self.is_suspended


@dataclass(frozen=True, slots=True)
class OutgoingAlert:
    """An alert that the bot raises; sent again with the same `key`, it is the same alert."""

    key: str
    summary: str
    source: str
    severity: str = "critical"  # critical, error, warning or info
    details: Mapping[str, Any] = field(default_factory=dict)


def page_id_of(alert: Alert) -> str:
    """Return the id of an alert's page; empty if the alert is not from PagerDuty.

    Shape: an alert's id begins with it; a suffix after a slash tells several alerts of the same page apart.

    Example:
    >>> page_id_of(Alert(PAGERDUTY, "Q3B15VLMF3ASBD/2")), page_id_of(Alert("slack", "17000.1"))
    ('Q3B15VLMF3ASBD', '')
    """
    return alert.id.partition("/")[0] if alert.kind == PAGERDUTY else ""


def address_of(alert: Alert) -> str:
    """Return where PagerDuty shows an alert's page; empty unless it is at PagerDuty and of this page.

    Source: `html_url` of a webhook's or the REST API's incident.

    Example:
    >>> address_of(Alert(PAGERDUTY, "Q1", url="https://acme.eu.pagerduty.com/incidents/Q1"))
    'https://acme.eu.pagerduty.com/incidents/Q1'
    >>> address_of(Alert(PAGERDUTY, "Q1", url="https://pagerduty.com.example/incidents/Q1"))
    ''
    """
    found = _ADDRESS.match(alert.url)
    return alert.url if found is not None and found[1] == page_id_of(alert) else ""


class PageReader(Protocol):
    """Reads pages.

    Raises: every method raises PagerDutyUnavailable or PagerDutyRefused.
    """

    async def alerts_of(self, page_id: str) -> tuple[Mapping[str, Any], ...]:
        """Return every alert of a page as PagerDuty has it, oldest first.

        Shape: an alert with an empty body, as from an e-mail integration, has its first log entry, channel included,
        under `log_entry`.
        """

    async def page(self, page_id: str) -> Page:
        """Return a page as it stands."""

    async def pages_since(self, since: datetime, *, only_open: bool = True) -> tuple[Page, ...]:
        """Return the pages created since then, oldest first."""

    async def custom_fields(self, page_id: str) -> Mapping[str, Any]:
        """Return a page's custom fields by name."""

    async def email_of(self, user_id: str) -> str:
        """Return a person's e-mail address."""


class Subscriptions(Protocol):
    """Reads and tests webhook subscriptions.

    Raises: every method raises PagerDutyUnavailable or PagerDutyRefused.
    """

    async def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the account's webhook subscriptions."""

    async def ping(self, subscription_id: str) -> None:
        """Make PagerDuty send a test event."""
