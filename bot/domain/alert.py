"""Alerts: what opened an incident, and what a source reported about a case."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

BOT = "bot"
UNDO = "undo"  # the first word of the id of an alert by which a person asks to take a step back
TERMINAL = "terminal"
MCP = "mcp"  # asked for by another program, for somebody
SLACK = "slack"
TEAMS = "teams"
CHATS = frozenset({SLACK, TEAMS})
PEOPLE = CHATS | {TERMINAL, MCP}  # the kinds of people that the bot knows; all other alerts are of sources

# The name of a source, or of the surface where somebody asked. The ledger stores it as it is.
SourceKind: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Alert:
    """What opened an incident: a source's alert, or a person's request.

    Shape: `id` is the source's id of it. `asked_by` is the person who asked, as the ledger writes people
    (`slack:TEAM/USER`, `teams:TENANT/OBJECT`, `terminal:NAME`); empty if a source raised it. `text` is the alert's own
    words. `os_user` is the login behind a name that was only claimed in a terminal; empty elsewhere. `fired_at` is when
    it fired by its source's clock, None if the source does not say or a person asked. `url` is where its source shows
    it, as the source says; empty if it does not.
    """

    kind: SourceKind
    id: str
    asked_by: str = ""
    text: str = ""
    os_user: str = ""
    fired_at: datetime | None = None
    url: str = ""


class AlertStatus(enum.StrEnum):
    """What happened to a source's case."""

    FIRED = "fired"
    REOPENED = "reopened"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class SourceAlert:
    """An alert inside a source's case, as PagerDuty and Alertmanager use the word.

    Shape: `key` is the source's id of it. `body` is JSON with its secrets removed; any text in it may hold node names.
    `since` is when it began to fire by its source's clock, None if the source does not say.
    """

    key: str
    firing: bool = True
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Reporter:
    """The person who raised a case by hand, as its source names them; `email` is empty if the source does not say."""

    id: str
    name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class AlertGroup:
    """What a delivery says about a case.

    Shape: `case` is the source's id of the case, the same in all later deliveries. `labels` are what routes match
    (`service`, and the source's labels of the whole case). `body` is like a `SourceAlert`'s. `occurred_at` is None if
    the source does not say. `unseen` counts the alerts that the source left out. `whole` is false if the alerts must be
    fetched from the source; where it is true, the delivery's id names what it says of the case. `raised_by` is None for
    a machine, and has no id if the source does not tell whether a person raised it.
    """

    source: SourceKind
    case: str
    happening: AlertStatus
    title: str = ""
    occurred_at: datetime | None = None
    signals: tuple[SourceAlert, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""
    unseen: int = 0
    whole: bool = True
    raised_by: Reporter | None = None

    @property
    def firing(self) -> tuple[SourceAlert, ...]:
        """The alerts that are not over."""
        return tuple(signal for signal in self.signals if signal.firing)

    @property
    def over(self) -> tuple[SourceAlert, ...]:
        """The alerts that are over."""
        return tuple(signal for signal in self.signals if not signal.firing)

    @property
    def fired_at(self) -> datetime | None:
        """When the newest alert that is not over began; a page is news once more when it is reopened."""
        since = [signal.since for signal in self.firing or self.signals if signal.since is not None]
        told = [self.occurred_at] if self.occurred_at is not None and not (since and self.whole) else []
        return max((*since, *told), default=None)

    def label_sets(self) -> Iterator[Mapping[str, str]]:
        """Yield every set of labels that a route may match: each alert's with the case's, or only the case's."""
        yield from ({**signal.labels, **self.labels} for signal in self.firing or self.signals or (SourceAlert(""),))


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a source sent in a request, once its authenticity is proven.

    Shape: `id` is the same in every retry. `alarm` is None if it is of no interest to us; `what` then says what it was.
    """

    source: SourceKind
    id: str
    alarm: AlertGroup | None
    what: str = ""

    @property
    def key(self) -> str:
        """Its id, unique among all sources."""
        return f"{self.source}/{self.id}"
