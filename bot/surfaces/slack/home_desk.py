"""One person's App Home: what waits for them and what runs, asked for when they open it."""

from __future__ import annotations

from typing import Protocol

from bot.domain.approval import Approval
from bot.domain.contracts import Outbox
from bot.domain.errors import LedgerError, Refused, UnknownIncident
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.transitions import State
from bot.response import guards
from bot.response.diagnosis.progress import Readings
from bot.surfaces.slack.background import Background
from bot.surfaces.slack.buttons import group_of
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.ephemeral import refusal_words
from bot.surfaces.slack.home import Deeds, Pending, home_view
from bot.surfaces.slack.people import Person

MOST_LOOKED_AT = 40
RUNNING = (State.APPROVED, State.ACTING, State.VERIFYING, State.UNKNOWN)


class Troubled(Protocol):
    """What may have trouble that people have to know of."""

    @property
    def trouble(self) -> str:
        """What does not work just now, as a sentence; empty while all is well."""
        ...


class HomeDesk:
    """Gathers it, and shows it. `nodes` is how many the inventory has."""

    def __init__(
        self,
        context: SlackContext,
        background: Background,
        outbox: Outbox,
        nodes: int,
        readings: Readings,
        pagerduty: Troubled | None = None,
    ) -> None:
        self._context = context
        self._background = background
        self._outbox = outbox
        self._nodes = nodes
        self._readings = readings
        self._pagerduty = pagerduty

    def open(self, user: str) -> None:
        """Begin to bring somebody's App Home up to date; returns at once."""
        self._background.begin(self._show(user), f"home {user}")

    async def _show(self, user: str) -> None:
        try:
            waiting, deeds = await self._outbox.waiting(), await self.deeds(user)
        except LedgerError:
            waiting, deeds = None, None
        trouble = self._pagerduty.trouble if self._pagerduty is not None else ""
        view = home_view(self._nodes, self._readings.running, waiting, deeds, trouble)
        await self._context.slack.publish_home(user, view)

    async def deeds(self, user: str) -> Deeds:
        """Return what this person may decide, what runs, and the brake.

        Raises: LedgerError when the record cannot be asked.
        """
        ours = self._context.slack.workspace
        person = Person(user, ours.team, ours.enterprise)
        open_ones = await self._context.ledger.incidents(only_open=True)
        braked = await self._context.ledger.braked()
        running = [one for one in open_ones if one.state in RUNNING]
        try:
            approval = await self._context.approval(person, "to look")
            guards.is_approver(self._context.policy, approval)
        except Refused as no:
            return Deeds((), running, braked, f"You decide nothing here. {refusal_words(no)}")
        pending: dict[str, list[Incident]] = {}
        for one in [one for one in open_ones if one.state is State.PROPOSED][:MOST_LOOKED_AT]:
            incident = await self._mine(one, approval)
            if incident is not None:
                pending.setdefault(group_of(incident), []).append(incident)
        return Deeds([Pending(tuple(plans)) for plans in pending.values()], running, braked)

    async def _mine(self, one: IncidentSummary, approval: Approval) -> Incident | None:
        try:
            incident = await self._context.find(one.id)
            guards.is_not_the_asker(self._context.policy, incident, approval)
        except (UnknownIncident, Refused):
            return None
        return incident if incident.state is State.PROPOSED else None
