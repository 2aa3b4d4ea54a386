"""What the intake needs of the store of alerts: deliveries until they are handled, cases until they are over."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime, timedelta

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
class NodeNews:
    """An alert of a node that is news: which verdicts do not speak of it.

    Shape: none that was opened `before` then; and none of a node that was acted on and last looked at before `since`,
    when the alert began by its source's clock: nothing that was there before an action explains what begins after it.
    """

    before: datetime
    since: datetime


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
