"""What concerns more than one incident, each as a past participle: entries of the ledger's stream `house`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

HOUSE = "house"  # the stream's name


@dataclass(frozen=True, slots=True)
class IncidentEnded:
    """An incident came to its end, and the hash of its last entry, which from now on may not change."""

    incident: str
    state: str
    seq: int
    head: str


@dataclass(frozen=True, slots=True)
class EntryAnchored:
    """An entry of an incident that may never go: its opening, a yes, the beginning of a step.

    Shape: `kind`, `seq` and `head` are that entry's kind, number and hash. It is written in the same transaction as the
    entry, so that whoever cuts an incident's entries off has to rewrite `house`, too.
    """

    incident: str
    kind: str
    seq: int
    head: str


@dataclass(frozen=True, slots=True)
class WishRefused:
    """What a person asked for was not done; `refusal` is its name, `sentence` what they were told.

    Shape: `unwritten` counts those of the same kind and person before it that have no entry of their own.
    """

    refusal: str
    sentence: str
    wish: str = ""
    incident: str = ""
    unwritten: int = 0


@dataclass(frozen=True, slots=True)
class BrakePulled:
    """Nothing that has not begun may begin. Its entry's number is the pull's; `request` names the wish."""

    reason: str
    request: str = ""


@dataclass(frozen=True, slots=True)
class BrakeReleased:
    """Acting may go on; `pull` is the number of the pull that this releases, 0 in older records."""

    reason: str
    pull: int = 0


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """Who may do what is another than before; the digest of the policy in force, and its text."""

    digest: str
    policy: str = ""


@dataclass(frozen=True, slots=True)
class NodeReleased:
    """A person freed a node from an incident that cannot go on; nothing was done on the node.

    Shape: `because` is why the incident cannot go on; `os_user` is the login behind a name claimed in a terminal.
    """

    node: str
    incident: str
    because: str
    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class CauseMuted:
    """A cause is known and accepted on some nodes until a time; nothing is hidden by it that is at least as grave.

    Shape: `selector` is a node's name, a glob of names, or labels; `os_user` is the login that typed it.
    """

    cause: str
    selector: str
    until: datetime
    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class CauseUnmuted:
    """A mute was taken back before its time; `cause` and `selector` are exactly those it was made with."""

    cause: str
    selector: str
    reason: str = ""
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class VerdictMarked:
    """A person said whether the verdict of a closed incident was right; their later word takes the place of this.

    Shape: `cause` is the verdict's, or its status where it names none. `case` is the content hash of what the node
    said, where that is kept. `request` names the wish, so that a repetition of it says nothing new; `os_user` is the
    login that typed it.
    """

    incident: str
    cause: str
    right: bool
    node: str = ""
    case: str = ""
    request: str = ""
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class CauseLookedAt:
    """A person looked at a cause that was marked wrong too often: its plans are offered again, counting starts anew."""

    cause: str
    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class IncidentsPruned:
    """Incidents that ended before that instant were removed from the record, as its retention says.

    Shape: `heads` has each incident's last entry, `SEQ:HASH` with the whole hash, by the incident's id.
    """

    heads: Mapping[str, str]
    before: datetime


@dataclass(frozen=True, slots=True)
class CaptureAsked:
    """A person asked for a rolling capture of a node. `needs_approval`: nothing begins before another says yes."""

    capture: str
    node: str
    hours: int
    segment_minutes: int
    around: tuple[str, ...] = ()
    needs_approval: bool = False
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class CaptureApproved:
    """Another person said yes to a rolling capture."""

    capture: str
    os_user: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CaptureStarting:
    """The recorder is about to be started, on that machine and in that boot; `uptime` is the node's own, in seconds."""

    capture: str
    boot_id: str
    machine_id: str
    host_key: str
    uptime: float
    event: str = ""


@dataclass(frozen=True, slots=True)
class CaptureBegan:
    """The recorder runs. `since_usec` is when systemd started it, by the node's CLOCK_MONOTONIC."""

    capture: str
    since_usec: int


@dataclass(frozen=True, slots=True)
class SymptomCaught:
    """A symptom came while a capture ran; `sentence` says what the segments around it show, `unread` why they do not.

    Shape: `at` is the wall's time of the symptom, `at_mono` the same by the node's CLOCK_MONOTONIC, in seconds.
    `error` is how far that may be off, None where it was not told. `sketch` is the content hash of what was sketched of
    the core that it names, kept under the capture's id; empty where nothing is.
    """

    capture: str
    symptom: str
    at: datetime
    at_mono: float
    sentence: str
    unread: str = ""
    error: float | None = None
    sketch: str = ""


@dataclass(frozen=True, slots=True)
class CaptureStopping:
    """A person has the recorder stopped. Units: CPU seconds that it took for the seconds that it had recorded."""

    capture: str
    os_user: str = ""
    spent_seconds: float = 0.0
    recorded_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class CaptureEnded:
    """A capture is over, and why; `left` says what may still be on the node, empty where nothing is."""

    capture: str
    because: str
    left: str = ""


HouseEvent: TypeAlias = (
    IncidentEnded
    | EntryAnchored
    | WishRefused
    | BrakePulled
    | BrakeReleased
    | PolicyChanged
    | NodeReleased
    | CauseMuted
    | CauseUnmuted
    | VerdictMarked
    | CauseLookedAt
    | IncidentsPruned
    | CaptureAsked
    | CaptureApproved
    | CaptureStarting
    | CaptureBegan
    | SymptomCaught
    | CaptureStopping
    | CaptureEnded
)
