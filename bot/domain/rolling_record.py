"""Rolling captures as the ledger has them: each is a fold of its entries in `house`."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

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


SAME_SECONDS = 10.0  # symptoms of the same kind closer together than this are the same


class RollingState(enum.StrEnum):
    """The state of a capture."""

    ASKED = "asked"  # waits for another person's approval
    APPROVED = "approved"
    STARTING = "starting"  # the command may have reached the node or not
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class RollingCapture:
    """A rolling capture, as far as the ledger knows it.

    Shape: `by` is who asked; `started` is the machine and boot it was started on, `since_usec` the time by the node's
    clock, 0 if it was never read; `stopping` and `ended` say how it ended.
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
        """True when it is done, and nothing of it is left on the node."""
        return self.state is RollingState.ENDED

    @property
    def is_on_node(self) -> bool:
        """True while its recorder or its ring may be on the node."""
        return self.started is not None and not self.is_over

    @property
    def until(self) -> datetime | None:
        """When it ends by itself; None before it was started."""
        return None if self.started_at is None else self.started_at + self.request.lasts

    def knows(self, symptom: str, at_mono: float) -> bool:
        """True when this symptom was caught before: several programs may see it, each with its own clock error."""
        return any(caught.symptom == symptom and abs(caught.at_mono - at_mono) < SAME_SECONDS for caught in self.caught)

    def is_overdue(self, now: datetime) -> bool:
        """True when it must have ended by itself by now."""
        return self.until is not None and now > self.until + timedelta(minutes=5)


def captures_of(entries: Iterable[Entry]) -> dict[str, RollingCapture]:
    """Return the captures by id, in the order of their requests; entries of newer programs are left out."""
    found: dict[str, RollingCapture] = {}
    for entry in entries:
        event = entry.known_event
        if isinstance(event, CaptureAsked):
            if (asked := _asked(event, entry)) is not None:
                found[event.capture] = asked
            continue
        before = found.get(getattr(event, "capture", ""))
        if before is not None and not before.is_over:
            found[before.id] = _after(before, event, entry)
    return found


def _asked(event: CaptureAsked, entry: Entry) -> RollingCapture | None:
    try:
        request = RollingRequest(event.hours, event.segment_minutes, event.around)
    except ValueError:
        return None
    state = RollingState.ASKED if event.needs_approval else RollingState.APPROVED
    return RollingCapture(event.capture, event.node, request, entry.by, entry.at, event.os_user, state)


def _after(before: RollingCapture, event: object, entry: Entry) -> RollingCapture:
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
