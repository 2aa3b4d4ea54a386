"""Which of the programs that share a record looks at a capture: a single program while it lives, then another."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.domain.chat_request import ChatRequests

_LOOKS = "look-"


@dataclass(frozen=True, slots=True)
class LookTurns:
    """Takes the looks at captures for this program. It spares nodes a second look, and no more than that.

    Raises: every verb raises LedgerUnavailable when the database cannot be asked.
    """

    chat_requests: ChatRequests
    _mine: set[str] = field(default_factory=set)

    async def take(self, capture: str) -> bool:
        """Look at it from now on; False while another program that is alive does."""
        if capture not in self._mine and await self.chat_requests.keep(_LOOKS + capture):
            self._mine.add(capture)
        return capture in self._mine

    async def over(self, capture: str) -> None:
        """Say that nobody has to look at it any more."""
        self._mine.discard(capture)
        await self.chat_requests.done(_LOOKS + capture)
