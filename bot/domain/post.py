"""A post: what one surface is to show of one incident, kept until it has been taken there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class MessageRef:
    """Where a post stands once it was taken: a channel and the time stamp by which the chat knows it."""

    channel: str
    ts: str


@dataclass(frozen=True, slots=True)
class Post:
    """One part of what is shown of an incident; there is one of each (incident, part), and a later one replaces it.

    Shape: `content` is JSON as the surface sends it. `under` names the part in whose thread this one goes: it waits
    until that part has its place.
    """

    incident: str
    part: str
    channel: str
    content: Mapping[str, Any] = field(default_factory=dict)
    under: str = ""


@dataclass(frozen=True, slots=True)
class DuePost:
    """A post to be sent now.

    Shape: `id` names this very version of it. `place` is where an earlier version stands, which is then edited;
    `thread` the place it goes under. `attempts` counts the failures so far.
    """

    id: str
    post: Post
    kept_at: datetime
    place: MessageRef | None = None
    thread: MessageRef | None = None
    attempts: int = 0
    error: str = ""
