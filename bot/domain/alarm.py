"""An alarm is what a source told of one of its cases: that it began or is over, and which signals are in it."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.domain.alert import SourceKind


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
    signals have to be asked for. `raised_by` is None for a machine.
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
