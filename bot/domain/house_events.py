"""Events that concern several incidents, named by past participles: entries of the ledger's stream `house`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

HOUSE = "house"  # the stream's name
OLDER_AT_ONCE = 1_000  # streams in an entry that lists older ones


@dataclass(frozen=True, slots=True)
class IncidentEnded:
    """An incident ended; holds the hash of its last entry, which may not change from now on."""

    incident: str
    state: str
    seq: int
    head: str


@dataclass(frozen=True, slots=True)
class EntryAnchored:
    """Anchors an entry of an incident that must never be removed: its opening, an approval, the beginning of a step.

    Shape: `kind`, `seq` and `head` are that entry's kind, number and hash. It is written in the same transaction as the
    entry, so that whoever cuts off an incident's entries must also rewrite `house`.
    """

    incident: str
    kind: str
    seq: int
    head: str


@dataclass(frozen=True, slots=True)
class OlderNoted:
    """Streams that programs wrote before entries were anchored, each with its head at that time as `SEQ:HASH`.

    Shape: written once, when the database is migrated, also where there are none; in several entries, one after the
    other, where there are more than `OLDER_AT_ONCE`. Entries up to that head need no anchor, all others do. A database
    made since then has none: the first entry of `house` says so.
    """

    heads: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WishRefused:
    """A person's request was refused; `refusal` is the refusal's name, `sentence` what they were told.

    Shape: `unwritten` counts earlier refusals that have no entry of their own: of the same kind and person, and, in the
    first refusal of an hour, of everybody for whom there was no room.
    """

    refusal: str
    sentence: str
    wish: str = ""
    incident: str = ""
    unwritten: int = 0


@dataclass(frozen=True, slots=True)
class BrakePulled:
    """No new step may begin. The entry's number identifies the pull; `request` is the id of the request."""

    reason: str
    request: str = ""


@dataclass(frozen=True, slots=True)
class BrakeReleased:
    """Steps may begin again; `pull` is the number of the released pull, 0 in older records."""

    reason: str
    pull: int = 0


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """The policy changed; holds the digest of the policy in force, and its text."""

    digest: str
    policy: str = ""


@dataclass(frozen=True, slots=True)
class NodeReleased:
    """A person released a node from an incident that cannot go on; nothing was done on the node.

    Shape: `because` is why the incident cannot go on; `os_user` is the login behind a name claimed in a terminal.
    """

    node: str
    incident: str
    because: str
    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class CauseMuted:
    """A cause is known and accepted on some nodes until a time; it hides no other finding that is at least as grave.

    Shape: `selector` is a node's name, a glob of names, or labels; `os_user` is the login that typed the command.
    """

    cause: str
    selector: str
    until: datetime
    reason: str
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class CauseUnmuted:
    """A mute was removed before its time; `cause` and `selector` are exactly those of the mute."""

    cause: str
    selector: str
    reason: str = ""
    os_user: str = ""


@dataclass(frozen=True, slots=True)
class IncidentsPruned:
    """Incidents that ended before that instant were removed, according to the retention settings.

    Shape: `heads` holds each incident's last entry, `SEQ:HASH` with the whole hash, by the incident's id.
    """

    heads: Mapping[str, str]
    before: datetime


# Names and hashes, all of them ours: no secret is in them, and an incident's name may look like a secret's.
OF_HASHES = (IncidentEnded, EntryAnchored, OlderNoted, IncidentsPruned)

HouseEvent: TypeAlias = (
    IncidentEnded
    | EntryAnchored
    | OlderNoted
    | WishRefused
    | BrakePulled
    | BrakeReleased
    | PolicyChanged
    | NodeReleased
    | CauseMuted
    | CauseUnmuted
    | IncidentsPruned
)
