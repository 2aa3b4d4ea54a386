"""A verdict: the result of all findings, with its evidence, what was ruled out and what was not read."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain.action import Plan, Step
from bot.domain.case import RecordedVerdict
from bot.domain.command import slow_words
from bot.domain.core_heat import CoreHeat
from bot.domain.json_form import read, to_json_types
from bot.domain.mute import Mute
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import Redactor

HEALTHY = "Healthy"  # the summary where everything was read


class Status(enum.StrEnum):
    """The node's status; `rank` orders healthy, degraded and critical; the others cannot be compared."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    CRITICAL = "critical"
    UNKNOWN = "unknown"
    UNREACHABLE = "unreachable"

    @property
    def rank(self) -> int:
        """0 healthy, 1 degraded, 2 critical, -1 if it cannot be compared."""
        return {"healthy": 0, "degraded": 1, "critical": 2}.get(self.value, -1)


class Confidence(enum.StrEnum):
    """confirmed: mechanism seen; likely: cause and symptom seen, link not; possible: present, not proven."""

    CONFIRMED = "confirmed"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        """Higher is more certain."""
        return {"possible": 0, "likely": 1, "confirmed": 2}[self.value]


@dataclass(frozen=True, slots=True)
class Evidence:
    """An observation: a short name, the probe that made it, a sentence, and the node's own lines."""

    finding: str
    probe: str
    says: str
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause that the readings support, how surely, and the remedy."""

    cause: str | None  # None: a symptom that no named cause explains
    status: Status
    confidence: Confidence | None
    summary: str
    evidence: tuple[Evidence, ...]
    suspects: tuple[str, ...] = ()
    remedy: tuple[Step, ...] = ()  # the steps that the evidence justifies; their commands come later
    lasting_fix: str = ""
    settled_by: str = ""  # completes “… would settle it”; empty where it is confirmed
    profile_settles: bool = False  # what would settle it begins with a profile of the cores
    harm: str = ""  # what it does to those who use the node, in a few words; the summary says it too
    found: str = ""  # the summary without that harm; empty where it has none


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A cause that the readings speak against, and why.

    `applies` False: nothing is there that could have it, or that could show it; so nothing speaks against it either.
    """

    cause: str
    because: str
    applies: bool = True


@dataclass(frozen=True, slots=True)
class Undecided:
    """A cause that cannot be judged because something was not read.

    `suspected`: a reading points at it, so that the missing reading decides the whole verdict. `would_decide`: what
    would decide it, in a few words; empty if only a later look can. `worst`: the gravest status that is still possible,
    if it is less than the cause's worst.
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

    def says_beside(self, unread: Sequence[Unread]) -> str:
        """`says`, where the reasons of what was not read are listed beside it: a dozen causes may lack one reading.

        Example:
        >>> Undecided("io-stall", "the log was not read (sudo refused)").says_beside([Unread("log", "sudo refused")])
        'the log was not read'
        """
        says = self.says
        for each in unread:
            says = says.replace(f" ({each.reason})", "")
        return says


@dataclass(frozen=True, slots=True)
class Unusual:
    """A fact about the node that its peers do not share; it explains, and never judges.

    Shape: `here` and `peers` are values in words; `since` is the first check that showed it, ISO 8601, "now" where that
    is this one, and empty where none is known that did not. `boot` is the node's boot, ISO 8601, where that came after
    the last check that did not show it, and before the first that did. `title` is the fact in words, where they are
    known; `lines` are the node's own.
    """

    fact: str
    here: str
    peers: str
    since: str = ""
    title: str = ""
    boot: str = ""
    lines: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The fact in words, or as it is."""
        return self.title or self.fact

    @property
    def beside(self) -> str:
        """What it is here and on the peers, such as `x8 here, x16 on its 211 peers, since Tuesday's boot`."""
        if self.boot:
            since = f", since {datetime.fromisoformat(self.boot):%A's boot (%d %b)}"
        elif self.since in ("", "now"):
            since = ", not so at the check before" if self.since else ""
        else:
            since = f", first seen on {datetime.fromisoformat(self.since):%a %d %b at %H:%M UTC}"
        return f"{self.here} here, {self.peers}{since}"

    @property
    def says(self) -> str:
        """What is unusual, in words."""
        return f"{self.name}: {self.beside}"

    @property
    def brief(self) -> str:
        """The same in few words, such as `PCIe width of mlx5_core 0000:17:00.0: x8, x16 on its 211 peers`."""
        return f"{self.name}: {self.here}, {self.peers}"


class HalfRead(Undecided):
    """A cause of which the part that was read shows nothing, and the rest might: `because` says what is lacking.

    Cut is not empty: the log begins minutes ago, a counter was seen once, more file systems are there than were asked.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ShortLog(HalfRead):
    """A cause that the kernel log does not show as far back as it was read, which is less far than was asked.

    Shape: `since` is how long after boot that is.
    """

    since: timedelta = timedelta(0)


class LeftOut(Undecided):
    """A site's own cause, or a row of its tables, that cannot be used: nobody knows what it would have said."""

    __slots__ = ()


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
    remedy: tuple[Step, ...] = ()  # the first finding's remedy; the plan is made of it
    lasting_fix: str = ""
    plan: Plan | None = None
    snapshot: Snapshot | None = None
    took: timedelta = timedelta(0)
    try_next: str = ""
    undecided: tuple[Undecided, ...] = ()  # causes neither found nor ruled out; a missing reading never clears a cause
    muted: tuple[Mute, ...] = ()  # causes found that people know and accept; gravest first
    heat: CoreHeat | None = None  # of its cores, if a core stands out: for people to see, not used for judging
    slowness: float | None = None  # how many times as long as usual its answers took
    settled_by: str = ""  # completes “… would settle it”; empty where it is confirmed
    profile_settles: bool = False  # what would settle it begins with a profile of the cores
    harm: str = ""  # of the cause, in a few words; the summary says it too
    found: str = ""  # the summary without that harm; empty where it has none
    unusual: tuple[Unusual, ...] = ()  # what its peers do not share, the most unusual first; for people to see
    compared: str = ""  # how many facts were judged beside whom, in words; empty where none were: nothing is then usual
    alerted: str = ""  # what of the alert's own words was read, in a sentence; empty where no source raised one

    @property
    def is_only_unusual(self) -> bool:
        """True where something is unusual, and no cause was found: a healthy status is then not the whole answer."""
        return self.cause is None and bool(self.unusual)

    @property
    def is_ordinary(self) -> bool:
        """True for a healthy node about which nothing is unusual: nobody has to look at it."""
        return self.status is Status.HEALTHY and not self.unusual

    @property
    def half_read(self) -> tuple[str, ...]:
        """What was read only in part, where the rest may show a fault."""
        return tuple(dict.fromkeys(each.because for each in self.undecided if isinstance(each, HalfRead)))

    @property
    def took_words(self) -> str:
        """How long the node was read, and that it is slow, if it is."""
        slow = slow_words(self.slowness)
        return f"read in {self.took.total_seconds():.1f} s" + (f": {slow}" if slow else "")

    @property
    def is_muted(self) -> bool:
        """True when the cause that names the verdict is muted: no other finding is as grave."""
        return self.cause is not None and any(mute.cause == self.cause for mute in self.muted)


def without_secrets(verdict: Verdict, redactor: Redactor | None = None) -> Verdict:
    """Return the verdict without secrets, redacted like the record, so that it may be shown anywhere.

    For many verdicts, hand in a shared redactor.
    """
    redactor = Redactor() if redactor is None else redactor
    shown: Verdict = read(Verdict, redactor.value(to_json_types(verdict)))
    return replace(shown, node=verdict.node, snapshot=verdict.snapshot)  # the name is the inventory's, not the node's


def recorded_verdict(verdict: Verdict) -> RecordedVerdict:
    """Return the part of a verdict that a case keeps."""
    return RecordedVerdict(
        verdict.status.value,
        verdict.cause or "",
        verdict.confidence.value if verdict.confidence is not None else "",
        verdict.plan.digest if verdict.plan is not None else "",
        verdict.summary,
        verdict.suspects,
    )


def outcome_parts(verdict: Verdict) -> tuple[str, str | None, str | None, str | None]:
    """Return what is compared of a verdict: status, cause, confidence and the plan's digest."""
    return verdict.status, verdict.cause, verdict.confidence, verdict.plan.digest if verdict.plan is not None else None
