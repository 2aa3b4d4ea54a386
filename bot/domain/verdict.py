"""A verdict: what the findings add up to, with what proves it, what was ruled out and what was not read."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.action import Plan, Step
from bot.domain.core_heat import CoreHeat
from bot.domain.mute import Mute
from bot.domain.probe import Snapshot, Unread


class Status(enum.StrEnum):
    """How the node is; `rank` orders healthy, degraded and critical, the rest are no points on that line."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    CRITICAL = "critical"
    UNKNOWN = "unknown"
    UNREACHABLE = "unreachable"

    @property
    def rank(self) -> int:
        """0 healthy, 1 degraded, 2 critical, -1 for what cannot be compared."""
        return {"healthy": 0, "degraded": 1, "critical": 2}.get(self.value, -1)


class Confidence(enum.StrEnum):
    """confirmed: mechanism seen; likely: cause and symptom seen, link not; possible: present, not proven."""

    CONFIRMED = "confirmed"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        """Higher is surer."""
        return {"possible": 0, "likely": 1, "confirmed": 2}[self.value]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that was seen: a short name, the probe that saw it, a sentence, and the node's own lines."""

    finding: str
    probe: str
    says: str
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause that the readings support, how far, and what it would take to end it."""

    cause: str | None  # None: a symptom that no named cause explains
    status: Status
    confidence: Confidence | None
    summary: str
    evidence: tuple[Evidence, ...]
    suspects: tuple[str, ...] = ()
    remedy: tuple[Step, ...] = ()  # what would end it, in order, as far as the evidence justifies; commands come later
    lasting_fix: str = ""


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A cause that the readings speak against, and what speaks against it."""

    cause: str
    because: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """A cause that cannot be told because something was not read.

    `suspected`: something that was read points at it, so that what is missing decides the whole verdict.
    `would_decide`: what would tell, in a few words; empty where only a later look could. `worst`: the gravest that is
    left open, where that is less than the cause may come to.
    """

    cause: str
    because: str
    suspected: bool = False
    would_decide: str = ""
    worst: Status = Status.CRITICAL

    @property
    def says(self) -> str:
        """Why it is open, and what would decide it."""
        return f"{self.because}; {self.would_decide} would decide it" if self.would_decide else self.because


@dataclass(frozen=True, slots=True)
class Verdict:
    """One node, one answer."""

    node: str
    status: Status
    cause: str | None
    confidence: Confidence | None
    summary: str
    evidence: tuple[Evidence, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    unread: tuple[Unread, ...] = ()
    suspects: tuple[str, ...] = ()
    remedy: tuple[Step, ...] = ()  # what the first finding would be ended by; a plan is made of it
    lasting_fix: str = ""
    plan: Plan | None = None
    snapshot: Snapshot | None = None
    took: timedelta = timedelta(0)
    try_next: str = ""
    undecided: tuple[Undecided, ...] = ()  # what could be neither ruled in nor out; absence never reads as cleared
    muted: tuple[Mute, ...] = ()  # causes that were found, and that people know of and accept; the gravest first
    heat: CoreHeat | None = None  # of its cores, where one stands out: for people to see, nothing is judged by it

    @property
    def is_muted(self) -> bool:
        """True when the cause that names the verdict is muted: nothing else that was found is as grave."""
        return self.cause is not None and any(mute.cause == self.cause for mute in self.muted)
