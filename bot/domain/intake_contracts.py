"""What the intake needs of the store of alerts: deliveries until they are handled, cases until they are over."""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from bot.domain.alert import AlertGroup, Delivery, SourceKind
from bot.domain.defaults import COOLDOWN, STORM_ALERTS, STORM_WINDOW
from bot.domain.incident import IncidentSummary


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A stored delivery that is being handled; `attempts` counts the failures so far."""

    delivery: Delivery
    kept_at: datetime
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class GivenUpDelivery:
    """A delivery that is not tried again; `because` is the last failure. If it cannot be read, it has no `alarm`."""

    source: SourceKind
    id: str
    case: str
    kept_at: datetime
    because: str
    alarm: AlertGroup | None = None


class Inbox(Protocol):
    """Deliveries that are stored and not handled yet; they survive a restart.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    async def keep(self, delivery: Delivery) -> bool:
        """Store a delivery; False if it is stored already. Once this returns, the delivery survives a restart."""

    async def claim(self, at_once: int, busy: Collection[str] = ()) -> tuple[StoredDelivery, ...]:
        """Take deliveries that no other live runner has, in order of arrival; of each case only the first.

        Shape: `busy` are the keys of deliveries that this runner is handling.
        """

    async def done(self, delivery: Delivery) -> None:
        """Mark a delivery as handled; its id stays known for some days."""

    async def failed(self, delivery: Delivery, retry_after: timedelta, error: str) -> None:
        """Mark it as failed, to be tried again after that time; later deliveries of its case wait for it."""

    async def give_up(self, delivery: Delivery, error: str) -> None:
        """Stop trying it; `given_up` lists it until its id is forgotten."""

    async def given_up(self) -> tuple[GivenUpDelivery, ...]:
        """Return the deliveries given up in the last days, newest first, a hundred at most."""

    async def waiting(self) -> int:
        """Return how many deliveries are not handled yet."""


@dataclass(frozen=True, slots=True)
class StormLimits:
    """Limits against a flood of alerts.

    Shape: within `cooldown`, another case with the same nodes and signature joins the first case's card. More than
    `storm_alerts` cases within `storm_window` are a storm. A case that fires again within `reopens_within` of its end
    reopens its card.
    """

    cooldown: timedelta = COOLDOWN
    storm_alerts: int = STORM_ALERTS
    storm_window: timedelta = STORM_WINDOW
    reopens_within: timedelta = timedelta(hours=24)


class Recurrence(enum.StrEnum):
    """How a case relates to the cases already known."""

    NEW = "new"
    JOINS = "joins"  # it shares another case's card
    AGAIN = "again"  # it is known, or was over and fires again
    OVER = "over"  # its end is known already, and is the later of the two


@dataclass(frozen=True, slots=True)
class Correlation:
    """Where a case goes: its `group` of incidents, and the `storm` that it is part of, if any."""

    group: str
    turn: Recurrence
    storm: str = ""


@dataclass(frozen=True, slots=True)
class NodeSignal:
    """An alert inside a case, about a node: its key, whether it fires, and since when by its source's clock."""

    key: str
    node: str
    firing: bool = True
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenAlertGroup:
    """A case that is not over, as far as its source said."""

    source: SourceKind
    case: str
    group: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Storm:
    """A storm: how many cases it has, and a line for each of their incidents, oldest first."""

    name: str
    is_on: bool
    cases: int
    incidents: tuple[IncidentSummary, ...]


class DedupStore(Protocol):
    """Which group of incidents each case of a source has; every method is one transaction, so that replicas agree.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    async def record_firing(self, delivery: Delivery, key: str, group: str, brakes: StormLimits) -> Correlation:
        """Record that a case fires, and return where it goes; the same delivery gets the same answer again.

        Shape: `key` stands for its nodes and signature, empty if it may join no other case. A new case gets `group`.
        """

    async def signals(self, alarm: AlertGroup, seen: Sequence[NodeSignal], opened: Collection[str]) -> None:
        """Record which alerts of a case fire on which nodes, and since when; a repetition changes nothing.

        Shape: `opened` are the nodes of which this delivery opened incidents, which say the same.
        """

    async def record_over(self, delivery: Delivery) -> str:
        """Record that a case is over, and return its group; empty if it has none, or was reopened after this end."""

    async def open_cases(self, source: SourceKind, since: datetime) -> tuple[OpenAlertGroup, ...]:
        """Return a source's cases that opened since then and are not over."""

    async def storm(self, name: str, brakes: StormLimits) -> Storm:
        """Return the storm of that name as it stands."""
