"""Who may ask for checks in Slack, and how many: a check logs in to nodes, so not everybody who can type causes one."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, TypeVar

from bot.domain.allowance import CHECKS_PER_PERSON, Allowance
from bot.domain.contracts import Seconds
from bot.domain.duration import span
from bot.domain.errors import CannotTell, NotAllowedToAsk, NotAnApprover, TooManyRequests
from bot.surfaces.slack.people import People, Person, Workspace

_REMEMBERED_SECONDS = 60.0  # who somebody is: many checks at once cost Slack one question
_PEOPLE = 2000
T = TypeVar("T")
_HINT = "Ask somebody who may: [policy] askers in zombie.toml."


class Installed(Protocol):
    """Says in which workspace this app is installed, once Slack has said so."""

    @property
    def workspace(self) -> Workspace:
        """The workspace; an empty one before Slack was reached."""
        ...


@dataclass(slots=True)
class Askers:
    """Admits full members of our own workspace, or of them only those that `named` names: people and user groups.

    Shape: `people` reads the groups in `named`. The count of somebody's checks is this program's own: several that
    serve at one ledger count apart, and a restart begins anew.
    """

    installed: Installed
    people: People
    clock: Seconds
    named: frozenset[str] = frozenset()
    allowance: Allowance = CHECKS_PER_PERSON
    _known: OrderedDict[str, tuple[float, str]] = field(default_factory=OrderedDict)
    _asked: OrderedDict[str, deque[float]] = field(default_factory=OrderedDict)

    async def admit(self, person: Person) -> None:
        """Do nothing for whoever may ask.

        Raises: NotAllowedToAsk for everybody else; CannotTell when Slack does not say who they are.
        """
        ours = self.installed.workspace
        if not (ours.team or ours.enterprise):
            raise CannotTell("Slack has not said yet in which workspace this bot is.", "Try again.")
        is_ours = ours.is_ours(person.team, person.enterprise)
        if not is_ours or (person.home and not ours.is_ours(person.home, person.enterprise)):
            raise NotAllowedToAsk("That came from another workspace than the one that this bot is installed in.", _HINT)
        asked_at, why_not = self._known.get(person.user, (float("-inf"), ""))
        if self.clock() - asked_at > _REMEMBERED_SECONDS:
            why_not = await self._why_not(person.user)
            _remember(self._known, person.user, (self.clock(), why_not))
        if why_not:
            raise NotAllowedToAsk(why_not, _HINT)

    def count(self, person: Person) -> None:
        """Count one check, of however many nodes. Raises: TooManyRequests when it would be one too many."""
        now, within = self.clock(), self.allowance.within
        asked = self._asked.get(person.user, deque())
        while asked and now - asked[0] >= within.total_seconds():
            asked.popleft()
        if len(asked) >= self.allowance.most:
            wait = timedelta(seconds=asked[0] + within.total_seconds() - now)
            raise TooManyRequests(
                f"You asked for {len(asked)} checks within {span(within)}, and more are not taken.",
                f"Ask again in {span(max(wait, timedelta(seconds=1)))}. One check may name many nodes.",
            )
        asked.append(now)
        _remember(self._asked, person.user, asked)

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
            raise CannotTell(f"Whether you may ask for checks cannot be told. {member.unread[0]}", "Try again.")
        return "[policy] askers does not name you, nor a group that you are in."


def groups_among(named: Collection[str]) -> frozenset[str]:
    """Return the user groups among people and groups.

    Example:
    >>> groups_among(["U012AB", "S012AB"])
    frozenset({'S012AB'})
    """
    return frozenset(name for name in named if name.startswith("S"))


def _remember(known: OrderedDict[str, T], user: str, what: T) -> None:
    known[user] = what
    known.move_to_end(user)
    if len(known) > _PEOPLE:
        known.popitem(last=False)
