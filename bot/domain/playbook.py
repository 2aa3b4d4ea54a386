"""A playbook: which probes to ask, which causes to weigh with which thresholds, and which remedies may be offered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bot.domain.cause import Cause, Threshold, Tuning
from bot.domain.probe import Probe, Snapshot
from bot.domain.truth import Truth
from bot.domain.verdict import Confidence, Status


@dataclass(frozen=True, slots=True)
class Condition:
    """A simple condition of a playbook's own: what it means when it is true.

    Shape: `holds` answers True, False, or Unknown where it touches something unread. `status` None: it is only
    mentioned. `probes` are those it names.
    """

    name: str
    when: str
    says: str
    holds: Callable[[Snapshot], Truth]
    probes: tuple[str, ...]
    status: Status | None = None
    cause: str | None = None
    confidence: Confidence = Confidence.LIKELY


@dataclass(frozen=True, slots=True)
class WeighedCause:
    """A cause as one playbook uses it."""

    cause: Cause
    thresholds: Mapping[str, Threshold]
    remedy: tuple[str, ...] = ()  # names of the actions that may be offered, in order
    lasting_fix: str = ""

    @property
    def tuning(self) -> Tuning:
        """The thresholds' values."""
        return Tuning(self.thresholds)


@dataclass(frozen=True, slots=True)
class Playbook:
    """The order of `causes` is the order of explanation: the first that is found names the verdict."""

    name: str
    title: str
    version: int
    probes: tuple[Probe, ...]
    must_read: tuple[str, ...]
    causes: tuple[WeighedCause, ...]
    conditions: tuple[Condition, ...] = ()
    description: str = ""
    origin: str = ""  # the file it was read from
    labels: Mapping[str, str] = field(default_factory=dict)


class Playbooks(Protocol):
    """The playbooks there are."""

    def get(self, name: str, /) -> Playbook:
        """Return the playbook of that name, the usual one for no name. Raises: PlaybookError when there is none."""
        ...
