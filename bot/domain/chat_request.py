"""People's requests in a chat, stored so that each is handled once, however often it is delivered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request that was acknowledged and is not done yet; `key` is the chat's id of it, `body` what was stored."""

    key: str
    body: str
    kept_at: datetime
