"""Who a person in Teams is: Teams is asked each time, and without an answer nobody is admitted.

The key of a person is the tenant with the object id in Entra. `conversation.tenantId` is the host's, also where
somebody from outside clicks, so each person is looked up among the members of a conversation.
"""

from __future__ import annotations

from collections.abc import Collection

from bot.chat.people import People, Person
from bot.domain.alert import TEAMS
from bot.domain.errors import CannotTell, NotAnApprover
from bot.domain.safe_text import one_line
from bot.surfaces.teams.calls import TeamsCalls
from bot.surfaces.teams.settings import teams_user

MEMBERS = frozenset(("", "user", "owner", "admin"))  # roles; anybody else, such as a guest, is refused


class TeamsPeople(People):
    """Asks Teams who a person is; `groups` are the policy's approver groups, each the roster of a team's channel."""

    chat, word = TEAMS, "Teams"
    is_known = True

    def __init__(self, calls: TeamsCalls, groups: Collection[str]) -> None:
        self._calls = calls
        self._tenant = calls.settings.tenant
        self.groups = sorted(group for group in groups if group.startswith(f"{TEAMS}:"))

    def is_ours(self, person: Person) -> bool:
        """True for a person, and an activity that names them, of the bot's own tenant."""
        return person.chat == TEAMS and person.team == self._tenant and person.home in ("", self._tenant)

    def of(self, user: str) -> Person:
        """Return a person of the bot's own tenant by their object id."""
        return Person(user, self._tenant, chat=TEAMS)

    def user(self, by: str) -> str:
        """Return the object id of a person named as in the record; empty for people of elsewhere."""
        return teams_user(by, self._tenant)

    async def admit(self, user: str, do: str = "decide") -> None:
        """Return for a full member of the bot's own tenant.

        Raises: NotAnApprover for everybody else; CannotTell when Teams does not say.
        """
        conversation, there = self._calls.known.get(user, (self._calls.settings.alerts_channel, user))
        if not conversation:
            raise CannotTell(
                "The bot does not know where to look you up in Teams.", "Write to it there, then try again."
            )
        found = await self._calls.member(conversation, there)
        if found is None:
            raise NotAnApprover(f"You are no member of the conversation there: only members {do}.")
        name = one_line(str(found.get("name") or user), 80)
        entra = str(found.get("aadObjectId") or found.get("objectId") or "").lower()
        if str(found.get("tenantId") or "").lower() != self._tenant or entra != user:
            raise NotAnApprover(f"{name} is from another organisation: only members of this tenant {do}.")
        login, role = (str(found.get(key) or "").lower() for key in ("userPrincipalName", "userRole"))
        if not login and not role:
            raise CannotTell(f"Teams does not say whether {name} is a guest.", "Try again.")
        if "#ext#" in login or role not in MEMBERS:
            raise NotAnApprover(f"{name} is a guest: only full members of this tenant {do}.")

    async def named(self, words: str) -> str:
        """Return the words with people's names in place of their ids."""
        return self._calls.named(words)

    async def is_in(self, group: str, user: str) -> bool:
        """Return whether a person is in the team of a group's channel now. Raises: CannotTell."""
        found = await self._calls.member(group, user)
        return found is not None and user == str(found.get("aadObjectId") or found.get("objectId") or "").lower()
