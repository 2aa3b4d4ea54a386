"""People's requests in a chat, stored so that each is handled once, however often it is delivered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request that was acknowledged and is not done yet; `key` is the chat's id of it, `body` what was stored."""

    key: str
    body: str
    kept_at: datetime


class ChatRequests(Protocol):
    """The chat requests of all programs that share a database.

    Raises: every method raises LedgerUnavailable when the database does not answer.
    """

    async def keep(self, key: str, body: str = "", *, done: bool = False) -> bool:
        """Take a request; False if it was taken before and is done, or if a live program is handling it.

        Shape: a request with a body is continued after a crash (`left`); without a body only its key is known. With
        `done` it counts as done at once, for what nobody would go on with.
        """

    async def done(self, key: str) -> None:
        """Mark a request as done; its key stays known for some days."""

    async def is_open(self, key: str) -> bool:
        """True for a request that any program has taken and that is not done."""

    async def left(self) -> tuple[ChatRequest, ...]:
        """Take over the requests that no live program is handling, and return them, oldest first."""
