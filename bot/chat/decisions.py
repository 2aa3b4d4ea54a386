"""The one way of every decision: a click opens a dialog, whose submission is proven, stored, guarded and recorded.

A click decides nothing, so it is only noted, and handled once; its payload is not trusted. A submission is on disk
before it is acknowledged, so a crash right after loses nothing: the next run goes on with it. It decides: the first
submission wins; person, groups and node are checked then. Whoever is told that nothing was decided is right for ever:
that it was handled is on disk before. Where a commit may have gone through, they are told to look at the card.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.chat.background import FAILED, Background
from bot.chat.blocks import AMONG, BRAKE, CHECK_AGAIN, CHECK_MEANT, REPORT
from bot.chat.clicks import UNKNOWN_BUTTON, Click, Submission, parse_submission
from bot.chat.context import NOT_WRITTEN, TOLD, ChatContext, brake_words
from bot.chat.dialog import LONGEST_REASON, Intent, plans_that_fit, reason_dialog
from bot.chat.home import HomePublisher
from bot.chat.people import Person
from bot.chat.post_state import MessageTarget
from bot.chat.private_replies import refusal_words
from bot.chat.remembered import RecentDeliveries
from bot.chat.requests import MOST_NODES
from bot.chat.stored_checks import StoredChecks
from bot.domain.entry import instant_of, instant_text
from bot.domain.errors import (
    AlreadyDecided,
    CannotTell,
    LedgerError,
    NothingProposed,
    PlanChanged,
    ReasonMissing,
    Refused,
    StaleRequest,
    UnknownIncident,
)
from bot.domain.events import Declined
from bot.domain.incident import Incident, newest
from bot.domain.policy import Approval, person_of
from bot.domain.post import CardRecord
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.response.decision import guards
from bot.response.decision.braking import stale_release
from bot.seats import Chat
from bot.view.plan_words import PlanView
from bot.view.standing import ANSWER, APPROVE, DECLINE, PICK, UNDO, approval_dialog_words, options_of, undo_warning

DIGEST = 32  # digits of the digest by which a dialog names its plan
TRIGGER_SECONDS = 3.0  # after that no dialog opens for a click
KEEP_SECONDS = 2.0  # a chat waits three seconds for an acknowledgement
DROPPED = 1000  # submissions that are remembered as dropped: delivered again, they hear it again
NOTED_AGAIN_SECONDS = 1.0  # between tries to note that a submission was handled
MOST_LEFT_OUT = 3  # sentences: a dialog has few blocks beside those of its plans
AT_ONCE = 8  # nodes that a decision reads again at a time
_MORE = "{} more wait; decide them after these."
_UNKNOWN = "click"
_NUMBERED = (ANSWER, CHECK_MEANT)  # a row may have several of these buttons, each with its own number

BAD_SIGNATURE = PlanChanged("This dialog's content was changed on the way, so nothing was decided.", "Click again.")
NOT_KEPT = CannotTell(NOT_WRITTEN, "Try again.")
NOT_NOTED = "The ledger cannot be written now. What became of your decision is told here once it can."
BUG = f"{FAILED} If nothing shows on the card, nothing was decided."
NO_REASON = ReasonMissing("A decision needs a reason: it goes on record.")

Decide: TypeAlias = Callable[[str], Awaitable[object]]  # decides about the incident with this id


@dataclass(frozen=True, slots=True)
class CardRequests:
    """What a click on a card asks for that decides nothing: a check, the node that is meant, a report."""

    context: ChatContext

    async def check_near_name(self, click: Click) -> None:
        """Check the node that a person meant but mistyped, as if they had typed it right."""
        await self.begin(click, (click.value,))

    async def begin(self, click: Click, nodes: Sequence[str]) -> None:
        """Begin a check of these nodes where the click was.

        Raises: Refused for a person who may not ask, and for what cannot be asked; UnknownNode.
        """
        if not nodes:
            raise NothingProposed(UNKNOWN_BUTTON)
        if len(nodes) > MOST_NODES:
            raise NothingProposed(f"{len(nodes)} nodes at once are too many; the limit is {MOST_NODES}.")
        await self.context.askers.admit(click.person)  # before any look-up: a person who may not ask learns no name
        names = [self.context.responder.nodes.find(name).name for name in nodes]
        self.context.askers.count(click.person)
        spot = MessageTarget(click.channel, click.thread)
        await self.context.opener.begin(click.key, spot, click.person.by, f"check {' '.join(names)}", names)

    async def pick(self, click: Click) -> None:
        """Record which node an alert means, so that it is read; whoever may ask for checks may do this."""
        incident = await self.context.incident_of_click(click, click.block.removeprefix("pick-"))
        if incident.node:
            raise AlreadyDecided(f"It is {incident.node} already.")
        if click.value not in options_of(incident):
            raise NothingProposed(UNKNOWN_BUTTON)
        await self.context.askers.admit(click.person)
        await self.context.pick(incident.id, click.value, click.person.by)
        self.context.notices.decided(incident.id)

    async def report(self, click: Click) -> None:
        """Send the report into the thread; it decides nothing, and is sent once, however often it is asked for."""
        incident = await self.context.incident_of_click(click, click.value)
        if not incident.ended:
            raise NothingProposed("The report comes once it is over.", f"zombie report {incident.id}")
        outcome = await self.context.surface.report(incident)
        await self.context.ephemeral.tell(click.person.by, click.channel, click.thread, outcome)

    async def check_again(self, click: Click) -> None:
        """Check every node of a card again, on a new card; this card and its plan stay as they are."""
        incident = await self.context.incident_of_click(click, click.value)
        group = await self.context.surface.group(incident.card)
        nodes = dict.fromkeys(member.node for member in group if member.node)
        await self.begin(click, tuple(nodes))


class Decisions:
    """Takes clicks and submitted dialogs."""

    def __init__(
        self, context: ChatContext, home: HomePublisher, background: Background, others: Sequence[Chat] = ()
    ) -> None:
        """`others` take clicks on other cards than incidents', their dialogs, and what else an earlier run has left."""
        self._context = context
        self._home = home
        self._background = background
        self._others = others
        self._submitting: dict[str, asyncio.Task[str]] = {}
        self._dropped = RecentDeliveries(DROPPED)
        requests = CardRequests(context)
        handlers = {
            APPROVE: self._ask_decision,
            DECLINE: self._ask_decision,
            UNDO: self._ask_undo,
            BRAKE: self._ask_brake,
            ANSWER: self._ask_answer,
            PICK: requests.pick,
            REPORT: requests.report,
            CHECK_AGAIN: requests.check_again,
            CHECK_MEANT: requests.check_near_name,
        }
        absent = context.surface.view.absent
        self._handlers = {kind: handler for kind, handler in handlers.items() if kind not in absent}

    # --- clicks

    def handle_click(self, click: Click) -> asyncio.Task[None] | None:
        """Begin to handle a click; returns at once what handles it, if anything does. A second delivery is ignored."""
        return self._background.begin(self._handle_once(click), f"click {one_line(click.action, 40)}")

    async def _handle_once(self, click: Click) -> None:
        """Handle a click that no program has taken before: open its dialog, or tell the person why not."""
        try:
            if not await self._context.chat_requests.keep(click.key, done=True):  # nobody goes on with a click
                return
        except LedgerError as error:  # everything it leads to needs the ledger, too
            action = one_line(click.action, 40)
            self._context.log("ledger_unavailable", error=one_line(str(error)), action=action)
        action = self._action_of(click)
        try:
            self._context.people.check_workspace(click.person)
            if other := self._chat_of_extra(click.action, click.value):
                await other.ask(click)
            elif (handler := self._handlers.get(action)) is not None:
                await handler(click)
            else:
                raise NothingProposed(UNKNOWN_BUTTON)
        except TOLD as no:
            await self._context.tell(no, action, click.person, click.channel, click.thread, click.value)

    def _chat_of_extra(self, action: str, value: str) -> Chat | None:
        return next((other for other in self._others if other.is_about(action, value)), None)

    def _action_of(self, click: Click) -> str:
        """Return what a click asks for, as a word from a fixed list: refusals are counted by it."""
        families = (other.family for other in self._others if other.family)
        begins = (*(f"{kind}-" for kind in _NUMBERED), *families)
        if kind := next((word for word in begins if click.action.startswith(word)), ""):
            return kind.rstrip("-")
        is_known = click.action in self._handlers or self._chat_of_extra(click.action, click.value) is not None
        return click.action if is_known else _UNKNOWN

    async def _ask_decision(self, click: Click) -> None:
        name, _, single = click.value.partition(AMONG)
        card = await self._context.surface.read(name)
        group = tuple(incident for incident in newest(card.incidents) if single in ("", incident.id))
        if not group:
            raise NothingProposed(UNKNOWN_BUTTON)
        await self._context.surface.check_click(click, name, card.posts)
        plans = [incident for incident in group if incident.state is State.PROPOSED and incident.proposal is not None]
        if not plans:
            await self._context.surface.draw_again(card)  # it may stand as it was before the bot left the channel
            for incident in group:
                guards.require_open_proposal(incident)  # raises: who was first, or why there is nothing to decide
            raise AlreadyDecided("Nothing on this card still waits for a decision.")
        views = [(each, view) for each in plans if (view := self._context.surface.words.of_incident(each)) is not None]
        refused = await self._objections(click.person, plans, card) if click.action == APPROVE else {}
        left = list[str]()
        if set(refused) < {incident.id for incident in plans}:  # what would be refused holds up no other plan
            views = [(incident, view) for incident, view in views if incident.id not in refused]
            left = left_out([(each.node, refused[each.id]) for each in plans if each.id in refused])
        beside = [_MORE.format(len(views)), *left]
        shown = plans_that_fit([view for _, view in views], self._context.fits_dialog, beside)
        if not shown:
            raise CannotTell("The plan is too long for a dialog to show it whole.", f"zombie remediate {plans[0].id}")
        meant = [incident for incident, _ in views[: len(shown)]]  # each beside the plan that is shown for it
        objection = next((refused[incident.id] for incident in meant if incident.id in refused), "")
        more = len(views) - len(shown)
        words = [*([_MORE.format(more)] if more else []), *left]
        digests = {each.id: each.proposal.digest[:DIGEST] for each in meant if each.proposal is not None}
        about = [] if objection or click.action != APPROVE else meant
        await self._open_dialog(click, click.action, digests, words, shown, objection, yeses=about)

    async def _objections(self, person: Person, plans: Sequence[Incident], card: CardRecord) -> Mapping[str, str]:
        """Return what would refuse each approval now, by incident; it is decided when the dialog is sent."""
        found, approval = {}, await self._context.people.approval_before_dialog(person, self._context.policy)
        for incident in plans:
            try:
                self._context.responder.require_approvable(incident, approval, card.pulled, card.doubts)
            except Refused as no:
                found[incident.id] = refusal_words(no)
        return found

    async def _ask_undo(self, click: Click) -> None:
        incident, worded = await self._context.incident_of_click(click, click.value), self._context.surface.words
        back = worded.view(worded.undo(incident))
        words = [
            f"{incident.node}: incident {incident.id} ran this: {one_line(worded.ran(incident) or 'nothing', 500)}.",
            f"To {one_line(back.words or 'bring nothing back', 500)}: {back.effect} What else it did is not undone.",
            undo_warning(incident),
            "This is proposed as a separate plan, which another person has to approve.",
        ]
        await self._open_dialog(click, UNDO, {incident.id: ""}, words)

    async def _ask_brake(self, click: Click) -> None:
        verb, _, number = click.value.partition("-")
        if verb == "on" and not number:
            await self._ask_or_pull(click)
        elif verb == "off" and (not number or number.isdecimal()):
            await self._ask_release(click, int(number or 0))
        else:
            raise NothingProposed(UNKNOWN_BUTTON)

    async def _ask_or_pull(self, click: Click) -> None:
        words = "Nothing new begins. A step that has begun is finished, and its proof is read."
        try:
            async with asyncio.timeout(TRIGGER_SECONDS):
                await self._open_dialog(click, BRAKE, {}, [words], detail="on")
        except (CannotTell, TimeoutError):  # the brake does not wait for a dialog
            outcome = await self._context.pull_brake(click.person, "the dialog for a reason did not open", click.key)
            await self._context.ephemeral.tell(click.person.by, click.channel, click.thread, outcome)

    async def _ask_release(self, click: Click, number: int) -> None:
        """Open the dialog about the present pull; a button drawn for an earlier pull does nothing."""
        present = await self._context.ledger.brake_pull()
        if present is None:
            raise AlreadyDecided("The brake is off already.")
        if number not in (0, present.seq):
            raise stale_release(present, f"That button was about pull #{number}.")
        reason = one_line(str(present.body.get("reason", "")), 200)
        words = f"What waits may begin. This releases pull #{present.seq}, of {present.at:%H:%M} UTC: {reason}"
        await self._open_dialog(click, BRAKE, {}, [words], detail="off", pull=present.seq)

    async def _ask_answer(self, click: Click) -> None:
        incident = await self._context.incident_of_click(click, click.value)
        number, options = click.action.rpartition("-")[2], options_of(incident)
        if incident.question is None or not number.isdecimal() or int(number) >= len(options):
            raise AlreadyDecided("That question is closed.")
        answer = options[int(number)]
        words = [f"{incident.node}: {one_line(incident.question.question, 1000)}", f"Your answer: {answer}"]
        since = instant_text(incident.asked_at) if incident.asked_at is not None else ""
        await self._open_dialog(click, ANSWER, {incident.id: ""}, words, detail=answer, since=since)

    async def _open_dialog(
        self,
        click: Click,
        action: str,
        plans: dict[str, str],
        words: Sequence[str],
        shown: Sequence[PlanView] = (),
        objection: str = "",
        *,
        detail: str = "",
        pull: int = 0,
        since: str = "",
        yeses: Sequence[Incident] = (),
    ) -> None:
        intent = Intent(action, click.person.user, plans, click.channel, click.thread, detail, pull, since)
        kind = f"{action} {detail}" if action == BRAKE else action
        titles, becomes = approval_dialog_words(yeses, self._context.surface.view)
        await self._context.open(
            click, intent, reason_dialog(kind, shown, words, objection, titles=titles, becomes=becomes)
        )

    # --- dialogs, until they are on disk

    async def handle_submission(self, submission: Submission) -> str:
        """Prove a dialog, store it and begin to handle it; return why not, which it shows instead of closing."""
        taking = self._submitting.get(submission.key)
        if taking is None:  # a second delivery hears what the first one hears
            taking = asyncio.create_task(self._submit(submission), name="keep a submission")
            self._submitting[submission.key] = taking
            taking.add_done_callback(lambda _: self._submitting.pop(submission.key, None))
        return await asyncio.shield(taking)

    async def resume_unfinished(self) -> None:
        """Go on with submissions, sweeps and checks that an earlier run or another replica did not finish.

        Raises: LedgerError.
        """
        takes: tuple[Chat | StoredChecks, ...] = (*self._others, StoredChecks(self._context, self._background))
        for kept in await self._context.chat_requests.take_over_unowned():
            if any(part.takes(kept) for part in takes):
                continue
            submission = parse_submission(kept.body)
            if submission is None or (intent := self._context.signer.verify(submission.metadata)) is None:
                self._context.log("submission_unreadable", key=one_line(kept.key, 80))
                await self._context.chat_requests.mark_done(kept.key)
            else:
                self._context.log("submission_carried_on", key=one_line(kept.key, 80))
                self._background.begin(self._carry_out(submission, intent, again=True), "submission carried on")

    async def _submit(self, submission: Submission) -> str:
        if submission.key in self._dropped:
            return refusal_words(NOT_KEPT)
        try:
            intent = self._proven_intent(submission)
        except Refused as no:
            self._background.begin(self._record_refusal(submission, no), "note of a refusal")
            return refusal_words(no)
        keeping = asyncio.ensure_future(self._context.chat_requests.keep(submission.key, submission.text))
        try:
            async with asyncio.timeout(KEEP_SECONDS):
                is_first = await asyncio.shield(keeping)
        except (LedgerError, TimeoutError) as error:
            self._context.log("submission_not_kept", error=one_line(str(error) or repr(error)))
            self._dropped[submission.key] = None
            self._background.begin(self._forget(keeping, submission.key), "submission that came too late")
            return refusal_words(NOT_KEPT)
        if is_first:
            self._background.begin(self._carry_out(submission, intent), "submission")
        return ""

    def _proven_intent(self, submission: Submission) -> Intent:
        """Return what a dialog of the bot's own asks for. Raises: PlanChanged, ReasonMissing."""
        intent = self._context.signer.verify(submission.metadata)
        if intent is None or intent.user != submission.person.user:
            raise BAD_SIGNATURE
        if not submission.reason:
            raise NO_REASON
        return intent

    async def _record_refusal(self, submission: Submission, refusal: Refused) -> None:
        """Put a refusal on record, once however often the dialog is delivered."""
        with contextlib.suppress(LedgerError):
            if await self._context.chat_requests.keep(submission.key, done=True):
                await self._context.note("decide", submission.person.by, refusal)

    async def _note_as_done(self, key: str) -> bool:
        """Note that it was handled, so that no later run goes on with it; False where the ledger is away."""
        try:
            await self._context.chat_requests.mark_done(key)
        except LedgerError:
            return False
        return True

    async def _forget(self, keeping: asyncio.Future[bool], key: str) -> None:
        """Drop it: its sender was told that nothing was decided, so no later run may go on with it."""
        with contextlib.suppress(LedgerError):  # whether it is on disk is not known then
            if not await keeping:
                return
        while not await self._note_as_done(key):  # noqa: ASYNC110 - asks a database
            await asyncio.sleep(NOTED_AGAIN_SECONDS)

    # --- dialogs, from there on

    async def _carry_out(self, submission: Submission, intent: Intent, *, again: bool = False) -> None:
        """Decide what a dialog asks for, note that, and then tell the person what was refused.

        Shape: `again`: an earlier run began to handle it; what is already on record is not done twice. Where this one
        ends before it was noted, the next goes on with it.
        """
        person, told_to_wait = submission.person, False
        try:
            words = await self._decide(intent, submission, submission.reason[:LONGEST_REASON], again)
        except TOLD as no:
            words = await self._context.failure_words(no, intent.action, person, " ".join(intent.plans))
        except Exception:  # a bug would be met again
            await self._note_as_done(submission.key)
            await self._tell(intent, person, BUG)
            raise
        while not await self._note_as_done(submission.key) and words:
            if not told_to_wait:
                await self._tell(intent, person, NOT_NOTED)
            told_to_wait = True
            await asyncio.sleep(NOTED_AGAIN_SECONDS)
        if words:
            await self._tell(intent, person, words)
        if not intent.channel:  # decided in a home, which lists what waits
            self._home.open(person.user)

    async def _decide(self, intent: Intent, submission: Submission, reason: str, again: bool) -> str:
        """Decide, and return what to tell the person. Raises: any of `TOLD`."""
        person, action = submission.person, intent.action
        if other := self._chat_of_extra(action, next(iter(intent.plans), "")):
            return await other.decide(intent, person, reason, again=again)
        if action == BRAKE and intent.detail == "on":
            if not (again and await self._context.ledger.pull_for_request(submission.key)):
                await self._tell(intent, person, await self._context.pull_brake(person, reason, submission.key))
            return ""
        if again and action in (APPROVE, DECLINE):
            intent = await self._without_recorded(intent, person, reason)
        found, checking = await self._incidents_and_notice(intent, person) if action == APPROVE else ((), nullcontext())
        async with checking:
            approval = await self._context.people.approval(
                person, self._context.policy, reason, by_group=action in (APPROVE, BRAKE, ANSWER)
            )
            if action == BRAKE:
                return await self._release_brake(intent, approval)
            decide: dict[str, Decide] = {
                APPROVE: lambda name: self._approve(intent, found, name, approval),
                DECLINE: lambda name: self._context.responder.decline(name, approval),
                UNDO: lambda name: self._propose_undo(name, approval),
                ANSWER: lambda name: self._answer_question(intent, name, approval),
            }
            if action not in decide:
                raise NothingProposed("This bot cannot do that.")
            return await self._decide_each(intent, person, decide[action])

    async def _approve(self, intent: Intent, found: Sequence[Incident], name: str, approval: Approval) -> None:
        """Say yes to the plan that the dialog showed: it carries its first digits; guards refuse any other plan."""
        whole = {incident.id: incident.proposal.digest for incident in found if incident.proposal is not None}
        seen, digest = intent.plans[name], whole.get(name, "")
        meant = digest if seen and digest.startswith(seen) else seen or "none"
        self._context.surface.note_decided(await self._context.responder.decide(name, replace(approval, digest=meant)))

    async def _incidents_and_notice(
        self, intent: Intent, person: Person
    ) -> tuple[Sequence[Incident], AbstractAsyncContextManager[None]]:
        """Return the incidents that a yes is about, and what shows on their card meanwhile that they are read again."""
        if not intent.plans:
            return (), nullcontext()
        card = await self._context.surface.read(next(iter(intent.plans)), of_incident=True)
        read = {incident.id: incident for incident in card.incidents}
        found = [read.get(incident_id) or await self._context.find(incident_id) for incident_id in intent.plans]
        if self._is_surely_refused(found, person):
            return found, nullcontext()
        return found, self._context.surface.checking(card, tuple(intent.plans), person.by)

    def _is_surely_refused(self, found: Sequence[Incident], person: Person) -> bool:
        """True if refusal is certain without asking the chat: then the card does not say that nodes are read again."""
        policy, approval = self._context.policy, Approval(person.by, "")
        if person_of(person.by) not in policy.approvers and not policy.approver_groups:
            return True
        return not policy.self_approval and any(guards.has_asked(policy, incident, approval) for incident in found)

    async def _decide_each(self, intent: Intent, person: Person, decide: Decide) -> str:
        """Decide about each incident, and return the refusals."""
        slots = asyncio.Semaphore(AT_ONCE)

        async def refusal_of(incident_id: str) -> str:
            async with slots:
                try:
                    await decide(incident_id)
                    return ""
                except (Refused, UnknownIncident) as no:
                    return refusal_words(no)
                except LedgerError as no:  # of this incident: others may be decided
                    return await self._context.failure_words(no, intent.action, person, incident_id)
                finally:
                    self._context.notices.decided(incident_id)

        answers = await asyncio.gather(*map(refusal_of, intent.plans), return_exceptions=True)
        lines = []
        for incident_id, words in zip(intent.plans, answers, strict=True):
            if not isinstance(words, str):  # a bug in one hides nothing of the others
                self._context.log("decision_failed", incident=incident_id, error=repr(words))
                words = BUG
            if words:
                lines.append(f"{await self._node_name(incident_id)}: {words}" if len(intent.plans) > 1 else words)
        return "\n".join(lines)

    async def _node_name(self, incident_id: str) -> str:
        try:
            return one_line((await self._context.find(incident_id)).node, 80)
        except (LedgerError, UnknownIncident):
            return incident_id

    async def _tell(self, intent: Intent, person: Person, words: str) -> None:
        await self._context.ephemeral.tell(person.by, intent.channel, intent.thread_ts, words)

    async def _propose_undo(self, incident_id: str, approval: Approval) -> None:
        opened = await self._context.responder.undo(incident_id, approval)
        self._context.notices.decided(opened.id)

    async def _answer_question(self, intent: Intent, incident_id: str, approval: Approval) -> None:
        if not intent.since:  # a dialog of an older version
            raise StaleRequest("This dialog does not say which question it is about.", "Click again.")
        await self._context.responder.answer(incident_id, intent.detail, approval, instant_of(intent.since))

    async def _without_recorded(self, intent: Intent, person: Person, reason: str) -> Intent:
        """Leave out incidents on which this word is on record; another of the same person, as a yes before this no, is
        none.
        """
        found = await asyncio.gather(*(self._context.find(incident_id) for incident_id in intent.plans))
        words = [(incident.id, word) for incident in found for word in (*incident.endorsements, incident.decision)]
        said = {
            name
            for name, word in words
            if word is not None
            and (word.by, word.event.reason) == (person.by, reason)
            and isinstance(word.event, Declined) is (intent.action == DECLINE)
        }
        return replace(intent, plans={name: digest for name, digest in intent.plans.items() if name not in said})

    async def _release_brake(self, intent: Intent, approval: Approval) -> str:
        try:
            if not intent.pull:  # a dialog of an older version
                raise StaleRequest("This dialog does not say which pull of the brake it is about.", "Click again.")
            return brake_words(await self._context.responder.brake(False, approval, pull=intent.pull))
        except Refused as no:
            return refusal_words(no)


def left_out(refused: Sequence[tuple[str, str]]) -> list[str]:
    """Return what a dialog says of nodes whose plans would be refused, given with the reason; many are counted."""
    said = [f"Left out: {one_line(node, 80)}. {why}" for node, why in refused[:MOST_LEFT_OUT]]
    more = len(refused) - len(said)
    return [*said, *([f"{more} more would be refused, and are left out."] if more else [])]
