"""Messages and files, with their JSON.

Shapes: https://docs.slack.dev/messaging and https://docs.slack.dev/reference/objects/file-object
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.demo.slack.block_parts import Blocks
from bot.demo.slack.people import APP_ID, BOT_ID, BOT_USER, TEAM_ID


@dataclass(frozen=True, slots=True)
class File:
    """An uploaded file. Nobody sees it before its upload is completed."""

    id: str
    name: str
    content_type: str
    content: bytes
    title: str
    alt_text: str
    at_seconds: int

    def as_slack(self, address: str) -> dict[str, Any]:
        """Return the file's JSON; `address` is where its content is."""
        return {
            "id": self.id,
            "created": self.at_seconds,
            "name": self.name,
            "title": self.title,
            "mimetype": self.content_type,
            "filetype": self.name.rpartition(".")[2],
            "size": len(self.content),
            "user": BOT_USER,
            "alt_txt": self.alt_text,
            "url_private": address,
            "permalink": address,
        }


@dataclass(frozen=True, slots=True)
class Message:
    """A message. A reply has its parent's `thread_ts`; `only_for` is the only person who sees it."""

    ts: str
    channel: str
    user: str
    text: str
    blocks: Blocks = ()
    thread_ts: str | None = None
    edited_ts: str | None = None
    only_for: str | None = None
    is_broadcast: bool = False
    files: tuple[File, ...] = ()

    @property
    def is_reply(self) -> bool:
        """Whether it is a reply in a thread."""
        return self.thread_ts not in (None, self.ts)

    def seen_by(self, user: str) -> bool:
        """Return whether this member of its channel sees it."""
        return self.only_for in (None, user)

    def as_slack(self, *, replies: int = 0, file_address: str = "") -> dict[str, Any]:
        """Return the message as the Web API and interaction payloads show it."""
        found: dict[str, Any] = {
            "type": "message",
            "user": self.user,
            "ts": self.ts,
            "text": self.text,
            "team": TEAM_ID,
        }
        if self.user == BOT_USER:
            found |= {"bot_id": BOT_ID, "app_id": APP_ID}
        if self.is_broadcast:
            found["subtype"] = "thread_broadcast"
        if self.blocks:
            found["blocks"] = list(self.blocks)
        if self.thread_ts:
            found["thread_ts"] = self.thread_ts
            if not self.is_reply:
                found["reply_count"] = replies
        if self.edited_ts:
            found["edited"] = {"user": self.user, "ts": self.edited_ts}
        if self.only_for:
            found["is_ephemeral"] = True
        if self.files:
            found["files"] = [each.as_slack(f"{file_address}/{each.id}") for each in self.files]
        return found
