"""What people do with captures in Slack: the buttons *Show* and *Stop*, and what they type."""

from __future__ import annotations

from bot.domain.contracts import Log
from bot.domain.errors import CannotRead, NothingProposed, Unreachable
from bot.domain.rolling_record import RollingCapture
from bot.domain.safe_text import one_line
from bot.response.capture.rolling_words import lines
from bot.surfaces.slack.capture_card import SHOW, STOP, capture_of, listed
from bot.surfaces.slack.capture_cards import CaptureCards
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.listeners import Click
from bot.surfaces.slack.people import Person

_SAID = 2500


class CaptureClicks:
    """Takes clicks on the cards of captures, and what people type about captures; each answer is private."""

    family = ""

    def __init__(self, context: SlackContext, cards: CaptureCards, log: Log) -> None:
        self._context = context
        self._cards = cards
        self._log = log

    def is_about(self, action: str, value: str) -> bool:
        """True for any button of a capture's card, those of older cards too."""
        return bool(capture_of(value))

    async def ask(self, click: Click) -> None:
        """Do what a click asks for. Raises: Refused, UsageError, LedgerError."""
        rolling = await self._cards.control.find(capture_of(click.value))
        if not await self._cards.is_its_card(rolling.id, click.channel, click.ts):
            raise NothingProposed("This is not the card of that capture; use the buttons on the card itself.")
        if click.action not in (SHOW, STOP):  # on a card of an older program
            raise NothingProposed(
                "Captures need no yes any more, so nothing was decided.", "Ask for it again: /zombie capture NODE 12h"
            )
        await self._context.askers.admit(click.person)
        self._context.askers.count(click.person)
        words = await self._looked(rolling, click.person.by, click.action == STOP)
        await self._context.ephemeral.tell(click.person.by, click.channel, click.thread, words)

    async def typed(self, verb: str, capture: str, person: Person) -> str:
        """Return the answer to `capture list`, `show ID` or `stop ID`. Raises: Refused, UsageError, LedgerError."""
        await self._context.askers.admit(person)
        if verb == "list":
            return listed(tuple((await self._cards.control.all()).values()))
        self._context.askers.count(person)
        return await self._looked(await self._cards.control.find(capture), person.by, verb == "stop")

    async def _looked(self, rolling: RollingCapture, by: str, stops: bool) -> str:
        try:
            news = await (self._cards.stop(rolling, by) if stops else self._cards.look(rolling))
        except (CannotRead, Unreachable) as no:
            self._log("capture_unread", capture=rolling.id, node=rolling.node, error=one_line(str(no)))
            return f"Capture {rolling.id} cannot be looked at now: {no}"
        return "\n".join(lines(news))[:_SAID]
