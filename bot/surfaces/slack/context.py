"""What a decision made in Slack needs, and what comes before each: who decides, and whom to tell."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from bot.domain.alert import BOT
from bot.domain.chat_request import ChatRequests
from bot.domain.contracts import ActingLedger, Log
from bot.domain.entry import Entry, is_who
from bot.domain.errors import (
    AlreadyDecided,
    CannotTell,
    Conflict,
    ImpossibleEvent,
    LedgerError,
    NotAnApprover,
    NothingProposed,
    Refused,
    UnknownIncident,
    UsageError,
    ZombieError,
)
from bot.domain.house_events import WishRefused
from bot.domain.incident import Incident
from bot.domain.policy import Approval, Policy, person_of
from bot.domain.post import CardPosts
from bot.domain.safe_text import one_line
from bot.response.decision.responder import Responder
from bot.response.decision.verdict_marker import VerdictMarker
from bot.surfaces.slack.askers import Askers
from bot.surfaces.slack.check_opener import CheckOpener
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.dialog import Intent
from bot.surfaces.slack.ephemeral import Ephemeral, refusal_words
from bot.surfaces.slack.listeners import UNKNOWN_BUTTON, Click
from bot.surfaces.slack.people import People, Person
from bot.surfaces.slack.profiles import SlackProfiles
from bot.surfaces.slack.suggestions import NodeSuggestions
from bot.surfaces.slack.surface import SlackSurface
from bot.surfaces.view.plan_words import PlanWords

PULL_SECONDS = 2.0  # how long Slack is asked whether a person may pull the brake; without an answer they may


class DecisionListener(Protocol):
    """Is told of each incident about which Slack users decided something."""

    def decided(self, incident_id: str, /) -> None:
        """Take note, so that the incident goes on at once."""


class NodePicker(Protocol):
    """Records which node an alert means, as a person says."""

    async def pick(self, incident_id: str, node: str, by: str, /) -> object:
        """Record it. Raises: InventoryError, UnknownIncident, ImpossibleEvent, LedgerError."""


class CardDecisions(Protocol):
    """Takes clicks on cards without an incident, of waves and captures, and their dialogs."""

    def is_about(self, action: str, value: str) -> bool:
        """True for a button or a dialog of this kind of card."""

    async def ask(self, click: Click) -> None:
        """Open the dialog of a click, or do what needs none. Raises: Refused, UsageError, LedgerError."""

    async def decide(self, intent: Intent, person: Person, reason: str, *, again: bool = False) -> None:
        """Record what a dialog asks for; `again`: an earlier run began to handle it."""


@dataclass(frozen=True, slots=True)
class SlackContext:
    """The parts of the bot that decisions made in Slack use.

    Shape: `picker` is None where no alert asks which node it means, `profiles` where nodes are not profiled, `opener`
    where no check begins here, `suggestions` where no names are suggested. `chat_requests` know each delivery.
    """

    responder: Responder
    policy: Policy
    ledger: ActingLedger
    surface: SlackSurface
    people: People
    ephemeral: Ephemeral
    slack: SlackConnection
    notices: DecisionListener
    log: Log
    askers: Askers
    chat_requests: ChatRequests
    picker: NodePicker | None = None
    profiles: SlackProfiles | None = None
    opener: CheckOpener | None = None
    suggestions: NodeSuggestions | None = None

    @property
    def marker(self) -> VerdictMarker:
        """Records whether people say that verdicts were right."""
        return VerdictMarker(self.policy, self.ledger, self.responder.clock)

    @property
    def words(self) -> PlanWords:
        """The words for plans."""
        return self.surface.words

    async def find(self, incident_id: str) -> Incident:
        """Return an incident from the record. Raises: UnknownIncident, LedgerError."""
        return await self.responder.record.find(incident_id)

    async def clicked(self, click: Click, incident_id: str) -> Incident:
        """Return the incident that a button on its own card names.

        Raises: NothingProposed for a name that no button of ours has, and for a click on a copy.
        """
        try:
            incident = await self.find(incident_id)
        except UnknownIncident as no:
            raise NothingProposed(UNKNOWN_BUTTON) from no
        await self.check_card(click, incident.card)
        return incident

    async def check_card(self, click: Click, card: str, posts: CardPosts | None = None) -> None:
        """Return for a click on the card itself; `posts` are the card's, where they were just read.

        Raises: NothingProposed for a click on a copy.
        """
        if click.in_home:
            return
        place = await self.surface.place(card, posts)
        if place is None or (place.channel, place.ts) != (click.channel, click.ts):
            raise NothingProposed("This is not the card of that incident; use the buttons on the card itself.")

    async def done(self, key: str) -> None:
        """Note that a delivery was handled, so that no later run goes on with it."""
        with contextlib.suppress(LedgerError):
            await self.chat_requests.done(key)

    def check_workspace(self, person: Person) -> None:
        """Return for a person from the bot's own workspace.

        Raises: NotAnApprover when a person, or the payload that names them, is from another workspace.
        """
        ours = self.slack.workspace
        if not ours.is_ours(person.team, person.enterprise) or (
            person.home and not ours.is_ours(person.home, person.enterprise)
        ):
            raise NotAnApprover("That came from another workspace than the bot's own.")

    async def approval(self, person: Person, reason: str, *, by_group: bool = True) -> Approval:
        """Return a person's decision, with their present groups; asks Slack who they are.

        Shape: `by_group` is for what only approvers may do: then an unreadable group matters.
        Raises: NotAnApprover for a person who is no full member; CannotTell when Slack does not answer what matters.
        """
        self.check_workspace(person)
        approval, unknown = await self.people.approval(person.by, person.user, self.policy, reason)
        if by_group and unknown:
            raise CannotTell(f"The bot cannot tell whether you may approve. {unknown}", "Try again.")
        return approval

    async def pull(self, person: Person, reason: str, request: str) -> str:
        """Pull the brake, and return what to tell the person; Slack is not asked about people named in [policy].

        Shape: where a group may name them, Slack is asked for `PULL_SECONDS`, and only a clear no refuses them: to stop
        is safe, and has to work while Slack's API is down.
        Raises: NotAnApprover where Slack says so; LedgerError.
        """
        self.check_workspace(person)
        approval, anybody = Approval(person.by, reason), False
        if person_of(person.by) not in self.policy.approvers and self.policy.approver_groups:
            try:
                async with asyncio.timeout(PULL_SECONDS):
                    approval = await self.approval(person, reason)
            except (CannotTell, TimeoutError):
                anybody = True
        try:
            return brake_words(await self.responder.brake(True, approval, anybody=anybody, request=request))
        except Refused as no:  # it is on record already
            return refusal_words(no)

    @contextlib.asynccontextmanager
    async def answering(
        self, action: str, person: Person, channel: str, thread_ts: str, about: str = ""
    ) -> AsyncIterator[None]:
        """Tell a person why something is not done, whatever the reason; a refusal raised in the block is recorded.

        The responder records its refusals itself: tell those by `ephemeral` alone.
        """
        try:
            yield
        except Refused as no:
            await self.note(action, person.by, no, about)
            await self.ephemeral.tell(person.by, channel, thread_ts, refusal_words(no))
        except UsageError as no:  # there is no such incident, or no such node
            await self.ephemeral.tell(person.by, channel, thread_ts, refusal_words(no))
        except (Conflict, ImpossibleEvent):
            late = AlreadyDecided("Another person was first: it has changed meanwhile.", "Look at its card.")
            await self.note(action, person.by, late, about)
            await self.ephemeral.tell(person.by, channel, thread_ts, refusal_words(late))
        except LedgerError as error:
            self.log("ledger_unavailable", error=one_line(str(error)), action=action)
            cannot = CannotTell("The ledger cannot be read or written now, so nothing was decided.", "Try again.")
            await self.ephemeral.tell(person.by, channel, thread_ts, refusal_words(cannot))

    async def note(self, action: str, by: str, no: ZombieError, about: str = "") -> None:
        """Record a refusal; the person is told even when the ledger cannot be written."""
        with contextlib.suppress(LedgerError):
            refused = WishRefused(type(no).__name__, no.sentence, action, one_line(about, 64))
            await self.ledger.refused(refused, by if is_who(by) else BOT)


def brake_words(pulled: Entry | None) -> str:
    """Return the state of the brake in words, after it was moved."""
    if pulled is None:
        return "The brake is off."
    return f"The brake is on: nothing new begins. To release this pull: /zombie brake off #{pulled.seq} REASON"
