"""Clicks on buttons and menus of cards and the App Home: most open the dialog that asks for a reason.

A click decides nothing, so it is only noted, and handled once; its payload is not trusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from bot.domain.entry import instant_text
from bot.domain.errors import (
    AlreadyDecided,
    CannotTell,
    LedgerError,
    NothingProposed,
    Refused,
)
from bot.domain.incident import Incident, newest
from bot.domain.post import CardRecord
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.response.decision import guards
from bot.response.decision.braking import stale
from bot.seats import Chat
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.blocks import AMONG, BRAKE, CHECK_AGAIN, CHECK_MEANT, REPORT
from bot.surfaces.slack.card_requests import CardRequests
from bot.surfaces.slack.context import TOLD, SlackContext
from bot.surfaces.slack.dialog import Intent, covered, reason_dialog
from bot.surfaces.slack.ephemeral import refusal_words
from bot.surfaces.slack.listeners import UNKNOWN_BUTTON, Click
from bot.surfaces.slack.message import Block
from bot.surfaces.slack.people import Person
from bot.surfaces.slack.suggestions import FIND_NODE
from bot.surfaces.view.plan_words import PlanView
from bot.surfaces.view.standing import ANSWER, APPROVE, DECLINE, PICK, UNDO, options_of

DIGEST = 32  # digits of the digest by which a dialog names its plan
TRIGGER_SECONDS = 3.0  # after that Slack opens no dialog for a click
MOST_LEFT_OUT = 3  # sentences: a dialog has few blocks beside those of its plans
_UNKNOWN = "click"
_NUMBERED = (ANSWER, CHECK_MEANT)  # a row may have several of these buttons, each with its own number


class BlockActions:
    """Handles clicks: opens the dialog, or says why not."""

    def __init__(self, context: SlackContext, background: Background, others: Sequence[Chat] = ()) -> None:
        """`others` take clicks on other cards than incidents'."""
        self._context = context
        self._background = background
        self._others = others
        requests = CardRequests(context)
        handlers = {
            APPROVE: self._decision,
            DECLINE: self._decision,
            UNDO: self._undo,
            BRAKE: self._brake,
            ANSWER: self._answer,
            PICK: requests.pick,
            REPORT: requests.report,
            CHECK_AGAIN: requests.check_again,
            CHECK_MEANT: requests.meant,
            FIND_NODE: requests.found,
        }
        absent = context.surface.view.absent
        self._handlers = {kind: handler for kind, handler in handlers.items() if kind not in absent}

    def clicked(self, click: Click) -> None:
        """Begin to handle a click; returns at once. A second delivery of it is ignored."""
        self._background.begin(self._once(click), f"click {one_line(click.action, 40)}")

    async def suggested(self, body: Mapping[str, Any]) -> Sequence[Block]:
        """Return the options of a menu in which a person types a node's name."""
        return await self._context.suggestions.answer(body)

    async def _once(self, click: Click) -> None:
        """Handle a click that no program has taken before."""
        try:
            if not await self._context.chat_requests.keep(click.key, done=True):  # nobody goes on with a click
                return
        except LedgerError as error:  # everything it leads to needs the ledger, too
            action = one_line(click.action, 40)
            self._context.log("ledger_unavailable", error=one_line(str(error)), action=action)
        await self._handle(click)

    async def _handle(self, click: Click) -> None:
        """Open the dialog of a click, or tell the person why not."""
        action = self._action_of(click)
        try:
            await self._answered(click, action)
        except TOLD as no:
            await self._context.tell(no, action, click.person, click.channel, click.thread, click.value)

    async def _answered(self, click: Click, action: str) -> None:
        self._context.people.check_workspace(click.person)
        for other in self._others:
            if other.is_about(click.action, click.value):
                await other.ask(click)
                return
        handler = self._handlers.get(action)
        if handler is None:
            raise NothingProposed(UNKNOWN_BUTTON)
        await handler(click)

    def _action_of(self, click: Click) -> str:
        """Return what a click asks for, as a word from a fixed list: refusals are counted by it."""
        families = (other.family for other in self._others if other.family)
        begins = (*(f"{kind}-" for kind in _NUMBERED), *families)
        if kind := next((word for word in begins if click.action.startswith(word)), ""):
            return kind.rstrip("-")
        is_known = click.action in self._handlers or any(
            other.is_about(click.action, click.value) for other in self._others
        )
        return click.action if is_known else _UNKNOWN

    async def _decision(self, click: Click) -> None:
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
                guards.is_undecided(incident)  # raises: who was first, or why there is nothing to decide
            raise AlreadyDecided("Nothing on this card still waits for a decision.")
        views = [(each, view) for each in plans if (view := self._context.surface.words.of_incident(each)) is not None]
        refused = await self._objections(click.person, plans, card) if click.action == APPROVE else {}
        if set(refused) < {incident.id for incident in plans}:  # what would be refused holds up no other plan
            views = [(incident, view) for incident, view in views if incident.id not in refused]
        shown = covered([view for _, view in views])
        if not shown:
            raise CannotTell("The plan is too long for a dialog to show it whole.", f"zombie remediate {plans[0].id}")
        meant = [incident for incident, _ in views[: len(shown)]]  # each beside the plan that is shown for it
        objection = next((refused[incident.id] for incident in meant if incident.id in refused), "")
        more = len(views) - len(shown)
        words = [f"{more} more wait; decide them after these."] if more else []
        if not objection:
            words += left_out([(each.node, refused[each.id]) for each in plans if each.id in refused])
        digests = {each.id: each.proposal.digest[:DIGEST] for each in meant if each.proposal is not None}
        await self._open(click, click.action, digests, shown, words, objection=objection)

    async def _objections(self, person: Person, plans: Sequence[Incident], card: CardRecord) -> Mapping[str, str]:
        """Return what would refuse each approval now, by incident; it is decided when the dialog is sent."""
        found, approval = {}, await self._context.likely_approval(person)
        for incident in plans:
            try:
                self._context.responder.may_approve(incident, approval, card.pulled, card.doubts)
            except Refused as no:
                found[incident.id] = refusal_words(no)
        return found

    async def _undo(self, click: Click) -> None:
        incident = await self._context.clicked(click, click.value)
        done = self._context.surface.words.plan(incident.proposal.plan) if incident.proposal is not None else ""
        words = [
            f"{incident.node}: incident {incident.id} did this: {one_line(done, 500)}.",
            "What can be undone is proposed as a separate plan, which another person has to approve.",
        ]
        await self._open(click, UNDO, {incident.id: ""}, (), words)

    async def _brake(self, click: Click) -> None:
        verb, _, number = click.value.partition("-")
        if verb == "on" and not number:
            await self._pull(click)
        elif verb == "off" and (not number or number.isdecimal()):
            await self._release(click, int(number or 0))
        else:
            raise NothingProposed(UNKNOWN_BUTTON)

    async def _pull(self, click: Click) -> None:
        words = "Nothing new begins. A step that has begun is finished, and its proof is read."
        try:
            async with asyncio.timeout(TRIGGER_SECONDS):
                await self._open(click, BRAKE, {}, (), [words], detail="on")
        except (CannotTell, TimeoutError):  # the brake does not wait for a dialog
            outcome = await self._context.pull(click.person, "the dialog for a reason did not open", click.key)
            await self._context.ephemeral.tell(click.person.by, click.channel, click.thread, outcome)

    async def _release(self, click: Click, number: int) -> None:
        """Open the dialog about the present pull; a button drawn for an earlier pull does nothing."""
        present = await self._context.ledger.braked()
        if present is None:
            raise AlreadyDecided("The brake is off already.")
        if number not in (0, present.seq):
            raise stale(present, f"That button was about pull #{number}.")
        reason = one_line(str(present.body.get("reason", "")), 200)
        words = f"What waits may begin. This releases pull #{present.seq}, of {present.at:%H:%M} UTC: {reason}"
        await self._open(click, BRAKE, {}, (), [words], detail="off", pull=present.seq)

    async def _answer(self, click: Click) -> None:
        incident = await self._context.clicked(click, click.value)
        number, options = click.action.rpartition("-")[2], options_of(incident)
        if incident.question is None or not number.isdecimal() or int(number) >= len(options):
            raise AlreadyDecided("That question is closed.")
        answer = options[int(number)]
        words = [f"{incident.node}: {one_line(incident.question.question, 1000)}", f"Your answer: {answer}"]
        since = instant_text(incident.asked_at) if incident.asked_at is not None else ""
        await self._open(click, ANSWER, {incident.id: ""}, (), words, detail=answer, since=since)

    async def _open(
        self,
        click: Click,
        action: str,
        plans: dict[str, str],
        shown: Sequence[PlanView],
        words: Sequence[str] = (),
        *,
        detail: str = "",
        pull: int = 0,
        since: str = "",
        objection: str = "",
    ) -> None:
        intent = Intent(action, click.person.user, plans, click.channel, click.thread, detail, pull, since)
        kind = f"{action} {detail}" if action == BRAKE else action
        view: dict[str, Any] = reason_dialog(kind, self._context.slack.signer.sign(intent), shown, words, objection)
        await self._context.slack.calls.open_dialog(click.trigger, view)


def left_out(refused: Sequence[tuple[str, str]]) -> list[str]:
    """Return what a dialog says of nodes whose plans would be refused, given with the reason; many are counted."""
    said = [f"Left out: {one_line(node, 80)}. {why}" for node, why in refused[:MOST_LEFT_OUT]]
    more = len(refused) - len(said)
    return [*said, *([f"{more} more would be refused, and are left out."] if more else [])]
