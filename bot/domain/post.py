"""A post: what a surface is to show of an incident, stored until it is delivered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bot.domain.claim import Doubts
    from bot.domain.entry import Entry, Head
    from bot.domain.incident import Incident


@dataclass(frozen=True, slots=True)
class MessageRef:
    """The message of a delivered post: a channel, and the time stamp that is the chat's id of it."""

    channel: str
    ts: str


@dataclass(frozen=True, slots=True)
class Post:
    """A part of what is shown of an incident; a later post of the same incident and part replaces it.

    Shape: `content` is JSON as the surface sends it. `under` names the part in whose thread the post goes: it waits
    until that part is delivered.
    """

    incident: str
    part: str
    channel: str
    content: Mapping[str, Any] = field(default_factory=dict)
    under: str = ""


@dataclass(frozen=True, slots=True)
class StoredPost:
    """A post that was just stored.

    Shape: `id` identifies this version. `place` is the message with an earlier version, `above` the message in whose
    thread it goes; each is None while nothing was delivered.
    """

    id: str
    place: MessageRef | None = None
    above: MessageRef | None = None


@dataclass(frozen=True, slots=True)
class CardPosts:
    """What the outbox has of a card: the message of each delivered part, and what stands in one of them.

    Shape: `standing` is the content of that part which was delivered last, None if a later version of it waits.
    """

    places: Mapping[str, MessageRef] = field(default_factory=dict)
    standing: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CardRecord:
    """Everything that a card is drawn from, all read at one moment.

    Shape: `incidents` are the card's, oldest first; `unreadable` says by id why others cannot be read. `head` is the
    record's, `pulled` the pull of the brake that is on; `doubts` say which causes offer no plans.
    """

    card: str
    incidents: tuple[Incident, ...]
    unreadable: Mapping[str, str]
    posts: CardPosts
    head: Head
    pulled: Entry | None
    doubts: Doubts


@dataclass(frozen=True, slots=True)
class DuePost:
    """A post to be sent now.

    Shape: `id` identifies this version of it. `place` is the message with an earlier version, to be edited; `thread` is
    the message to reply to. `attempts` counts the failures so far.
    """

    id: str
    post: Post
    kept_at: datetime
    place: MessageRef | None = None
    thread: MessageRef | None = None
    attempts: int = 0
    error: str = ""
