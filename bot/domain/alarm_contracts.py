"""What the intake needs of whatever keeps alarms: deliveries until they are seen to, and cases until they are over."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from bot.domain.alert import AlertGroup, Delivery, SourceKind
from bot.domain.defaults import COOLDOWN, STORM_ALERTS, STORM_WINDOW
from bot.domain.incident import IncidentSummary


@dataclass(frozen=True, slots=True)
class KeptDelivery:
    """A delivery handed out to be seen to; `attempts` counts the failures so far."""

    delivery: Delivery
    kept_at: datetime
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class GivenUpDelivery:
    """A delivery that nobody sees to any more; `because` is the last failure. What cannot be read has no `alarm`."""

    source: SourceKind
    id: str
    case: str
    kept_at: datetime
    because: str
    alarm: AlertGroup | None = None


class Inbox(Protocol):
    """What sources brought and nobody has seen to yet; it outlives the program.

    Raises: every verb raises LedgerUnavailable when the database cannot be asked.
    """

    async def keep(self, delivery: Delivery) -> bool:
        """Keep a delivery; False where it is known already. When this returns, a restart would see to it."""
        ...

    async def claim(self, at_once: int, busy: Collection[str] = ()) -> tuple[KeptDelivery, ...]:
        """Take what no other live runner sees to, in the order in which it came; of one case only what came first.

        Shape: `busy` are the keys of those that this runner is at.
        """
        ...

    async def done(self, delivery: Delivery) -> None:
        """Say that a delivery is seen to; its id stays known for some days."""
        ...

    async def failed(self, delivery: Delivery, retry_after: timedelta, error: str) -> None:
        """Say that it could not be seen to, and when to try again; what came later for its case waits for it."""
        ...

    async def give_up(self, delivery: Delivery, error: str) -> None:
        """Say that it is not tried any more; `given_up` tells of it until its id is forgotten."""
        ...

    async def given_up(self) -> tuple[GivenUpDelivery, ...]:
        """Return what was given up in the last days, the newest first, a hundred at most."""
        ...

    async def waiting(self) -> int:
        """Return how many deliveries are not seen to yet."""
        ...


@dataclass(frozen=True, slots=True)
class StormLimits:
    """How alarms are kept from becoming a flood.

    Shape: within `cooldown` another case of the same nodes and signature joins the first one's card. More than
    `storm_alerts` cases within `storm_window` are a storm. A case that comes back within `reopens_within` of its end
    takes up its card again.
    """

    cooldown: timedelta = COOLDOWN
    storm_alerts: int = STORM_ALERTS
    storm_window: timedelta = STORM_WINDOW
    reopens_within: timedelta = timedelta(hours=24)


class Recurrence(enum.StrEnum):
    """How a case that is told of stands to what was told before."""

    NEW = "new"
    JOINS = "joins"  # its card is another case's
    AGAIN = "again"  # it was told of before, or was over and has come back
    OVER = "over"  # its end was told already, and is the later of the two


@dataclass(frozen=True, slots=True)
class Correlation:
    """Where a case goes: its `group` of incidents, and the `storm` in which it came, if it came in one."""

    group: str
    turn: Recurrence
    storm: str = ""


@dataclass(frozen=True, slots=True)
class OpenCase:
    """A case that is not over, as far as was told."""

    source: SourceKind
    case: str
    group: str
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Storm:
    """A storm: how many cases came in it, and one line for each incident of theirs, the oldest first."""

    name: str
    is_on: bool
    cases: int
    incidents: tuple[IncidentSummary, ...]


class DedupStore(Protocol):
    """Which group of incidents each case of a source has; every verb is one transaction, so that two replicas agree.

    Raises: every verb raises LedgerUnavailable when the database cannot be asked.
    """

    async def told(self, delivery: Delivery, key: str, group: str, brakes: StormLimits) -> Correlation:
        """Say that a case fires, and return where it goes; the same delivery again is told the same.

        Shape: `key` stands for its nodes and signature, empty where it may join no other; `group` is the one it has if
        it is new.
        """
        ...

    async def over(self, delivery: Delivery) -> str:
        """Say that a case is over, and return its group; empty where it has none."""
        ...

    async def open_cases(self, source: SourceKind, since: datetime) -> tuple[OpenCase, ...]:
        """Return a source's cases that opened since then and are not over."""
        ...

    async def incidents_of(self, group: str) -> tuple[str, ...]:
        """Return the ids of a group's incidents, the oldest first."""
        ...

    async def storm(self, name: str, brakes: StormLimits) -> Storm:
        """Return what a storm has come to."""
        ...
