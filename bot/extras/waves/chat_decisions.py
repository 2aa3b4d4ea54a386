"""Decisions about a wave made in a chat: the dialog for a reason, and the handling of its submission."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.chat.context import ChatContext
from bot.chat.dialog import Intent
from bot.chat.people import Person
from bot.chat.private_replies import refusal_words
from bot.domain.chat_request import ChatRequest
from bot.domain.entry import instant_of, instant_text, is_wave
from bot.domain.errors import (
    AlreadyDecided,
    NothingProposed,
    Refused,
    StaleRequest,
    UnknownIncident,
)
from bot.domain.policy import Approval
from bot.extras.waves.chat_card import RESUME, STOP, wave_dialog
from bot.extras.waves.chat_cards import WaveCards, plans_file
from bot.extras.waves.wave import Wave, WaveState
from bot.extras.waves.words import DIGEST
from bot.seats import Chat
from bot.view.standing import APPROVE, DECLINE

if TYPE_CHECKING:
    from bot.chat.clicks import Click

_IN = {
    APPROVE: WaveState.PROPOSED,
    DECLINE: WaveState.PROPOSED,
    STOP: WaveState.RUNNING,
    RESUME: WaveState.STOPPED,
}
_DONE = {DECLINE: WaveState.DECLINED, STOP: WaveState.STOPPED, RESUME: WaveState.RUNNING}


class WaveDecisions(Chat):
    """Takes clicks on the cards of waves, and their dialogs."""

    def __init__(self, context: ChatContext, cards: WaveCards) -> None:
        self._context = context
        self._cards = cards
        self._service = cards.service

    def is_about(self, action: str, value: str) -> bool:
        """True for a button or a dialog about a wave."""
        return action in _IN and is_wave(value)

    def takes(self, kept: ChatRequest, /) -> bool:
        """Go on with the card of a wave; False for any other request."""
        return self._cards.takes(kept)

    async def ask(self, click: Click) -> None:
        """Open the dialog of a click. Raises: NothingProposed, AlreadyDecided, CannotTell, UnknownIncident."""
        wave = await self._service.find(click.value)
        if not await self._cards.poster.is_at(wave.id, click.channel, click.ts):
            raise NothingProposed("This is not the card of that wave; use the buttons on the card itself.")
        _check_state(click.action, wave)
        plans = await self._cards.plans(wave) if click.action != STOP else None
        has_file = click.action == APPROVE and await self._cards.poster.has_file(wave.id, plans_file(wave.id))
        objection = ""
        if click.action in (APPROVE, RESUME):
            objection = await self._objection(click.action, wave, click.person)
        digest = wave.proposal.digest[:DIGEST]
        known_until, against = await self._service.look(wave)
        since = instant_text(known_until) if known_until is not None else ""
        intent = Intent(click.action, click.person.user, {wave.id: digest}, click.channel, click.thread, since=since)
        dialog = wave_dialog(wave, click.action, plans, self._context.fits_dialog, objection, against, has_file)
        await self._context.open(click, intent, dialog)  # at its top, where the plans stand

    async def decide(self, intent: Intent, person: Person, reason: str, *, again: bool = False) -> str:
        """Record what a dialog asks for, and return what was refused.

        Shape: `again`: an earlier run began to handle it; what is already on record is not done twice.
        Raises: NotAnApprover, CannotTell, LedgerError.
        """
        ((name, seen),) = intent.plans.items()
        anybody = False
        if intent.action == STOP:
            approval, anybody = await self._context.brake_approval(person, reason)
        else:
            approval = await self._context.people.approval(
                person, self._context.policy, reason, by_group=intent.action in (APPROVE, RESUME)
            )
        try:
            wave = await self._service.find(name)
            if again and _is_done(intent.action, wave, person.by):
                return ""
            # The dialog carries the first digits of its wave's digest; a different wave is refused.
            whole = wave.proposal.digest
            approval = replace(approval, digest=whole if seen and whole.startswith(seen) else seen or "none")
            await self._carry_out(intent, wave, approval, anybody)
        except (Refused, UnknownIncident) as no:  # that is on record already
            return refusal_words(no)
        return ""

    async def _carry_out(self, intent: Intent, wave: Wave, approval: Approval, anybody: bool) -> None:
        if intent.action == APPROVE:
            await self._service.decide(wave.id, approval)
        elif intent.action == RESUME:
            if not intent.since:  # of an older version's dialog
                raise StaleRequest("This dialog does not say which stop of the wave it is about.", "Click again.")
            await self._service.resume(wave.id, approval, instant_of(intent.since))
        else:
            if intent.action == DECLINE:  # a no after the yes is no request to stop a running wave
                _check_state(intent.action, wave)
            await self._service.stop(wave.id, approval, anybody=anybody)

    async def _objection(self, action: str, wave: Wave, person: Person) -> str:
        """Return what would refuse it now; the decision itself is made when the dialog is sent."""
        try:
            likely = replace(
                await self._context.people.approval_before_dialog(person, self._context.policy),
                digest=wave.proposal.digest,
            )
            await (self._service.check_wave_approval if action == APPROVE else self._service.check_resumption)(
                wave, likely
            )
        except Refused as no:
            return refusal_words(no)
        return ""


def _check_state(action: str, wave: Wave) -> None:
    if wave.state is not _IN[action]:
        raise AlreadyDecided(f"The wave is {wave.state}.", "Look at its card.")


def _is_done(action: str, wave: Wave, by: str) -> bool:
    if action == APPROVE:
        return by in {approval.by for approval in (*wave.endorsements, *wave.approvals)}
    return wave.state is _DONE[action]
