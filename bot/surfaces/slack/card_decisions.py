"""The contract of what takes clicks and dialogs of cards without an incident: waves, captures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bot.surfaces.slack.dialog import Intent
from bot.surfaces.slack.people import Person

if TYPE_CHECKING:
    from bot.surfaces.slack.click import Click


class CardDecisions(Protocol):
    """Takes clicks on such cards, and their dialogs."""

    def is_about(self, action: str, value: str) -> bool:
        """True for a button or a dialog of this kind of card."""
        ...

    async def ask(self, click: Click) -> None:
        """Open the dialog of a click, or do what needs none. Raises: Refused, UsageError, LedgerError."""
        ...

    async def decide(self, intent: Intent, person: Person, reason: str, *, again: bool = False) -> None:
        """Record what a dialog asks for; `again`: an earlier run began to handle it."""
        ...
