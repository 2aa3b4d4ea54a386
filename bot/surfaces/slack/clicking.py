"""What a click does: it opens the dialog that asks for a reason. A click alone decides nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bot.domain.approval import Approval
from bot.domain.errors import AlreadyDecided, Braked, CannotTell, NothingProposed, SelfApproval, UnknownIncident
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.response import guards
from bot.surfaces.slack.acting_rooms import ActingRooms
from bot.surfaces.slack.answers import refusal_words
from bot.surfaces.slack.buttons import BRAKE
from bot.surfaces.slack.clicks import Click
from bot.surfaces.slack.dialog import covered, reason_dialog
from bot.surfaces.slack.seal import Intent
from bot.surfaces.view.choices import ANSWER, APPROVE, DECLINE, PICK, UNDO, group_of, options_of
from bot.surfaces.view.view import IncidentView, incident_view

DIGEST = 32  # digits by which a dialog names the plan that it shows
UNKNOWN_BUTTON = "This button does nothing: the bot does not know it."


class Clicking:
    """Opens dialogs."""

    def __init__(self, rooms: ActingRooms) -> None:
        self._rooms = rooms
        self._handlers: dict[str, Callable[[Click], Awaitable[None]]] = {
            APPROVE: self._decision,
            DECLINE: self._decision,
            UNDO: self._undo,
            BRAKE: self._brake,
            ANSWER: self._answer,
            PICK: self._pick,
        }

    async def see_through(self, click: Click) -> None:
        """Open the dialog of one click, or say why there is none."""
        async with self._rooms.answering(click.action, click.person, click.channel, click.thread, click.value):
            self._rooms.is_of_ours(click.person)
            handler = self._handlers.get(ANSWER if click.action.startswith(f"{ANSWER}-") else click.action)
            if handler is None:
                raise NothingProposed(UNKNOWN_BUTTON)
            await handler(click)

    async def _find(self, incident_id: str) -> Incident:
        try:
            return await self._rooms.find(incident_id)
        except UnknownIncident as no:
            raise NothingProposed(UNKNOWN_BUTTON) from no

    async def _decision(self, click: Click) -> None:
        group = await self._rooms.surface.group(click.value)
        if not group:
            raise NothingProposed(UNKNOWN_BUTTON)
        await self._is_its_card(click, click.value)
        plans = [incident for incident in group if incident.state is State.PROPOSED and incident.proposal is not None]
        if not plans:
            for incident in group:
                guards.is_undecided(incident)  # says who was first, or why there is nothing to decide
            raise AlreadyDecided("Nothing of it waits for a decision any more.")
        shown = covered([incident_view(incident, self._rooms.context) for incident in plans])
        if not shown:
            raise CannotTell("The plan is too long to be shown whole.", f"zombie remediate {plans[0].id}")
        objection = await self._objection(click, plans[: len(shown)]) if click.action == APPROVE else ""
        words = [f"{len(plans) - len(shown)} more wait, and are decided after these."] if plans[len(shown) :] else []
        digests = {
            incident.id: incident.proposal.digest[:DIGEST]
            for incident in plans[: len(shown)]
            if incident.proposal is not None
        }
        await self._open(click, click.action, digests, shown, words, objection=objection)

    async def _objection(self, click: Click, plans: Sequence[Incident]) -> str:
        """Say at once what is already known to refuse it; the decision itself is taken when the dialog is sent."""
        try:
            for incident in plans:
                guards.is_not_the_asker(self._rooms.policy, incident, Approval(click.person.by, ""))
            guards.is_released(await self._rooms.ledger.braked())
        except (SelfApproval, Braked) as no:
            return refusal_words(no)
        return ""

    async def _undo(self, click: Click) -> None:
        incident = await self._find(click.value)
        await self._is_its_card(click, group_of(incident))
        done = self._rooms.context.words.plan(incident.proposal.plan) if incident.proposal is not None else ""
        words = [
            f"{incident.node}: incident {incident.id} did this: {one_line(done, 500)}.",
            "What can be taken back is proposed as a new plan, and somebody other than you has to approve it.",
        ]
        await self._open(click, UNDO, {incident.id: ""}, (), words)

    async def _brake(self, click: Click) -> None:
        if click.value not in ("on", "off"):
            raise NothingProposed(UNKNOWN_BUTTON)
        words = {
            "on": "Nothing new begins. A step that has begun is finished, and its proof is read.",
            "off": "What waits may begin again.",
        }
        await self._open(click, BRAKE, {}, (), [words[click.value]], detail=click.value)

    async def _answer(self, click: Click) -> None:
        incident = await self._find(click.value)
        await self._is_its_card(click, group_of(incident))
        number, options = click.action.rpartition("-")[2], options_of(incident)
        if incident.question is None or not number.isdecimal() or int(number) >= len(options):
            raise AlreadyDecided("That question is not open any more.")
        answer = options[int(number)]
        words = [f"{incident.node}: {one_line(incident.question.question, 1000)}", f"Your answer: {answer}"]
        await self._open(click, ANSWER, {incident.id: ""}, (), words, detail=answer)

    async def _pick(self, click: Click) -> None:
        """Which node an alert means is only a name: whoever is a member of the workspace may say it."""
        incident = await self._find(click.block.removeprefix("pick-"))
        await self._is_its_card(click, group_of(incident))
        if incident.node or self._rooms.picker is None:
            raise AlreadyDecided(f"It is {incident.node or 'not asked'} already.")
        if click.value not in options_of(incident):
            raise NothingProposed(UNKNOWN_BUTTON)
        await self._rooms.people.admit(click.person.user)
        await self._rooms.picker.pick(incident.id, click.value, click.person.by)
        self._rooms.notices.decided(incident.id)

    async def _is_its_card(self, click: Click, group: str) -> None:
        """Raises: NothingProposed when a button is clicked elsewhere than where its card stands."""
        if click.in_home:
            return
        place = await self._rooms.surface.place(group)
        if place is None or (place.channel, place.ts) != (click.channel, click.ts):
            raise NothingProposed("This is an old copy of the card: only the card that stands now counts.")

    async def _open(
        self,
        click: Click,
        wish: str,
        plans: dict[str, str],
        shown: Sequence[IncidentView],
        words: Sequence[str] = (),
        *,
        detail: str = "",
        objection: str = "",
    ) -> None:
        intent = Intent(wish, click.person.user, plans, click.channel, click.thread, detail)
        kind = f"{wish} {detail}" if wish == BRAKE else wish
        view: dict[str, Any] = reason_dialog(kind, self._rooms.slack.seal.close(intent), shown, words, objection)
        if error := await self._rooms.slack.open_dialog(click.trigger, view):
            raise CannotTell(f"Slack did not open the dialog ({error}).", "Click again.")
