"""What a decision made in a chat needs, and how people are told why it is not made."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.chat.cards import ChatCards, CheckOpener
from bot.chat.clicks import UNKNOWN_BUTTON, Click
from bot.chat.dialog import Intent, MetadataSigner
from bot.chat.document import Block, Dialog
from bot.chat.people import CheckPermissions, People, Person
from bot.chat.private_replies import PrivateReplies, refusal_words
from bot.chat.service import ChatService
from bot.domain.contracts import Log
from bot.domain.engine_contracts import Notices
from bot.domain.entry import Entry
from bot.domain.errors import (
    AlreadyDecided,
    CannotTell,
    Conflict,
    ImpossibleEvent,
    LedgerError,
    NotAllowedToAsk,
    NothingProposed,
    Refused,
    UnknownIncident,
    UsageError,
    ZombieError,
)
from bot.domain.incident import Incident
from bot.domain.policy import Approval, Policy, person_of
from bot.domain.safe_text import one_line
from bot.ledger import Ledger
from bot.ledger.chat_requests import ChatRequestStore
from bot.response.decision.guards import check_may_approve
from bot.response.decision.responder import Responder
from bot.response.incident_record import note_refusal

TOLD = (Refused, UsageError, LedgerError)  # why something is not done, as people are told
# Its connection may have broken between a commit and the answer: then it is on record all the same.
NOT_WRITTEN = "The ledger cannot be used now. Unless the card says otherwise once it can, nothing was decided."
# Records which node an incident's alert means, as a person says. Raises: InventoryError, UnknownIncident,
# ImpossibleEvent, LedgerError.
PickNode: TypeAlias = Callable[[str, str, str], Awaitable[object]]
PULL_SECONDS = 2.0  # how long a chat is asked whether a person may pull the brake; without an answer they may


@dataclass(frozen=True, slots=True)
class ChatContext:
    """The parts of the bot that decisions made in a chat use.

    `chat_requests` know each delivery.
    """

    responder: Responder
    policy: Policy
    ledger: Ledger
    surface: ChatCards
    people: People
    ephemeral: PrivateReplies
    chat: ChatService
    signer: MetadataSigner
    notices: Notices
    log: Log
    askers: CheckPermissions
    chat_requests: ChatRequestStore
    pick: PickNode
    opener: CheckOpener

    async def find(self, incident_id: str) -> Incident:
        """Return an incident from the record. Raises: UnknownIncident, LedgerError."""
        return await self.responder.record.find(incident_id)

    async def open(self, click: Click, intent: Intent, dialog: Dialog) -> None:
        """Open a dialog for whoever clicked. Raises: CannotTell where the chat does not open it."""
        await self.chat.open_dialog(click.trigger, dialog, self.signer.sign(intent))

    def fits_dialog(self, blocks: Sequence[Block]) -> bool:
        """True where a dialog shows all of it."""
        return self.chat.fits(blocks, dialog=True)

    async def incident_of_click(self, click: Click, incident_id: str) -> Incident:
        """Return the incident that a button on its own card names.

        Raises: NothingProposed for a name that no button of ours has, and for a click on a copy.
        """
        try:
            incident = await self.find(incident_id)
        except UnknownIncident as no:
            raise NothingProposed(UNKNOWN_BUTTON) from no
        await self.surface.check_click(click, incident.card)
        return incident

    async def pull_brake(self, person: Person, reason: str, request: str) -> str:
        """Pull the brake, and return what to tell the person.

        Raises: NotAnApprover as `stopping`; LedgerError.
        """
        approval, anybody = await self.brake_approval(person, reason)
        try:
            return brake_words(await self.responder.brake(True, approval, anybody=anybody, request=request))
        except Refused as no:  # it is on record already
            return refusal_words(no)

    async def brake_approval(self, person: Person, reason: str) -> tuple[Approval, bool]:
        """Return the word of whoever stops something, and whether it counts though nobody says that they may.

        Shape: the chat is not asked about people named in [policy]. Where a group may name them, it is asked for
        `PULL_SECONDS`, and only a clear no refuses them: to stop is safe, and has to work while its API is down.
        Raises: NotAnApprover where it says so.
        """
        self.people.check_workspace(person)
        if person_of(person.by) in self.policy.approvers or not self.policy.approver_groups:
            return Approval(person.by, reason), False
        try:
            async with asyncio.timeout(PULL_SECONDS):
                return await self.people.approval(person, self.policy, reason), False
        except (CannotTell, TimeoutError):
            return Approval(person.by, reason), True

    async def tell(
        self, no: ZombieError, action: str, person: Person, channel: str, thread_ts: str, about: str = ""
    ) -> None:
        """Tell a person why something is not done, any of `TOLD`; a refusal is recorded."""
        await self.ephemeral.tell(person.by, channel, thread_ts, await self.failure_words(no, action, person, about))

    async def failure_words(self, no: ZombieError, action: str, person: Person, about: str = "") -> str:
        """Return what a person is told of why something is not done, any of `TOLD`; a refusal is recorded.

        The responder records its refusals itself: their words are `refusal_words`.
        """
        is_refusal = isinstance(no, Refused | Conflict | ImpossibleEvent)  # else there is no such incident or node
        if isinstance(no, Conflict | ImpossibleEvent):
            no = AlreadyDecided("Another person was first: it has changed meanwhile.", "Look at its card.")
        elif isinstance(no, LedgerError):
            self.log("ledger_unavailable", error=one_line(str(no)), action=action)
            no = CannotTell(NOT_WRITTEN, "Try again.")
        if is_refusal:
            await self.note(action, person.by, no, about)
        return refusal_words(no)

    async def check_reader(self, person: Person) -> None:
        """Return for a person who may learn which nodes are sick: who may ask for checks, or decides.

        Raises: NotAllowedToAsk for everybody else; CannotTell when the chat does not say who they are.
        """
        try:
            await self.askers.admit(person)
        except (NotAllowedToAsk, CannotTell) as no:  # who decides has to see it also while a group cannot be read
            try:
                check_may_approve(self.policy, await self.people.approval(person, self.policy, "to look"))
            except Refused:
                raise no from None

    async def note(self, action: str, by: str, no: ZombieError, about: str = "") -> None:
        """Record a refusal; the person is told even when the ledger cannot be written."""
        await note_refusal(self.ledger, action, by, no, about)


def brake_words(pulled: Entry | None) -> str:
    """Return the state of the brake in words, after it was moved."""
    if pulled is None:
        return "The brake is off."
    return f"The brake is on: nothing new begins. To release this pull: /zombie brake off #{pulled.seq} REASON"
