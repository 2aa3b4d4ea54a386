"""A post: what a surface is to show of an incident, stored until it is delivered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


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
