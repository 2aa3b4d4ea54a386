"""Clicks on the cards of captures: look now, stop, and the dialog where another person has to agree."""

from __future__ import annotations

from bot.domain.chat_request import ChatRequest
from bot.domain.contracts import Log
from bot.domain.errors import (
    AlreadyDecided,
    CannotRead,
    NothingProposed,
    Refused,
    SelfApproval,
    Unreachable,
)
from bot.domain.policy import Approval
from bot.domain.rolling_record import RollingCapture, RollingState
from bot.domain.safe_text import one_line
from bot.response.capture.rolling_words import lines
from bot.surfaces.slack.capture_card import SHOW, STOP, capture_of, card_name, dialog_words, listed
from bot.surfaces.slack.capture_cards import CaptureCards
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.dialog import Intent, reason_dialog
from bot.surfaces.slack.ephemeral import refusal_words
from bot.surfaces.slack.listeners import Click
from bot.surfaces.slack.people import Person
from bot.surfaces.view.standing import APPROVE, DECLINE

_SAID = 2500


class CaptureDecisions:
    """Takes clicks on the cards of captures, their dialogs, and what people type about captures."""

    def __init__(self, context: SlackContext, cards: CaptureCards, log: Log) -> None:
        self._context = context
        self._cards = cards
        self._log = log

    def takes(self, kept: ChatRequest) -> bool:
        """Go on with the card of a capture; False for what is none."""
        return self._cards.takes(kept)

    def is_about(self, action: str, value: str) -> bool:
        """True for a button or a dialog about a capture."""
        return action in (APPROVE, DECLINE, SHOW, STOP) and bool(capture_of(value))

    async def ask(self, click: Click) -> None:
        """Do what a click asks for, or open its dialog. Raises: Refused, UsageError, LedgerError."""
        rolling = await self._cards.control.find(capture_of(click.value))
        if not await self._cards.is_its_card(rolling.id, click.channel, click.ts):
            raise NothingProposed("This is not the card of that capture; use the buttons on the card itself.")
        if click.action in (SHOW, STOP):
            await self._context.askers.admit(click.person)
            self._context.askers.count(click.person)
            words = await self._looked(rolling, click.person.by, click.action == STOP)
            await self._context.ephemeral.tell(click.person.by, click.channel, click.thread, words)
            return
        _is_asked(rolling)
        intent = Intent(click.action, click.person.user, {card_name(rolling.id): ""}, click.channel, click.thread)
        objection = self._objection(rolling, click.person) if click.action == APPROVE else ""
        sealed = self._context.slack.signer.sign(intent)
        view = reason_dialog(click.action, sealed, (), tuple(dialog_words(rolling)), objection)
        await self._context.slack.calls.open_dialog(click.trigger, view)

    async def decide(self, intent: Intent, person: Person, reason: str, *, again: bool = False) -> None:
        """Record what a dialog asks for, begin what was approved, and tell the person what was refused.

        Shape: `again`: an earlier run began to handle it; what is already on record is not done twice.
        Raises: NotAnApprover, CannotTell, UsageError, LedgerError.
        """
        approval = await self._context.people.approval(person, self._context.policy, reason)
        rolling = await self._cards.control.find(capture_of(next(iter(intent.plans))))
        if again and rolling.state is not RollingState.ASKED:
            return
        try:
            await self._said(intent.action, rolling, approval)
        except (CannotRead, Unreachable) as no:  # the card says so as well
            await self._context.ephemeral.tell(person.by, intent.channel, intent.thread_ts, str(no))

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

    async def _said(self, action: str, rolling: RollingCapture, approval: Approval) -> None:
        control = self._cards.control
        if action == DECLINE:
            await control.decline(rolling, approval)
            return
        control.may_approve(rolling, approval)
        # If two people say yes at once, here or in another program, only the first starts it.
        if not await self._cards.chat_requests.keep(f"yes-{card_name(rolling.id)}"):
            raise AlreadyDecided("Another person was first.", "Look at its card.")
        await control.approve(self._cards.node(rolling), rolling, approval)

    def _objection(self, rolling: RollingCapture, person: Person) -> str:
        """Return what would refuse it now; the decision itself is made when the dialog is sent."""
        try:
            self._cards.control.may_approve(rolling, Approval(person.by, ""))
        except SelfApproval as no:
            return refusal_words(no)
        except Refused:  # a group may name them, which is read when they decide
            return ""
        return ""


def _is_asked(rolling: RollingCapture) -> None:
    if rolling.state is not RollingState.ASKED:
        raise AlreadyDecided(f"Capture {rolling.id} is {rolling.state.value}.", "Look at its card.")
