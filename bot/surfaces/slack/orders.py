"""What is typed about incidents, the policy and the brake, seen through: the same checks as for a click."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.domain.approval import Approval
from bot.domain.errors import Refused, UnknownIncident
from bot.domain.house_events import BrakePulled
from bot.domain.incident import IncidentSummary
from bot.domain.safe_text import one_line
from bot.response.guards import is_named
from bot.surfaces.slack.acting_rooms import ActingRooms
from bot.surfaces.slack.answers import refusal_words
from bot.surfaces.slack.clicks import Person
from bot.surfaces.slack.decisions import BRAKE_WORDS
from bot.surfaces.slack.requests import Order, Wish, is_user_id
from bot.surfaces.view.headline import node_words
from bot.surfaces.view.sentence import utc
from bot.surfaces.view.severity import urgency

MOST_LISTED = 30


class Enabling(Protocol):
    """What can switch PagerDuty's webhook subscription on again."""

    async def enable(self) -> str:
        """Do so, and return what came of it, as a sentence."""
        ...


class Orders:
    """Sees orders through.

    Shape: `pagerduty` has PagerDuty bring alerts again; None where PagerDuty is not talked to.
    """

    def __init__(self, rooms: ActingRooms, pagerduty: Enabling | None = None) -> None:
        self._rooms = rooms
        self._subscription = pagerduty

    async def see_through(self, wish: Wish, order: Order) -> None:
        """See one order through; whoever gave it is answered in private."""
        person = Person(wish.user, wish.workspace, wish.enterprise)
        about = order.incident or order.node
        async with self._rooms.answering(order.verb, person, wish.channel, wish.thread_ts, about):
            try:
                words = await self._words(wish, person, order)
            except (_Told, UnknownIncident) as no:
                words = refusal_words(no.refusal if isinstance(no, _Told) else no)
            await self._rooms.answers.tell(wish.by, wish.channel, wish.thread_ts, words, wish.answer_at)

    async def _words(self, wish: Wish, person: Person, order: Order) -> str:
        if order.verb == "status":
            self._rooms.is_of_ours(person)
            return await self._status()
        if order.verb == "policy":
            self._rooms.is_of_ours(person)
            return await self._policy(person, order)
        approval = await self._rooms.approval(person, order.reason, by_group=order.verb in ("brake", "pagerduty"))
        if order.verb == "pagerduty":
            return await self._pagerduty(approval)
        try:
            if order.verb == "brake":
                await self._rooms.responder.brake(order.on, approval)
                return BRAKE_WORDS["on" if order.on else "off"]
            if order.verb == "cancel":
                await self._rooms.responder.cancel(order.incident, approval)
                self._rooms.notices.decided(order.incident)
                return f"Incident {order.incident} is called off."
            opened = await self._rooms.responder.undo(order.incident, approval)
        except Refused as no:
            raise _Told(no) from no
        self._rooms.notices.decided(opened.id)
        return f"Proposed as incident {opened.id}; somebody else has to approve it."

    async def _pagerduty(self, approval: Approval) -> str:
        is_named(self._rooms.policy, approval)
        if self._subscription is None:
            return "PagerDuty is not talked to: PAGERDUTY_API_TOKEN is not set."
        self._rooms.log("subscription_wanted", by=approval.by)
        return one_line(await self._subscription.enable(), 500)

    async def _status(self) -> str:
        still_open = await self._rooms.ledger.incidents(only_open=True)
        braked = await self._rooms.ledger.braked()
        words = [f"{len(still_open)} open incidents." if still_open else "Nothing is open."]
        ordered = sorted(still_open, key=lambda summary: (urgency(summary.state), summary.node))
        words += [status_line(summary) for summary in ordered[:MOST_LISTED]]
        if len(ordered) > MOST_LISTED:
            words.append(f"And {len(ordered) - MOST_LISTED} more: zombie incidents")
        if braked is not None and isinstance(pulled := braked.event, BrakePulled):
            words.append(f"The brake is on: {braked.by} pulled it at {braked.at:%H:%M} UTC: {one_line(pulled.reason)}")
        else:
            words.append("The brake is off.")
        return "\n".join(words)

    async def _policy(self, person: Person, order: Order) -> str:
        user = order.person
        if not is_user_id(user):
            user = await self._rooms.people.called(user, {*self._rooms.policy.approvers, person.user})
        if not user:
            who = one_line(order.person, 40)
            return (
                f"I cannot tell who “{who}” is. Give the member ID, such as U012AB3CD (profile → ⋮ → Copy member ID)."
            )
        about = Person(user, person.team, person.enterprise)
        try:
            await self._rooms.people.admit(user)
        except Refused as no:
            return f"No: {refusal_words(no)}"
        member = await self._rooms.people.membership(user)
        told: Sequence[str] = await self._rooms.responder.explain(about.by, member.groups, order.action, order.node)
        return "\n".join([*told, *(f"not read: {why}" for why in member.unread)])


def status_line(summary: IncidentSummary) -> str:
    """Return an incident as a line of a list."""
    cause = f", {summary.cause}" if summary.cause else ""
    return f"• {node_words(summary.node)}: {summary.state.value}{cause} — {summary.id}, since {utc(summary.opened_at)}"


class _Told(Exception):
    """What the responder refused: it is on record already."""

    def __init__(self, refusal: Refused) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
