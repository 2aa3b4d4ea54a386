"""What takes the clicks and dialogs of one kind of card that is no incident's: a wave's, a capture's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bot.surfaces.slack.dialog import Intent
from bot.surfaces.slack.people import Person

if TYPE_CHECKING:
    from bot.surfaces.slack.click import Click


class CardDecisions(Protocol):
    """Takes clicks on such cards, and the dialogs that they open."""

    def is_about(self, action: str, value: str) -> bool:
        """True for a button or a dialog of this kind of card."""
        ...

    async def ask(self, click: Click) -> None:
        """Open the dialog of a click, or do what needs none. Raises: Refused, UsageError, LedgerError."""
        ...

    async def decide(self, intent: Intent, person: Person, reason: str, *, again: bool = False) -> None:
        """Put on record what a dialog asks for; `again` is for one that was begun by a run before."""
        ...
