"""What one person's App Home shows of what is acted upon: asked for when they open it."""

from __future__ import annotations

from bot.domain.approval import Approval
from bot.domain.errors import Refused, UnknownIncident
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.transitions import State
from bot.response import guards
from bot.surfaces.slack.buttons import group_of
from bot.surfaces.slack.context import SlackContext
from bot.surfaces.slack.ephemeral import refusal_words
from bot.surfaces.slack.home import Deeds, Pending
from bot.surfaces.slack.people import Person

MOST_LOOKED_AT = 40
RUNNING = (State.APPROVED, State.ACTING, State.VERIFYING, State.UNKNOWN)


class HomeDesk:
    """Gathers it."""

    def __init__(self, rooms: SlackContext) -> None:
        self._rooms = rooms

    async def deeds(self, user: str) -> Deeds:
        """Return what this person may decide, what runs, and the brake.

        Raises: LedgerError when the record cannot be asked.
        """
        ours = self._rooms.slack.workspace
        person = Person(user, ours.team, ours.enterprise)
        open_ones = await self._rooms.ledger.incidents(only_open=True)
        braked = await self._rooms.ledger.braked()
        running = [one for one in open_ones if one.state in RUNNING]
        try:
            approval = await self._rooms.approval(person, "to look")
            guards.is_approver(self._rooms.policy, approval)
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
            incident = await self._rooms.find(one.id)
            guards.is_not_the_asker(self._rooms.policy, incident, approval)
        except (UnknownIncident, Refused):
            return None
        return incident if incident.state is State.PROPOSED else None
