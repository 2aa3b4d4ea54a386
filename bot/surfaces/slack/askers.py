"""Who may ask for checks in Slack, and how many: a check logs in to nodes, so not everybody may start it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from bot.domain.allowance import CHECKS_PER_PERSON, Allowance
from bot.domain.contracts import Seconds
from bot.domain.duration import span
from bot.domain.errors import CannotTell, NotAllowedToAsk, NotAnApprover, TooManyRequests
from bot.surfaces.remembered import Remembered
from bot.surfaces.slack.people import Installed, People, Person

_REMEMBERED_SECONDS = 60.0  # how long a person's profile is kept: many checks at once cost a single call
_PEOPLE = 2000
_HINT = "Ask a person who may: [policy] askers in zombie.toml."


@dataclass(slots=True)
class Askers:
    """Admits full members of the bot's own workspace; where `named` is set, only the people and user groups in it.

    Shape: `people` reads the groups in `named`. Checks are counted in this process only: several processes with the
    same ledger count separately, and a restart begins at zero.
    """

    installed: Installed
    people: People
    clock: Seconds
    named: frozenset[str] = frozenset()
    allowance: Allowance = CHECKS_PER_PERSON
    _known: Remembered[str, tuple[float, str]] = field(default_factory=partial(Remembered, _PEOPLE))
    _asked: Remembered[str, deque[float]] = field(default_factory=partial(Remembered, _PEOPLE))

    async def admit(self, person: Person) -> None:
        """Return for a person who may ask.

        Raises: NotAllowedToAsk for everybody else; CannotTell when Slack does not say who they are.
        """
        ours = self.installed.workspace
        if not (ours.team or ours.enterprise):
            raise CannotTell("Slack has not said yet in which workspace this bot is.", "Try again.")
        if not ours.is_of(person):
            raise NotAllowedToAsk("That came from another workspace than the bot's own.", _HINT)
        asked_at, why_not = self._known.get(person.user, (float("-inf"), ""))
        if self.clock() - asked_at > _REMEMBERED_SECONDS:
            why_not = await self._why_not(person.user)
            self._known[person.user] = (self.clock(), why_not)
        if why_not:
            raise NotAllowedToAsk(why_not, _HINT)

    def count(self, person: Person) -> None:
        """Count a check, of however many nodes. Raises: TooManyRequests when it exceeds the limit."""
        now, within = self.clock(), self.allowance.within
        asked = self._asked.get(person.user, deque())
        while asked and now - asked[0] >= within.total_seconds():
            asked.popleft()
        if len(asked) >= self.allowance.most:
            wait = timedelta(seconds=asked[0] + within.total_seconds() - now)
            raise TooManyRequests(
                f"You asked for {len(asked)} checks within {span(within)}, which is the limit.",
                f"Ask again in {span(max(wait, timedelta(seconds=1)))}. A check may name many nodes.",
            )
        asked.append(now)
        self._asked[person.user] = asked

    async def _why_not(self, user: str) -> str:
        """Say why somebody may not ask; empty where they may."""
        try:
            await self.people.admit(user, "ask for checks")
        except NotAnApprover as no:
            return no.sentence
        if not self.named or user in self.named:
            return ""
        member = await self.people.membership(user)
        if any(group.rpartition(":")[2] in self.named for group in member.groups):
            return ""
        if member.unread:
            raise CannotTell(f"The bot cannot tell whether you may ask for checks. {member.unread[0]}", "Try again.")
        return "[policy] askers does not name you, nor a group that you are in."


def groups_among(named: Collection[str]) -> frozenset[str]:
    """Return the user groups among people and groups.

    Example:
    >>> groups_among(["U012AB", "S012AB"])
    frozenset({'S012AB'})
    """
    return frozenset(name for name in named if name.startswith("S"))
