"""Alerts: what an incident came from, and what a source told of one of its cases."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

BOT = "bot"
TERMINAL = "terminal"
_WHO = re.compile(r"[a-z][a-z0-9-]{0,31}:[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,128}\Z")

# What told us: the name of a source, or of the surface where somebody asked. The ledger keeps it as it is.
SourceKind: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert.

    Shape: `id` is what the source calls it. `asked_by` is the person who asked, as the record writes people
    (`slack:TEAM/USER`, `terminal:NAME`); empty where no person did, as with an alarm. `text` is the alert's own words.
    `os_user` is the login behind a name that was only claimed in a terminal; empty elsewhere. `fired_at` is when it
    fired by its source's own clock, None where the source does not say, and where a person asked.
    """

    kind: SourceKind
    id: str
    asked_by: str = ""
    text: str = ""
    os_user: str = ""
    fired_at: datetime | None = None


def is_who(text: str) -> bool:
    """True when `text` can stand for whoever made an entry: `bot`, or a kind of people, a colon and a name.

    Example:
    >>> is_who("bot"), is_who("slack:T024/U123"), is_who("terminal:ann"), is_who("ann")
    (True, True, True, False)
    """
    return text == BOT or _WHO.match(text) is not None


def person_of(who: str) -> str:
    """Return a person without the place where they were met.

    Example:
    >>> person_of("slack:T024/U123"), person_of("terminal:ann")
    ('slack:U123', 'terminal:ann')
    """
    kind, colon, name = who.partition(":")
    return f"{kind}{colon}{name.rpartition('/')[2]}"


class Happening(enum.StrEnum):
    """What became of a source's case."""

    FIRED = "fired"
    REOPENED = "reopened"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class SourceAlert:
    """One of the things that a case is about: PagerDuty and Alertmanager call it an alert.

    Shape: `key` is the source's own name of it. `body` is JSON with its secrets taken out: node names may stand in any
    of its texts.
    """

    key: str
    firing: bool = True
    title: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reporter:
    """The person who raised a case by hand, as its source names them; `email` is empty where it does not say."""

    id: str
    name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True)
class AlertGroup:
    """What one delivery tells of one case.

    Shape: `case` is the source's own name of the case, the same for whatever is told of it later. `labels` are what
    routes go by (`service`, and whatever the source labels a whole case with). `body` is as a signal's. `occurred_at`
    is None where the source does not say. `unseen` counts signals that the source left out. `whole` is false where the
    signals have to be asked for. `raised_by` is None for a machine, and
    without an id where it cannot be told whether a person did.
    """

    source: SourceKind
    case: str
    happening: Happening
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
        """The signals that are not over."""
        return tuple(signal for signal in self.signals if signal.firing)

    @property
    def over(self) -> tuple[SourceAlert, ...]:
        """The signals that are."""
        return tuple(signal for signal in self.signals if not signal.firing)

    def label_sets(self) -> Iterator[Mapping[str, str]]:
        """Yield every set of labels that a route may match: each signal's with the case's, or the case's alone."""
        yield from ({**signal.labels, **self.labels} for signal in self.firing or self.signals or (SourceAlert(""),))


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a source brought in one request, once it is proven to come from there.

    Shape: `id` is the same for every repetition of it. `alarm` is None for what does not concern us; `what` then says
    what it was.
    """

    source: SourceKind
    id: str
    alarm: AlertGroup | None
    what: str = ""

    @property
    def key(self) -> str:
        """Its name among those of all sources."""
        return f"{self.source}/{self.id}"
