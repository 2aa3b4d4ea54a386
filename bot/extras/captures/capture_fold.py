"""Rolling captures as the ledger has them: each is a fold of its entries in `house`."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from bot.domain.claim import CLOCK_TOLERANCE
from bot.domain.incident import IncidentSummary
from bot.extras.captures.events import (
    CaptureApproved,
    CaptureAsked,
    CaptureBegan,
    CaptureEnded,
    CaptureEvent,
    CaptureStarting,
    CaptureStopping,
    SymptomCaught,
    capture_event,
)
from bot.extras.captures.held_cores import MOST_APART, SECOND, HeldStretch
from bot.extras.captures.recorder_commands import RollingRequest

if TYPE_CHECKING:
    from bot.domain.entry import Entry

ENDS_WITHIN = timedelta(minutes=5)  # after its time: `timeout` and systemd end the recorder within two minutes
LOST_AFTER = timedelta(days=1)  # after its time, without an answer of its node
LED_TO = timedelta(minutes=30)  # a symptom this long before an alert may be its cause
WAITED_FOR_A_YES = "it waited for another person's yes, which captures no longer need: ask for it again"
LOG_UNREAD = "log-unread"  # in place of a symptom: lines of the kernel's log that no look read
AFTER_LAST_LOOK = ("what came after the last look, or was not finished by then",)
NEVER_BEGAN = "its program ended before it began, so nothing was started"


class RollingState(enum.StrEnum):
    """The state of a capture."""

    STARTING = "starting"  # the command may have reached the node or not
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class RollingCapture:
    """A rolling capture, as far as the ledger knows it.

    Shape: `by` is who asked; `started` is the machine and boot it was started on, None for one of an older record that
    never began; `since_usec` is the time by the node's clock, 0 if it was never read; `stopping` and `ended` say how it
    ended.
    """

    id: str
    node: str
    request: RollingRequest
    by: str
    asked_at: datetime
    os_user: str = ""
    state: RollingState = RollingState.STARTING
    started: CaptureStarting | None = None
    started_at: datetime | None = None
    since_usec: int = 0
    caught: tuple[SymptomCaught, ...] = ()
    stopped_by: str = ""
    stopping: CaptureStopping | None = None
    ended: CaptureEnded | None = None

    @property
    def is_over(self) -> bool:
        """True when it is done, and nothing of it is left on the node."""
        return self.state is RollingState.ENDED

    @property
    def until(self) -> datetime | None:
        """When it ends by itself; None before it was started."""
        return None if self.started_at is None else self.started_at + self.request.lasts

    @property
    def since_mono(self) -> float:
        """Since when it records, or was started where that is unknown: the node's CLOCK_MONOTONIC, in seconds."""
        return self.since_usec / 1e6 if self.since_usec else (self.started.uptime if self.started else 0.0)

    @property
    def until_mono(self) -> float:
        """Until when it records, unless its recorder ends early: until it was stopped, or its time is over."""
        recorded = self.stopping.recorded_seconds if self.stopping is not None else 0.0
        return self.since_mono + (recorded or self.request.lasts.total_seconds())

    @property
    def found(self) -> Sequence[SymptomCaught]:
        """What was caught, without what is missing."""
        return [each for each in self.caught if each.symptom != LOG_UNREAD]

    @property
    def gaps(self) -> Sequence[SymptomCaught]:
        """The parts of the kernel's log that no look read: a node that logs a lot has one for each look."""
        return [each for each in self.caught if each.symptom == LOG_UNREAD]

    def knows(self, symptom: SymptomCaught) -> bool:
        """True when this was caught before: several programs may see it."""
        return any(each.covers(symptom) for each in self.caught)

    def with_caught(self, symptom: SymptomCaught) -> RollingCapture:
        """Return it with this as well, which takes the place of what tells less of the same."""
        if self.knows(symptom):
            return self
        is_less = [each.core == symptom.core and symptom.covers(each) for each in self.caught]
        kept = [each for each, less in zip(self.caught, is_less, strict=True) if not less]
        kept.insert([*is_less, True].index(True), symptom)
        return replace(self, caught=tuple(kept))

    def holds(self, held: HeldStretch) -> Sequence[SymptomCaught]:
        """Return what is on record of a hold, be it longer by now: as where they are joined, by the same process."""
        apart = MOST_APART / SECOND
        return [
            each
            for each in self.caught
            if each.core == held.core
            and held.is_named_in(each.sentence)
            and each.at_mono - apart <= held.ends
            and held.begins <= each.ends_mono + apart
        ]

    def occupies_slot(self, now: datetime) -> bool:
        """True while its node, and a place within the limits, is taken by it."""
        return not self.is_over and not self.is_overdue(now)

    def was_asked_lately(self, now: datetime) -> bool:
        """True when it counts among those that its person asked for within a day."""
        return now - timedelta(days=1) < self.asked_at <= now + CLOCK_TOLERANCE

    def is_overdue(self, now: datetime) -> bool:
        """True when its recorder has ended by itself, so that it takes no place any more.

        Also where the ledger's clock was set back since, so that its age is not known: what runs on the node is seen
        there, and nothing begins beside it. `now` is the ledger's time.
        """
        since = self.started_at or self.asked_at
        return not since - CLOCK_TOLERANCE <= now <= since + self.request.lasts + ENDS_WITHIN

    def is_lost(self, now: datetime) -> bool:
        """True when its time is over for so long that its node need not be waited for."""
        return self.until is not None and now > self.until + LOST_AFTER


@dataclass(frozen=True, slots=True)
class CaptureRecord:
    """The captures by id, the pull of the brake that is on, and the ledger's time, all read in one transaction."""

    captures: Mapping[str, RollingCapture]
    pulled: Entry | None
    now: datetime


# What to append, as it follows from the record: nothing, or events that go in together. It may raise, and is pure.
CaptureDecision: TypeAlias = Callable[[CaptureRecord], Sequence[CaptureEvent]]


def captures_of(entries: Iterable[Entry]) -> dict[str, RollingCapture]:
    """Return the captures by id, in the order of their requests; entries of newer programs are left out.

    Whoever ends a capture need not be who saw what it caught, so that may come later.
    In older records one may have been asked for and never begun, or wait for another person's yes: it is over.
    """
    found: dict[str, RollingCapture] = {}
    waiting: set[str] = set()
    for entry in entries:
        event = capture_event(entry)
        if isinstance(event, CaptureAsked):
            if event.capture not in found and (asked := _capture_asked(event, entry)) is not None:
                found[event.capture] = asked
                waiting |= {event.capture} if event.needs_approval else set()
            continue
        if isinstance(event, CaptureApproved):
            waiting.discard(event.capture)
        before = found.get(getattr(event, "capture", ""))
        if before is not None and (not before.is_over or isinstance(event, SymptomCaught)):
            found[before.id] = _capture_after(before, event, entry)
    for name, rolling in found.items():
        if rolling.started is None and rolling.ended is None:
            ended = CaptureEnded(name, WAITED_FOR_A_YES if name in waiting else NEVER_BEGAN)
            found[name] = replace(rolling, state=RollingState.ENDED, ended=ended)
    return found


def _capture_asked(event: CaptureAsked, entry: Entry) -> RollingCapture | None:
    try:
        request = RollingRequest(event.hours, event.segment_minutes, event.around)
    except ValueError:
        return None
    return RollingCapture(event.capture, event.node, request, entry.by, entry.at, event.os_user)


def _capture_after(before: RollingCapture, event: object, entry: Entry) -> RollingCapture:
    match event:
        case CaptureStarting():
            return replace(before, state=RollingState.STARTING, started=event, started_at=entry.at)
        case CaptureBegan():
            state = RollingState.RUNNING if before.stopping is None else before.state
            return replace(before, state=state, since_usec=event.since_usec)
        case SymptomCaught():
            return before.with_caught(event)
        case CaptureStopping():
            return replace(before, state=RollingState.STOPPING, stopped_by=entry.by, stopping=event)
        case CaptureEnded():
            return replace(before, state=RollingState.ENDED, ended=event)
    return before


def incident_of(
    summaries: Iterable[IncidentSummary], node: str, at: datetime, until: datetime
) -> IncidentSummary | None:
    """Return the node's incident that what came then, and lasted until then, belongs to; None where there is none."""
    of_node = [
        summary
        for summary in summaries
        if summary.node == node
        and summary.opened_at - LED_TO <= until
        and (not summary.ended or at <= summary.updated_at)
    ]
    return max(of_node, key=lambda summary: summary.opened_at, default=None)
