"""What people ask for in a chat, kept so that each delivery is seen to once, however often it arrives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KeptWish:
    """What was acknowledged and is not done yet; `key` is the chat's own id of it, `body` whatever was kept with it."""

    key: str
    body: str
    kept_at: datetime


class Wishes(Protocol):
    """What the programs at one database have taken from a chat.

    Raises: every verb raises LedgerUnavailable when the database cannot be asked.
    """

    async def keep(self, key: str, body: str = "") -> bool:
        """Take a wish; False where it was taken before, and is done or somebody alive is at it.

        Shape: with a body it is carried on after a crash (`left`), without one it is only known.
        """
        ...

    async def done(self, key: str) -> None:
        """Say that a wish is seen to; it stays known for some days."""
        ...

    async def is_open(self, key: str) -> bool:
        """True for a wish that was taken, by whichever program, and is not done."""
        ...

    async def left(self) -> tuple[KeptWish, ...]:
        """Take over what nobody alive is at, and return it, the oldest first."""
        ...
