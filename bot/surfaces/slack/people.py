"""Who a person in Slack is: Slack is asked each time, and without an answer nobody is admitted.

Methods: https://docs.slack.dev/reference/methods/users.info, …/users.lookupByEmail and …/usergroups.users.list
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from slack_sdk.web.async_client import AsyncWebClient

from bot.chat.clicks import mapping
from bot.chat.people import People, Person
from bot.domain.alert import SLACK
from bot.domain.contracts import Seconds
from bot.domain.errors import CannotTell, NotAnApprover
from bot.domain.post import MessageRef
from bot.domain.safe_text import one_line
from bot.surfaces.slack.calls import FAILURES, failure_reason
from bot.surfaces.slack.drawing import slack_user

OLDEST_SECONDS = 60.0  # how old a group's member list may be while Slack rate-limits the bot
NAMES_REMEMBERED = 500
_WHO = re.compile(r"(?:slack:)?\b[TE][A-Z0-9]+/([UW][A-Z0-9]+)\b")
LIMITED = frozenset({"ratelimited", "rate_limited", "http_429"})


def person_of(body: Mapping[str, Any]) -> Person:
    """Return the person whom a payload names; a missing field is empty."""
    user, team, enterprise = (mapping(body.get(name)) for name in ("user", "team", "enterprise"))
    return Person(
        user=str(user.get("id", "")),
        team=str(team.get("id") or user.get("team_id") or ""),
        enterprise=str(enterprise.get("id") or ""),
        home=str(user.get("team_id") or ""),
    )


@dataclass(frozen=True, slots=True)
class Workspace:
    """The workspace of this app, as auth.test says; `enterprise` is empty outside of an Enterprise Grid."""

    team: str = ""
    enterprise: str = ""
    org_wide: bool = False
    url: str = ""

    def permalink(self, place: MessageRef) -> str:
        """Return the address of a message; empty while the workspace's address is unknown."""
        return f"{self.url}archives/{place.channel}/p{place.ts.replace('.', '')}" if self.url else ""

    def is_ours(self, team: str, enterprise: str = "") -> bool:
        """True for the bot's own workspace, and for other workspaces of its enterprise."""
        return bool(self.team and team == self.team) or bool(self.enterprise and enterprise == self.enterprise)

    def is_of(self, person: Person) -> bool:
        """True if the payload that names a person is from here, and so is the person, where it says that."""
        return self.is_ours(person.team, person.enterprise) and (
            not person.home or self.is_ours(person.home, person.enterprise)
        )


class Installed(Protocol):
    """Says in which workspace this app is installed, once Slack has said so."""

    @property
    def workspace(self) -> Workspace:
        """The workspace; empty before Slack was reached."""


class SlackPeople(People):
    """Asks Slack who a person is, each call within `limit_seconds`; `groups` are the policy's approver groups."""

    chat, word = SLACK, "Slack"

    def __init__(
        self,
        client: AsyncWebClient,
        installed: Installed,
        groups: Collection[str],
        clock: Seconds,
        limit_seconds: float,
    ) -> None:
        self._client = client
        self._installed = installed
        self.groups = sorted(group for group in groups if group.startswith(f"{SLACK}:"))
        self._clock = clock
        self._limit = limit_seconds
        self._asking: dict[str, asyncio.Task[frozenset[str]]] = {}
        self._members: dict[str, tuple[float, frozenset[str]]] = {}
        self._names: dict[str, str] = {}

    async def admit(self, user: str, do: str = "decide") -> None:
        """Return for a full member of the bot's own workspace; `do` is what only such members may do.

        Raises: NotAnApprover for everybody else; CannotTell when Slack does not answer.
        """
        profile = await self._user_info(user)
        kind = next((words for flag, words in _NO_MEMBERS if profile.get(flag)), "")
        if kind:
            raise NotAnApprover(f"{_display_name(profile)} is {kind}: only full members of this workspace {do}.")
        grid = profile.get("enterprise_user")
        enterprise = str(grid.get("enterprise_id", "")) if isinstance(grid, dict) else ""
        if not self._installed.workspace.is_ours(str(profile.get("team_id", "")), enterprise):
            raise NotAnApprover(
                f"{_display_name(profile)} is from another workspace: only members of this workspace {do}."
            )

    @property
    def is_known(self) -> bool:
        """True once Slack has said which workspace is the bot's own."""
        return bool(self._installed.workspace.team or self._installed.workspace.enterprise)

    def is_ours(self, person: Person) -> bool:
        """True for a person, and a payload that names them, of the bot's own workspace."""
        return self._installed.workspace.is_of(person)

    def of(self, user: str) -> Person:
        """Return a person of the bot's own workspace by their id."""
        return Person(user, self._installed.workspace.team, self._installed.workspace.enterprise)

    def user(self, by: str) -> str:
        """Return the Slack id of a person named as in the record; empty for people of elsewhere."""
        return slack_user(by)

    async def named(self, words: str) -> str:
        """Return the words with people's names in place of their ids."""
        names = {user: await self.name(user) for user in dict.fromkeys(_WHO.findall(words))}
        return _WHO.sub(lambda match: names[match[1]], words)

    async def name(self, user: str) -> str:
        """Return a person's display name; their id where Slack does not answer."""
        if user not in self._names:
            try:
                await self._user_info(user)
            except CannotTell:
                return user
        return self._names.get(user, user)

    async def of_email(self, email: str) -> str:
        """Return the full member with an e-mail address, as the ledger names them; empty where Slack does not say.

        Needs the scope users:read.email; without it nobody is found. Whoever has the account of a guest, or one that is
        deactivated, may have another account to approve with: they are not known by it.
        """
        try:
            async with asyncio.timeout(self._limit):
                answer = await self._client.users_lookupByEmail(email=email)
        except FAILURES:
            return ""
        info: Mapping[str, Any] = answer.get("user") or {}
        if any(info.get(flag) for flag, _ in _NO_MEMBERS):
            return ""
        user = str(info.get("id", ""))
        return self.of(user).by if user and self.is_known else ""

    async def _user_info(self, user: str) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(self._limit):
                answer = await self._client.users_info(user=user)
        except FAILURES as error:
            raise CannotTell(f"Slack did not say who you are ({failure_reason(error)}).", "Try again.") from error
        info: Mapping[str, Any] = answer.get("user") or {}
        if len(self._names) >= NAMES_REMEMBERED:
            self._names.clear()
        self._names[user] = _display_name(info) or user
        return info

    async def is_in(self, group: str, user: str) -> bool:
        """Return whether a person is in a user group now. Raises: CannotTell when Slack does not answer."""
        return user in await self._members_of(group)

    @property
    def group_members(self) -> Mapping[str, Collection[str]]:
        """Who was in each group when Slack was last asked, as the record names them."""
        found = self._members.items()
        return {f"{SLACK}:{group}": [f"{SLACK}:{user}" for user in users] for group, (_, users) in found}

    async def _members_of(self, group: str) -> frozenset[str]:
        """Ask for a group's members; simultaneous calls share an answer, later calls ask again."""
        asking = self._asking.get(group)
        if asking is None or asking.done():
            asking = self._asking[group] = asyncio.create_task(self._group_members(group), name=f"members of {group}")
        return await asyncio.shield(asking)

    async def _group_members(self, group: str) -> frozenset[str]:
        ours = self._installed.workspace
        try:
            async with asyncio.timeout(self._limit):
                answer = await self._client.usergroups_users_list(
                    usergroup=group, team_id=ours.team if ours.org_wide and ours.team else None
                )
        except FAILURES as error:
            asked_at, known = self._members.get(group, (float("-inf"), frozenset()))
            reason = failure_reason(error)
            if reason in LIMITED and self._clock() - asked_at <= OLDEST_SECONDS:
                return known
            raise CannotTell(f"Slack does not say who is in the group {group} ({reason}).", "Try again.") from error
        members = frozenset(str(user) for user in answer.get("users") or ())
        self._members[group] = (self._clock(), members)
        return members


_NO_MEMBERS = (
    ("deleted", "a deactivated account"),
    ("is_bot", "a bot"),
    ("is_restricted", "a guest"),
    ("is_ultra_restricted", "a guest"),
    ("is_stranger", "from another organisation"),
)


def _display_name(info: Mapping[str, Any]) -> str:
    profile = info.get("profile") or {}
    return one_line(str(profile.get("display_name") or info.get("real_name") or info.get("name") or ""), 80)
