"""PagerDuty's own words: its incidents, notes and webhook subscriptions, and what the house asks of it.

An incident of PagerDuty is not one of ours: it is always called a page here, as people who get it call it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from bot.domain.alert import Alert

PAGERDUTY = "pagerduty"  # the name of the source
OURS = "zombie-"  # how the keys begin under which the bot itself raises alerts; such an alert starts no diagnosis


@dataclass(frozen=True, slots=True)
class Page:
    """An incident of PagerDuty, as far as it is looked at; `body` is all that PagerDuty said of it."""

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
    """A webhook subscription: where PagerDuty brings what happens.

    Shape: `is_active` false was switched off by somebody; `is_suspended` by PagerDuty, for 24 hours, after three
    deliveries in a row had to be given up.
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
class Raised:
    """An alert that the bot raises itself; `key` makes it one alert however often it is sent."""

    key: str
    summary: str
    source: str
    severity: str = "critical"  # critical, error, warning or info
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OnCall:
    """Who is on call by a schedule, and until when that is known to hold; `unread` is why it is not known who."""

    names: tuple[str, ...] = ()
    until: datetime | None = None
    unread: str = ""


def page_of(alert: Alert) -> str:
    """Return the id of the page that an alert tells of; empty where it is none of PagerDuty's.

    Shape: an alert's id begins with it; what may follow after a slash tells several alerts of one page apart.

    Example:
    >>> page_of(Alert(PAGERDUTY, "Q3B15VLMF3ASBD/2")), page_of(Alert("slack", "17000.1"))
    ('Q3B15VLMF3ASBD', '')
    """
    return alert.id.partition("/")[0] if alert.kind == PAGERDUTY else ""


class PageReader(Protocol):
    """Reads pages.

    Raises: every verb raises PagerDutyUnavailable or PagerDutyRefused.
    """

    async def alerts_of(self, page_id: str) -> tuple[Mapping[str, Any], ...]:
        """Return every alert of a page as PagerDuty has it, the oldest first.

        Shape: one whose body says nothing, as with an integration by e-mail, has its first log entry, channel included,
        under `log_entry`.
        """
        ...

    async def page(self, page_id: str) -> Page:
        """Return a page as it stands."""
        ...

    async def pages_since(self, since: datetime, *, only_open: bool = True) -> tuple[Page, ...]:
        """Return the pages created since then, the oldest first."""
        ...

    async def custom_fields(self, page_id: str) -> Mapping[str, Any]:
        """Return a page's custom fields by name."""
        ...

    async def email_of(self, user_id: str) -> str:
        """Return a person's e-mail address."""
        ...


class PageWriter(Protocol):
    """Writes on pages; nothing here changes a page's status.

    Raises: every verb raises PagerDutyUnavailable or PagerDutyRefused.
    """

    async def page(self, page_id: str) -> Page:
        """Return a page as it stands."""
        ...

    async def notes(self, page_id: str) -> tuple[Note, ...]:
        """Return a page's notes, the oldest first."""
        ...

    async def add_note(self, page_id: str, content: str) -> Note:
        """Add a note. Where the answer is lost it may be there or not: look for it before trying again."""
        ...

    async def edit_note(self, page_id: str, note_id: str, content: str) -> None:
        """Put other words into a note."""
        ...

    async def custom_fields(self, page_id: str) -> Mapping[str, Any]:
        """Return a page's custom fields by name."""
        ...

    async def set_custom_fields(self, page_id: str, values: Mapping[str, str]) -> None:
        """Set custom fields, by name."""
        ...

    async def raise_alert(self, raised: Raised) -> None:
        """Raise an alert; the same key again is the same alert."""
        ...


class OnCallReader(Protocol):
    """Reads schedules."""

    async def on_call(self, schedule: str) -> OnCall:
        """Return who is on call by a schedule now. Raises: PagerDutyUnavailable or PagerDutyRefused."""
        ...


class OnCallSource(Protocol):
    """Says who is on call by the schedule that is set."""

    async def read(self) -> OnCall:
        """Return who is on call now, or why that is not known; within seconds."""
        ...


class Subscriptions(Protocol):
    """Sees to webhook subscriptions.

    Raises: every verb raises PagerDutyUnavailable or PagerDutyRefused.
    """

    async def subscriptions(self) -> tuple[Subscription, ...]:
        """Return the account's webhook subscriptions."""
        ...

    async def enable(self, subscription_id: str) -> Subscription:
        """Switch a subscription on again and return it."""
        ...

    async def ping(self, subscription_id: str) -> None:
        """Have PagerDuty send a test event."""
        ...
