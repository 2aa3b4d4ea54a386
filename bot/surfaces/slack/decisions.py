"""What becomes of a dialog that was sent: whether it is ours, who sent it, and what the responder says to it.

The decision is the dialog that is sent, not the button: the first that is sent wins, and person, groups and node are
looked at then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TypeAlias

from bot.domain.approval import Approval
from bot.domain.errors import LedgerError, NothingProposed, PlanChanged, ReasonMissing, Refused, UnknownIncident
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.response import guards
from bot.surfaces.slack.acting_rooms import ActingRooms
from bot.surfaces.slack.answers import refusal_words
from bot.surfaces.slack.buttons import BRAKE
from bot.surfaces.slack.clicks import Person, Submission
from bot.surfaces.slack.dialog import LONGEST_REASON, REASON
from bot.surfaces.slack.home import HomeDesk
from bot.surfaces.slack.seal import Intent
from bot.surfaces.view.choices import ANSWER, APPROVE, DECLINE, UNDO

Deed: TypeAlias = Callable[[str], Awaitable[object]]  # what is done with each incident, by its id
AT_ONCE = 8  # nodes that one decision has looked at again at a time
REMEMBERED = 1000

BRAKE_WORDS = {"on": "The brake is on: nothing that has not begun begins.", "off": "The brake is off."}
BROKEN_SEAL = PlanChanged("What this dialog carried was changed on the way, so nothing was decided.", "Click again.")
NO_REASON = ReasonMissing("A decision needs a reason: it goes on record.")


class Decisions:
    """Takes submissions and sees them through."""

    def __init__(self, rooms: ActingRooms, home: HomeDesk) -> None:
        self._rooms = rooms
        self._home = home
        self._locks: dict[str, asyncio.Lock] = {}

    def objection(self, submission: Submission) -> tuple[Mapping[str, str], Refused | None]:
        """Return what the dialog is to say under its input in place of closing, and the refusal that it says."""
        intent = self._rooms.slack.seal.open(submission.sealed)
        if intent is None or intent.user != submission.person.user:
            return {REASON: refusal_words(BROKEN_SEAL)}, BROKEN_SEAL
        if not submission.reason:
            return {REASON: refusal_words(NO_REASON)}, NO_REASON
        return {}, None

    async def see_through(self, submission: Submission) -> None:
        """See one dialog through that was sent as it was opened."""
        intent = self._rooms.slack.seal.open(submission.sealed)
        if intent is None:
            return
        reason = submission.reason[:LONGEST_REASON]
        about = " ".join(intent.plans)
        async with self._rooms.answering(intent.wish, submission.person, intent.channel, intent.thread_ts, about):
            await self._decide(intent, submission, reason)
        if not intent.channel:  # it was decided from the App Home, which shows what waits
            self._home.open(submission.person.user)

    async def _decide(self, intent: Intent, submission: Submission, reason: str) -> None:
        if intent.wish == APPROVE:
            await self._approve(intent, submission, reason)
            return
        approval = await self._rooms.approval(submission.person, reason, by_group=intent.wish in (BRAKE, ANSWER))
        if intent.wish == BRAKE:
            await self._brake(intent, approval)
            return
        doing: dict[str, Deed] = {
            DECLINE: lambda one: self._rooms.responder.decline(one, approval),
            UNDO: lambda one: self._undo(one, approval),
            ANSWER: lambda one: self._rooms.responder.answer(one, intent.detail, approval),
        }
        if intent.wish not in doing:
            raise NothingProposed("That is nothing that this bot does.")
        await self._each(intent, approval, doing[intent.wish])

    async def _approve(self, intent: Intent, submission: Submission, reason: str) -> None:
        found = await asyncio.gather(*(self._rooms.find(one) for one in intent.plans))
        shown = found and not self._is_refused_anyhow(found, submission.person)
        async with self._rooms.surface.checking(found, submission.person.by) if shown else nullcontext():
            approval = await self._rooms.approval(submission.person, reason)

            async def decide(incident_id: str) -> Incident:
                incident = await self._rooms.find(incident_id)
                seen = intent.plans[incident_id]
                whole = incident.proposal.digest if incident.proposal is not None else ""
                # What the dialog showed, by its beginning; another beginning is another plan, which the guards say.
                digest = whole if seen and whole.startswith(seen) else seen or "none"
                return await self._rooms.responder.decide(incident_id, replace(approval, digest=digest))

            await self._each(intent, approval, decide)

    def _is_refused_anyhow(self, found: Sequence[Incident], person: Person) -> bool:
        """True for whoever may not, as far as nobody need be asked: what they send changes nobody's card."""
        policy, wish = self._rooms.policy, Approval(person.by, "")
        if person.user not in policy.approvers and not policy.approver_groups:
            return True
        return not policy.self_approval and any(guards.has_asked(policy, one, wish) for one in found)

    async def _each(self, intent: Intent, approval: Approval, do: Deed) -> None:
        """Do it for each incident, and tell together what was refused."""
        room = asyncio.Semaphore(AT_ONCE)

        async def one(incident_id: str) -> str:
            async with self._lock(incident_id), room:
                try:
                    await do(incident_id)
                    return ""
                except (Refused, UnknownIncident) as no:
                    return refusal_words(no)
                finally:
                    self._rooms.notices.decided(incident_id)

        came_to = await asyncio.gather(*(one(incident_id) for incident_id in intent.plans), return_exceptions=True)
        refused = {name: words for name, words in zip(intent.plans, came_to, strict=True) if isinstance(words, str)}
        refused = {name: words for name, words in refused.items() if words}
        if refused:
            await self._tell_refused(intent, approval, refused)
        for failure in came_to:
            if isinstance(failure, BaseException):
                raise failure

    async def _tell_refused(self, intent: Intent, approval: Approval, refused: Mapping[str, str]) -> None:
        told = []
        for incident_id, words in refused.items():
            node = ""
            if len(intent.plans) > 1:
                try:
                    node = f"{one_line((await self._rooms.find(incident_id)).node, 80)}: "
                except (LedgerError, UnknownIncident):
                    node = f"{incident_id}: "
            told.append(f"{node}{words}")
        await self._rooms.answers.tell(approval.by, intent.channel, intent.thread_ts, "\n".join(told))

    async def _undo(self, incident_id: str, approval: Approval) -> None:
        opened = await self._rooms.responder.undo(incident_id, approval)
        self._rooms.notices.decided(opened.id)

    async def _brake(self, intent: Intent, approval: Approval) -> None:
        try:
            await self._rooms.responder.brake(intent.detail == "on", approval)
        except Refused as no:
            words = refusal_words(no)
        else:
            words = BRAKE_WORDS[intent.detail]
        await self._rooms.answers.tell(approval.by, intent.channel, intent.thread_ts, words)

    def _lock(self, incident_id: str) -> asyncio.Lock:
        """Fifty who say yes at once have the node looked at once: the others hear who was first."""
        if len(self._locks) > REMEMBERED:
            self._locks = {name: lock for name, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(incident_id, asyncio.Lock())
