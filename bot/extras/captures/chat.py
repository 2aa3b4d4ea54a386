"""What people do with captures in a chat: the buttons *Show* and *Stop*, and what they type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bot.chat.clicks import Click
from bot.chat.context import ChatContext
from bot.chat.document import clipped
from bot.chat.people import Person
from bot.chat.requests import CommandRequest, ExtraQuestion, HelpRequest, KnownNodes, Request, WorkRequest, unknown_node
from bot.domain.chat_request import ChatRequest
from bot.domain.errors import CannotRead, NothingProposed, Unreachable
from bot.domain.safe_text import one_line
from bot.extras.captures.capture_fold import RollingCapture
from bot.extras.captures.chat_card import MOST_SHOWN, SHOW, STOP, capture_of, card_name, listed
from bot.extras.captures.chat_cards import CaptureCards
from bot.extras.captures.recorder_commands import HOURS, RollingRequest, hours_of, is_capture_id
from bot.extras.captures.words import lines
from bot.seats import Chat

_SAID = 2500
_NEEDS_ID = ("show", "stop")
_HELP = (
    "/zombie capture NODE 12h — record it for 1, 6, 12 or 24 h, and keep what its cores ran before a reset or a "
    "lockup\n/zombie capture list, show ID, stop ID — what was recorded, what it caught, and how to end it early"
)


@dataclass(frozen=True, slots=True)
class CaptureChat(Chat):
    """Takes clicks on the cards of captures, and what people type about captures; each answer is private."""

    context: ChatContext
    cards: CaptureCards
    known: KnownNodes

    # --- what people type

    @property
    def verbs(self) -> Mapping[str, str]:
        """Return its verbs, each with its lines of the help."""
        return {"capture": _HELP, "captures": ""}

    def typed(self, verb: str, words: list[str]) -> Request | None:
        """Return what is asked for after its verbs; an unknown node is answered as in a check."""
        if verb not in self.verbs:
            return None
        words = words or ["list"] * (verb == "captures")
        about = words[0].lower() if words else ""
        if about == "list" and len(words) == 1:
            return ExtraQuestion(about, partial(self._answer, about, ""))
        if about in _NEEDS_ID:
            if len(words) != 2 or not is_capture_id(words[1]):
                return HelpRequest(f"Say which: `/zombie capture {about} ID`.")
            return ExtraQuestion(about, partial(self._answer, about, words[1]), words[1])
        if not 1 <= len(words) <= 2:
            return HelpRequest("Say which node, and if you like for how long: `/zombie capture NODE 12h`.")
        if not self.known.knows(words[0]):
            return unknown_node(words[0], self.known)
        try:
            asked = RollingRequest(hours_of(words[1] if len(words) > 1 else "12h"))
        except ValueError:
            return HelpRequest(f"A capture runs for {', '.join(f'{hours}h' for hours in HOURS)}, and nothing else.")
        node = self.known.find(words[0])

        async def begin(request: CommandRequest) -> None:
            await self.cards.begin(node, asked, request.target, request.key, request.by)

        return WorkRequest(begin)

    async def _answer(self, verb: str, capture: str, person: Person) -> str:
        """Return the answer to `list`, `show ID` or `stop ID`. Raises: Refused, UsageError, LedgerError."""
        await self.context.askers.admit(person)
        if verb == "list":
            return listed(tuple((await self.cards.control.all()).values()))
        self.context.askers.count(person)
        return await self._look_and_reply(await self.cards.control.find(capture), person.by, verb == "stop")

    # --- clicks

    def is_about(self, action: str, value: str) -> bool:
        """True for any button of a capture's card, those of older cards too."""
        return bool(capture_of(value))

    async def ask(self, click: Click) -> None:
        """Do what a click asks for. Raises: Refused, UsageError, LedgerError."""
        rolling = await self.cards.control.find(capture_of(click.value))
        if not await self.cards.poster.is_at(card_name(rolling.id), click.channel, click.ts):
            raise NothingProposed("This is not the card of that capture; use the buttons on the card itself.")
        if click.action not in (SHOW, STOP):  # on a card of an older program
            raise _NO_YES
        await self.context.askers.admit(click.person)
        self.context.askers.count(click.person)
        words = await self._look_and_reply(rolling, click.person.by, click.action == STOP)
        await self.context.ephemeral.tell(click.person.by, click.channel, click.thread, words)

    async def decide(self, intent: Any, person: Person, reason: str, *, again: bool = False) -> str:
        """Say that there is nothing to decide: only older programs had a dialog."""
        raise _NO_YES

    def takes(self, kept: ChatRequest) -> bool:
        """Go on with the card of a capture; False for any other request."""
        return self.cards.takes(kept)

    async def _look_and_reply(self, rolling: RollingCapture, by: str, stops: bool) -> str:
        try:
            news = await self.cards.look(rolling, by if stops else "")
        except (CannotRead, Unreachable) as no:
            self.context.log("capture_unread", capture=rolling.id, node=rolling.node, error=one_line(str(no)))
            return f"Capture {rolling.id} cannot be looked at now: {no}"
        return clipped("\n".join(lines(news, MOST_SHOWN)), _SAID)


_NO_YES = NothingProposed(
    "Captures need no yes any more, so nothing was decided.", "Ask for it again: /zombie capture NODE 12h"
)
