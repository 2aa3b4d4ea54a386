"""What the record says of rolling captures: each is a fold of its entries in `house`."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.domain.errors import UnreadableEntry
from bot.domain.house_events import (
    CaptureApproved,
    CaptureAsked,
    CaptureBegan,
    CaptureEnded,
    CaptureStarting,
    CaptureStopping,
    SymptomCaught,
)
from bot.domain.rolling import RollingRequest

if TYPE_CHECKING:
    from bot.domain.entry import Entry


SAME_SECONDS = 10.0  # symptoms of one kind that lie closer together are one


class RollingState(enum.StrEnum):
    """How far a capture is."""

    ASKED = "asked"  # and waits for somebody else's yes
    APPROVED = "approved"
    STARTING = "starting"  # the command may have arrived or not
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Rolling:
    """One rolling capture, as far as the record knows it.

    Shape: `by` is who asked; `started` which machine and boot it was started on, `since_usec` when, by the node's
    clock, 0 where that was never read; `stopping` and `ended` how it came to its end.
    """

    id: str
    node: str
    request: RollingRequest
    by: str
    asked_at: datetime
    os_user: str = ""
    state: RollingState = RollingState.ASKED
    started: CaptureStarting | None = None
    started_at: datetime | None = None
    since_usec: int = 0
    caught: tuple[SymptomCaught, ...] = ()
    stopped_by: str = ""
    stopping: CaptureStopping | None = None
    ended: CaptureEnded | None = None

    @property
    def is_over(self) -> bool:
        """True when nothing more is done for it, and nothing of it is on the node."""
        return self.state is RollingState.ENDED

    @property
    def is_on_node(self) -> bool:
        """True while its recorder, or its ring, may be on the node."""
        return self.started is not None and not self.is_over

    @property
    def until(self) -> datetime | None:
        """When it ends by itself; None before it was started."""
        return None if self.started_at is None else self.started_at + self.request.lasts

    def knows(self, symptom: str, at_mono: float) -> bool:
        """True when that was caught before: two programs may see it at once, each with its own error of the clock."""
        return any(caught.symptom == symptom and abs(caught.at_mono - at_mono) < SAME_SECONDS for caught in self.caught)

    def is_overdue(self, now: datetime) -> bool:
        """True when it must have ended by itself."""
        return self.until is not None and now > self.until + timedelta(minutes=5)


def captures_of(entries: Iterable[Entry]) -> dict[str, Rolling]:
    """Return the captures by id, in the order they were asked for; what a newer program wrote is left out."""
    found: dict[str, Rolling] = {}
    for entry in entries:
        try:
            event = entry.event
        except UnreadableEntry:
            continue
        if isinstance(event, CaptureAsked):
            if (asked := _asked(event, entry)) is not None:
                found[event.capture] = asked
            continue
        before = found.get(getattr(event, "capture", ""))
        if before is not None and not before.is_over:
            found[before.id] = _after(before, event, entry)
    return found


def _asked(event: CaptureAsked, entry: Entry) -> Rolling | None:
    try:
        request = RollingRequest(event.hours, event.segment_minutes, event.around)
    except ValueError:
        return None
    state = RollingState.ASKED if event.needs_approval else RollingState.APPROVED
    return Rolling(event.capture, event.node, request, entry.by, entry.at, event.os_user, state)


def _after(before: Rolling, event: object, entry: Entry) -> Rolling:
    match event:
        case CaptureApproved():
            return replace(before, state=RollingState.APPROVED)
        case CaptureStarting():
            return replace(before, state=RollingState.STARTING, started=event, started_at=entry.at)
        case CaptureBegan():
            return replace(before, state=RollingState.RUNNING, since_usec=event.since_usec)
        case SymptomCaught():
            if before.knows(event.symptom, event.at_mono):
                return before
            return replace(before, caught=(*before.caught, event))
        case CaptureStopping():
            return replace(before, state=RollingState.STOPPING, stopped_by=entry.by, stopping=event)
        case CaptureEnded():
            return replace(before, state=RollingState.ENDED, ended=event)
    return before
