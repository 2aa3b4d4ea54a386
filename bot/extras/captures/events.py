"""The events of rolling captures, named by past participles: entries of the stream `house`.

A field added later has a default, so that older entries can still be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias, get_args

from bot.domain.entry import FORMS, LIFTS, Entry, OwnEvent, event_of
from bot.domain.errors import UnreadableEntry

SAME_SECONDS = 10.0  # symptoms of the same kind closer together than this are the same


@dataclass(frozen=True, slots=True)
class CaptureAsked(OwnEvent):
    """A person asked for a rolling capture of a node. `needs_approval`: in older records, it waited for a yes."""

    capture: str
    node: str
    hours: int
    segment_minutes: int
    around: tuple[str, ...] = ()
    needs_approval: bool = False
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class CaptureApproved(OwnEvent):
    """Another person approved a rolling capture; only in older records."""

    capture: str
    os_user: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CaptureStarting(OwnEvent):
    """The recorder is about to be started, on that machine and in that boot; `uptime` is the node's, in seconds."""

    capture: str
    boot_id: str
    machine_id: str
    host_key: str
    uptime: float
    event: str = ""


@dataclass(frozen=True, slots=True)
class CaptureBegan(OwnEvent):
    """The recorder runs. `since_usec` is when systemd started it, by the node's CLOCK_MONOTONIC."""

    capture: str
    since_usec: int


@dataclass(frozen=True, slots=True)
class SymptomCaught(OwnEvent):
    """A symptom came during a capture; `sentence` says what the segments around it show, or `unread` why they do not.

    Shape: `at` is the symptom's time of day, `at_mono` the same by the node's CLOCK_MONOTONIC, in seconds. `error` is
    how far that may be off, None if not known. `sketch` is the content hash of the sketch of the core in question, kept
    under the capture's id; empty if there is none. `core` is the core that was held; -1 if there is none, or not known;
    `ends_mono` is until when, 0 if not known. `unfinished`: when this was seen, the segments around it were unread, or
    the core was still held; a later entry tells more of the same, or that this is all, as does the capture's end.
    """

    capture: str
    symptom: str
    at: datetime
    at_mono: float
    sentence: str
    unread: str = ""
    error: float | None = None
    sketch: str = ""
    core: int = -1
    ends_mono: float = 0.0
    unfinished: bool = False

    @property
    def waits(self) -> bool:
        """True for a symptom whose segments were not read yet."""
        return self.unfinished and not self.ends_mono

    @property
    def name(self) -> str:
        """Its name among those of its capture, also that of a file with perf's text around it."""
        return f"{self.symptom}-{self.at:%H%M%S}"

    @property
    def until(self) -> datetime:
        """Until when it lasted: a moment has no length."""
        return self.at + timedelta(seconds=max(0.0, self.ends_mono - self.at_mono))

    def covers(self, other: SymptomCaught) -> bool:
        """True when the other tells nothing more: the same symptom, within the same time."""
        is_same = self.symptom == other.symptom and (self.core == other.core or -1 in (self.core, other.core))
        # Of a moment each program has its own clock error; a held core's times are those of its samples.
        apart = 0.0 if self.ends_mono else SAME_SECONDS
        begins, ends = self.at_mono - apart, max(self.at_mono, self.ends_mono) + apart
        is_within = begins <= other.at_mono and max(other.at_mono, other.ends_mono) <= ends
        # That nothing more may come is news of what reaches as far.
        return is_same and is_within and (self.unfinished <= other.unfinished or self.ends_mono > other.ends_mono)


@dataclass(frozen=True, slots=True)
class CaptureStopping(OwnEvent):
    """A person stops the recorder. Units: the CPU seconds that it used, and the seconds that it recorded."""

    capture: str
    os_user: str = ""
    spent_seconds: float = 0.0
    recorded_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CaptureEnded(OwnEvent):
    """A capture is over, and why; `left` says what may still be on the node, empty if nothing is.

    Shape: `unread` is what was not read of it: nothing caught does not mean that nothing came then.
    """

    capture: str
    because: str
    left: str = ""
    unread: tuple[str, ...] = ()


CaptureEvent: TypeAlias = CaptureAsked | CaptureStarting | CaptureBegan | SymptomCaught | CaptureStopping | CaptureEnded
CAPTURE_EVENTS: tuple[type[Any], ...] = (*get_args(CaptureEvent), CaptureApproved)
KINDS: Mapping[str, type[Any]] = {event.__name__: event for event in CAPTURE_EVENTS}


def capture_event(entry: Entry) -> OwnEvent | None:
    """Return what happened to a capture; None where this program cannot know it."""
    try:
        found = event_of(entry.kind, entry.body, FORMS, LIFTS, KINDS)
    except UnreadableEntry:
        return None
    return found if isinstance(found, OwnEvent) else None
