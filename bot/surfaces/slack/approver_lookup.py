"""Whether people in Slack who said yes earlier still may: Slack is asked at the last yes."""

from __future__ import annotations

from bot.domain.errors import CannotTell
from bot.domain.policy import Approval, Policy
from bot.surfaces.slack.blocks import slack_user
from bot.surfaces.slack.member import SLACK
from bot.surfaces.slack.people import People


class SlackApproverLookup:
    """Asks Slack about its own people; knows only the names of others: `bot.domain.policy.ApproverLookup`."""

    def __init__(self, people: People, policy: Policy) -> None:
        self._people = people
        self._policy = policy

    async def again(self, by: str) -> Approval:
        """Return the person with their present groups.

        Raises: NotAnApprover for a person who is no longer a full member; CannotTell when Slack does not say.
        """
        if by.partition(":")[0] != SLACK:
            return Approval(by, "")
        try:
            approval, unknown = await self._people.standing(by, slack_user(by), self._policy)
        except CannotTell as no:
            raise _unknown(by) from no
        if unknown:
            raise _unknown(by)
        return approval


def _unknown(by: str) -> CannotTell:
    return CannotTell(f"{by} has said yes, and Slack does not say whether they still may.", "Try again.")
