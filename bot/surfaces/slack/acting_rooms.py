"""What acting in Slack needs of the house, handed in as one value, and what each wish goes through first."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from bot.domain.alert import BOT, is_who
from bot.domain.approval import Approval
from bot.domain.contracts import ActingLedger, Log
from bot.domain.engine_contracts import Notices
from bot.domain.errors import (
    AlreadyDecided,
    CannotTell,
    Conflict,
    ImpossibleEvent,
    LedgerError,
    NotAnApprover,
    Refused,
    UsageError,
    ZombieError,
)
from bot.domain.house_events import HOUSE, WishRefused
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.response.policy import Policy
from bot.response.responder import Responder
from bot.surfaces.slack.answers import Answers, refusal_words
from bot.surfaces.slack.clicks import Person
from bot.surfaces.slack.connection import SlackConnection
from bot.surfaces.slack.people import People
from bot.surfaces.slack.surface import SlackSurface
from bot.surfaces.view.context import ViewContext


class NodePicker(Protocol):
    """What takes a person's word for which node an alert means."""

    async def pick(self, incident_id: str, node: str, by: str) -> object:
        """Put it on record. Raises: InventoryError when it is no node; UnknownIncident, ImpossibleEvent."""
        ...


@dataclass(frozen=True, slots=True)
class ActingRooms:
    """The rooms.

    Shape: `notices` is told of each decision, so that whoever sees to the incident goes on at once. `picker` puts on
    record which node an alert means; None where nothing asks for that.
    """

    responder: Responder
    policy: Policy
    ledger: ActingLedger
    surface: SlackSurface
    people: People
    answers: Answers
    slack: SlackConnection
    notices: Notices
    log: Log
    picker: NodePicker | None = None

    @property
    def context(self) -> ViewContext:
        """What views of incidents are made of here."""
        return ViewContext(self.policy, self.surface.words)

    async def find(self, incident_id: str) -> Incident:
        """Return an incident as it stands. Raises: UnknownIncident when there is none of that id."""
        return await self.responder.book.find(incident_id)

    def is_of_ours(self, person: Person) -> None:
        """Raises: NotAnApprover when what somebody did comes from another workspace, or they are of another one."""
        ours = self.slack.workspace
        if not ours.is_ours(person.team, person.enterprise) or (
            person.home and not ours.is_ours(person.home, person.enterprise)
        ):
            raise NotAnApprover("That came from another workspace than the one that this bot is installed in.")

    async def approval(self, person: Person, reason: str, *, by_group: bool = True) -> Approval:
        """Return a person's wish, with the groups that they are in at this moment; Slack is asked who they are.

        Shape: `by_group`: only an approver may have it, so that a group that cannot be asked decides.
        Raises: NotAnApprover for whoever is no full member; CannotTell when Slack does not say what decides.
        """
        self.is_of_ours(person)
        await self.people.admit(person.user)
        member = await self.people.membership(person.user)
        named = person.user in self.policy.approvers or bool(member.groups & self.policy.approver_groups)
        if by_group and not named and member.unread:
            raise CannotTell(f"Whether you may approve cannot be told. {member.unread[0]}", "Try again.")
        return Approval(person.by, reason, groups=member.groups)

    @contextlib.asynccontextmanager
    async def answering(
        self, wish: str, person: Person, channel: str, thread_ts: str, about: str = ""
    ) -> AsyncIterator[None]:
        """Tell whoever asked why something is not done, whatever it is; a refusal that is raised here is put on record.

        What the responder refuses is on record by then, and is to be told by `Answers` alone.
        """
        try:
            yield
        except Refused as no:
            await self.note(wish, person.by, no, about)
            await self.answers.tell(person.by, channel, thread_ts, refusal_words(no))
        except UsageError as no:  # an incident, or a node, that is none
            await self.answers.tell(person.by, channel, thread_ts, refusal_words(no))
        except (Conflict, ImpossibleEvent):
            late = AlreadyDecided("Somebody else was first: it has gone on meanwhile.", "Look at its card.")
            await self.note(wish, person.by, late, about)
            await self.answers.tell(person.by, channel, thread_ts, refusal_words(late))
        except LedgerError as error:
            self.log("ledger_unavailable", error=one_line(str(error)), wish=wish)
            cannot = CannotTell("The record cannot be written or read now, so nothing was decided.", "Try again.")
            await self.answers.tell(person.by, channel, thread_ts, refusal_words(cannot))

    async def note(self, wish: str, by: str, no: ZombieError, about: str = "") -> None:
        """Put a refusal on record; a record that cannot be written never keeps it from whoever asked."""
        with contextlib.suppress(LedgerError):
            refused = WishRefused(type(no).__name__, no.sentence, wish, one_line(about, 64))
            await self.ledger.append(HOUSE, None, refused, by if is_who(by) else BOT)
