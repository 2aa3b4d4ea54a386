"""Submitted dialogs: is it the bot's, who sent it, and what does the responder answer.

A submission is on disk before it is acknowledged, so a crash right after loses nothing: the next run goes on with it.
It decides, not the click: the first submission wins; person, groups and node are checked then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import TypeAlias

from bot.domain.entry import instant_of
from bot.domain.errors import (
    CannotTell,
    LedgerError,
    NothingProposed,
    PlanChanged,
    ReasonMissing,
    Refused,
    StaleRequest,
    UnknownIncident,
)
from bot.domain.incident import Incident
from bot.domain.policy import Approval, person_of
from bot.domain.safe_text import one_line
from bot.response.decision import guards
from bot.seats import Chat
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.blocks import BRAKE
from bot.surfaces.slack.context import TOLD, SlackContext, brake_words
from bot.surfaces.slack.dialog import LONGEST_REASON, REASON, Intent
from bot.surfaces.slack.ephemeral import refusal_words
from bot.surfaces.slack.kept_checks import KeptChecks
from bot.surfaces.slack.listeners import AppHome, Submission, kept_submission
from bot.surfaces.slack.people import Person
from bot.surfaces.view.standing import ANSWER, APPROVE, DECLINE, UNDO

AT_ONCE = 8  # nodes that a decision reads again at a time
REMEMBERED = 1000
KEEP_SECONDS = 2.0  # Slack waits three seconds for an acknowledgement

BAD_SIGNATURE = PlanChanged("This dialog's content was changed on the way, so nothing was decided.", "Click again.")
NOT_KEPT = CannotTell("The ledger cannot be written now, so nothing was decided.", "Try again.")
NO_REASON = ReasonMissing("A decision needs a reason: it goes on record.")

Decide: TypeAlias = Callable[[str], Awaitable[object]]  # decides about the incident with this id


class ViewSubmissions:
    """Takes submissions."""

    def __init__(
        self,
        context: SlackContext,
        home: AppHome,
        background: Background,
        others: Sequence[Chat] = (),
    ) -> None:
        """`others` take dialogs of other cards, and go on with what else an earlier run has left."""
        self._context = context
        self._background = background
        self._takes: tuple[Chat | KeptChecks, ...] = (*others, KeptChecks(context, background))
        self._submitting: dict[str, asyncio.Task[Mapping[str, str]]] = {}
        self._home = home
        self._others = others
        self._locks: dict[str, asyncio.Lock] = {}

    async def submitted(self, submission: Submission) -> Mapping[str, str]:
        """Store a dialog and begin to handle it; return the errors that it shows instead of closing, by block."""
        taking = self._submitting.get(submission.key)
        if taking is None:  # a second delivery waits for the outcome of the first
            taking = asyncio.create_task(self._submit(submission), name="keep a submission")
            self._submitting[submission.key] = taking
            taking.add_done_callback(lambda _: self._submitting.pop(submission.key, None))
        return await asyncio.shield(taking)

    async def carry_on(self) -> None:
        """Go on with submissions, sweeps and checks that an earlier run or another replica did not finish.

        Raises: LedgerError.
        """
        for kept in await self._context.chat_requests.left():
            if any(part.takes(kept) for part in self._takes):
                continue
            submission = kept_submission(kept.body)
            if submission is None:
                self._context.log("submission_unreadable", key=one_line(kept.key, 80))
                await self._done(kept.key)
            else:
                self._context.log("submission_carried_on", key=one_line(kept.key, 80))
                self._background.begin(self._go_on(submission, again=True), "submission carried on")

    async def _submit(self, submission: Submission) -> Mapping[str, str]:
        errors, refusal = self._objection(submission)
        if refusal is not None:
            self._background.begin(self._refused(submission, refusal), "note of a refusal")
            return errors
        keeping = asyncio.ensure_future(self._context.chat_requests.keep(submission.key, submission.text))
        try:
            async with asyncio.timeout(KEEP_SECONDS):
                is_first = await asyncio.shield(keeping)
        except (LedgerError, TimeoutError) as error:
            self._context.log("submission_not_kept", error=one_line(str(error) or repr(error)))
            self._background.begin(self._forget(keeping, submission.key), "submission that came too late")
            return {REASON: refusal_words(NOT_KEPT)}
        if is_first:
            self._background.begin(self._go_on(submission), "submission")
        return {}

    async def _refused(self, submission: Submission, refusal: Refused) -> None:
        """Put a refusal on record, once however often the dialog is delivered."""
        with contextlib.suppress(LedgerError):
            if await self._context.chat_requests.keep(submission.key, done=True):
                await self._context.note("decide", submission.person.by, refusal)

    async def _go_on(self, submission: Submission, *, again: bool = False) -> None:
        is_broken_off = False
        try:
            await self._handle(submission, again=again)
        except asyncio.CancelledError:
            is_broken_off = True  # the next run goes on with it
            raise
        finally:
            if not is_broken_off:
                await self._done(submission.key)

    async def _done(self, key: str) -> None:
        """Note that it was handled, so that no later run goes on with it."""
        with contextlib.suppress(LedgerError):
            await self._context.chat_requests.done(key)

    async def _forget(self, keeping: asyncio.Future[bool], key: str) -> None:
        """Drop it: its sender was told that nothing was decided, so no later run may go on with it."""
        with contextlib.suppress(LedgerError):
            if await keeping:
                await self._done(key)

    def _objection(self, submission: Submission) -> tuple[Mapping[str, str], Refused | None]:
        """Return the error that the dialog shows instead of closing, by block, and the refusal behind it."""
        intent = self._context.slack.signer.verify(submission.metadata)
        if intent is None or intent.user != submission.person.user:
            return {REASON: refusal_words(BAD_SIGNATURE)}, BAD_SIGNATURE
        if not submission.reason:
            return {REASON: refusal_words(NO_REASON)}, NO_REASON
        return {}, None

    async def _handle(self, submission: Submission, *, again: bool = False) -> None:
        """Decide what a dialog asks for, and tell the person what was refused.

        Shape: `again`: an earlier run began to handle it; what is already on record is not done twice.
        """
        intent = self._context.slack.signer.verify(submission.metadata)
        if intent is None:
            return
        reason = submission.reason[:LONGEST_REASON]
        about = " ".join(intent.plans)
        try:
            await self._decide(intent, submission, reason, again)
        except TOLD as no:
            await self._context.tell(no, intent.action, submission.person, intent.channel, intent.thread_ts, about)
        if not intent.channel:  # decided in the App Home, which lists what waits
            self._home.open(submission.person.user)

    async def _decide(self, intent: Intent, submission: Submission, reason: str, again: bool) -> None:
        for other in self._others:
            if other.is_about(intent.action, next(iter(intent.plans), "")):
                await other.decide(intent, submission.person, reason, again=again)
                return
        if again and intent.action in (APPROVE, DECLINE):
            intent = await self._undecided(intent, submission.person)
        if intent.action == APPROVE:
            await self._approve(intent, submission, reason)
            return
        if intent.action == BRAKE and intent.detail == "on":
            await self._pull(intent, submission, reason, again)
            return
        approval = await self._context.people.approval(
            submission.person, self._context.policy, reason, by_group=intent.action in (BRAKE, ANSWER)
        )
        if intent.action == BRAKE:
            await self._release(intent, approval)
            return
        decide: dict[str, Decide] = {
            DECLINE: lambda incident_id: self._context.responder.decline(incident_id, approval),
            UNDO: lambda incident_id: self._undo(incident_id, approval),
            ANSWER: lambda incident_id: self._answer(intent, incident_id, approval),
        }
        if intent.action not in decide:
            raise NothingProposed("This bot cannot do that.")
        await self._each(intent, approval, decide[intent.action])

    async def _approve(self, intent: Intent, submission: Submission, reason: str) -> None:
        found, checking = await self._meant(intent, submission.person)
        async with checking:
            approval = await self._context.people.approval(submission.person, self._context.policy, reason)

            # The dialog carries the first digits of the digest that it showed; guards refuse any other plan.
            whole = {incident.id: incident.proposal.digest for incident in found if incident.proposal is not None}

            async def decide(incident_id: str) -> Incident:
                seen, digest = intent.plans[incident_id], whole.get(incident_id, "")
                meant = digest if seen and digest.startswith(seen) else seen or "none"
                decided = await self._context.responder.decide(incident_id, replace(approval, digest=meant))
                self._context.surface.checked(decided)
                return decided

            await self._each(intent, approval, decide)

    async def _meant(
        self, intent: Intent, person: Person
    ) -> tuple[Sequence[Incident], AbstractAsyncContextManager[None]]:
        """Return the incidents that a yes is about, and what shows on their card meanwhile that they are read again."""
        if not intent.plans:
            return (), nullcontext()
        card = await self._context.surface.read(next(iter(intent.plans)), of_incident=True)
        read = {incident.id: incident for incident in card.incidents}
        found = [read.get(incident_id) or await self._context.find(incident_id) for incident_id in intent.plans]
        if self._is_refused_anyhow(found, person):
            return found, nullcontext()
        return found, self._context.surface.checking(card, tuple(intent.plans), person.by)

    def _is_refused_anyhow(self, found: Sequence[Incident], person: Person) -> bool:
        """True if refusal is certain without asking Slack: then the card does not say that nodes are read again."""
        policy, approval = self._context.policy, Approval(person.by, "")
        if person_of(person.by) not in policy.approvers and not policy.approver_groups:
            return True
        return not policy.self_approval and any(guards.has_asked(policy, incident, approval) for incident in found)

    async def _each(self, intent: Intent, approval: Approval, decide: Decide) -> None:
        """Decide about each incident, and list the refusals in a single message."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def refusal_of(incident_id: str) -> str:
            async with self._lock(incident_id), slots:
                try:
                    await decide(incident_id)
                    return ""
                except (Refused, UnknownIncident) as no:
                    return refusal_words(no)
                finally:
                    self._context.notices.decided(incident_id)

        answers = await asyncio.gather(
            *(refusal_of(incident_id) for incident_id in intent.plans), return_exceptions=True
        )
        refused = {
            incident_id: words
            for incident_id, words in zip(intent.plans, answers, strict=True)
            if isinstance(words, str) and words
        }
        if refused:
            await self._tell_refused(intent, approval, refused)
        for failure in answers:
            if isinstance(failure, BaseException):
                raise failure

    async def _tell_refused(self, intent: Intent, approval: Approval, refused: Mapping[str, str]) -> None:
        lines = []
        for incident_id, words in refused.items():
            node = ""
            if len(intent.plans) > 1:
                try:
                    node = f"{one_line((await self._context.find(incident_id)).node, 80)}: "
                except (LedgerError, UnknownIncident):
                    node = f"{incident_id}: "
            lines.append(f"{node}{words}")
        await self._context.ephemeral.tell(approval.by, intent.channel, intent.thread_ts, "\n".join(lines))

    async def _undo(self, incident_id: str, approval: Approval) -> None:
        opened = await self._context.responder.undo(incident_id, approval)
        self._context.notices.decided(opened.id)

    async def _answer(self, intent: Intent, incident_id: str, approval: Approval) -> None:
        if not intent.since:  # a dialog of an older version
            raise StaleRequest("This dialog does not say which question it is about.", "Click again.")
        await self._context.responder.answer(incident_id, intent.detail, approval, instant_of(intent.since))

    async def _undecided(self, intent: Intent, person: Person) -> Intent:
        """Leave out incidents on which this person's decision is recorded already."""
        found = await asyncio.gather(*(self._context.find(incident_id) for incident_id in intent.plans))
        said = {
            incident.id
            for incident in found
            if any(word is not None and word.by == person.by for word in (*incident.endorsements, incident.decision))
        }
        return replace(intent, plans={name: digest for name, digest in intent.plans.items() if name not in said})

    async def _pull(self, intent: Intent, submission: Submission, reason: str, again: bool) -> None:
        if again and await self._context.ledger.pulled_by(submission.key):
            return
        words = await self._context.pull(submission.person, reason, submission.key)
        await self._context.ephemeral.tell(submission.person.by, intent.channel, intent.thread_ts, words)

    async def _release(self, intent: Intent, approval: Approval) -> None:
        try:
            if not intent.pull:  # a dialog of an older version
                raise StaleRequest("This dialog does not say which pull of the brake it is about.", "Click again.")
            words = brake_words(await self._context.responder.brake(False, approval, pull=intent.pull))
        except Refused as no:
            words = refusal_words(no)
        await self._context.ephemeral.tell(approval.by, intent.channel, intent.thread_ts, words)

    def _lock(self, incident_id: str) -> asyncio.Lock:
        """Return an incident's lock: when many approve at once, its node is read once, and the others hear who won."""
        if len(self._locks) > REMEMBERED:
            self._locks = {name: lock for name, lock in self._locks.items() if lock.locked()}
        return self._locks.setdefault(incident_id, asyncio.Lock())
