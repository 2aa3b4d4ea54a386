"""Who clicked: Slack is asked at that very moment, and where it does not answer nobody is let through on a guess.

Methods: https://docs.slack.dev/reference/methods/users.info, …/users.lookupByEmail and …/usergroups.users.list
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.domain.contracts import Seconds
from bot.domain.errors import CannotTell, NotAnApprover
from bot.domain.safe_text import one_line
from bot.surfaces.slack.calls import error_name

OLDEST_SECONDS = 60.0  # how old a group's members may be where Slack says that it was asked too often
NAMES_REMEMBERED = 500
LIMITED = frozenset({"ratelimited", "rate_limited", "http_429"})


@dataclass(frozen=True, slots=True)
class Workspace:
    """Whose app this is, as auth.test says; `enterprise` is empty outside of an Enterprise Grid."""

    team: str = ""
    enterprise: str = ""
    org_wide: bool = False

    def is_ours(self, team: str, enterprise: str = "") -> bool:
        """True for our own workspace, or another one of our enterprise."""
        return bool(self.team and team == self.team) or bool(self.enterprise and enterprise == self.enterprise)


@dataclass(frozen=True, slots=True)
class Membership:
    """The approver groups that a person was found in; `unread` says which could not be asked, and why."""

    groups: frozenset[str]
    unread: tuple[str, ...] = ()


class People:
    """Asks Slack who somebody is, each question within `limit_seconds`; `groups` are the approver groups."""

    def __init__(
        self,
        client: AsyncWebClient,
        workspace: Callable[[], Workspace],
        groups: Collection[str],
        clock: Seconds,
        limit_seconds: float,
    ) -> None:
        self._client = client
        self._workspace = workspace
        self._groups = tuple(sorted(groups))
        self._clock = clock
        self._limit = limit_seconds
        self._asking: dict[str, asyncio.Task[frozenset[str]]] = {}
        self._members: dict[str, tuple[float, frozenset[str]]] = {}
        self._names: dict[str, str] = {}

    async def admit(self, user: str) -> None:
        """Let a full member of our own workspace pass.

        Raises: NotAnApprover for everybody else; CannotTell when Slack does not say.
        """
        told = await self._info(user)
        kind = next((words for flag, words in _NOBODY if told.get(flag)), "")
        if kind:
            raise NotAnApprover(f"{_name(told)} is {kind}: only full members of this workspace decide.")
        of_enterprise = told.get("enterprise_user")
        enterprise = str(of_enterprise.get("enterprise_id", "")) if isinstance(of_enterprise, dict) else ""
        if not self._workspace().is_ours(str(told.get("team_id", "")), enterprise):
            raise NotAnApprover(f"{_name(told)} is of another workspace: only members of this one decide.")

    async def membership(self, user: str) -> Membership:
        """Return the approver groups that a person is in at this moment."""
        told = await asyncio.gather(*(self._in_group(group, user) for group in self._groups))
        groups = frozenset(group for group, (is_in, _) in zip(self._groups, told, strict=True) if is_in)
        return Membership(groups, tuple(why for _, why in told if why))

    async def name(self, user: str) -> str:
        """Return what people call somebody; their id where Slack does not say."""
        if user not in self._names:
            try:
                await self._info(user)
            except CannotTell:
                return user
        return self._names.get(user, user)

    async def called(self, name: str, among: Collection[str]) -> str:
        """Return the id of the one among these people, or in the approver groups, whom Slack calls by that name."""
        members = await asyncio.gather(*(self._members_of(group) for group in self._groups), return_exceptions=True)
        users = {*among, *(user for found in members if isinstance(found, frozenset) for user in found)}
        for user in sorted(users)[:50]:
            try:
                told = await self._info(user)
            except CannotTell:
                continue
            profile = told.get("profile") or {}
            if name.lower() in (str(told.get("name", "")).lower(), str(profile.get("display_name", "")).lower()):
                return user
        return ""

    async def of_email(self, email: str) -> str:
        """Return whom Slack knows by an e-mail address, as the record names them; empty where it does not say.

        Needs the scope users:read.email; without it nobody is known so.
        """
        try:
            async with asyncio.timeout(self._limit):
                answer = await self._client.users_lookupByEmail(email=email)
        except _FAILURES:
            return ""
        told: Mapping[str, Any] = answer.get("user") or {}
        ours, user = self._workspace(), str(told.get("id", ""))
        return f"slack:{ours.enterprise or ours.team}/{user}" if user and (ours.enterprise or ours.team) else ""

    async def _info(self, user: str) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(self._limit):
                answer = await self._client.users_info(user=user)
        except _FAILURES as error:
            raise CannotTell(f"Who you are could not be asked of Slack ({_why(error)}).", "Try again.") from error
        told: Mapping[str, Any] = answer.get("user") or {}
        if len(self._names) >= NAMES_REMEMBERED:
            self._names.clear()
        self._names[user] = _name(told) or user
        return told

    async def _in_group(self, group: str, user: str) -> tuple[bool, str]:
        try:
            return user in await self._members_of(group), ""
        except CannotTell as no:
            return False, no.sentence

    async def _members_of(self, group: str) -> frozenset[str]:
        """Ask for a group's members; whoever asks at the same time shares the answer, and nobody one from before."""
        asking = self._asking.get(group)
        if asking is None or asking.done():
            asking = self._asking[group] = asyncio.create_task(self._ask(group), name=f"members of {group}")
        return await asyncio.shield(asking)

    async def _ask(self, group: str) -> frozenset[str]:
        ours = self._workspace()
        try:
            async with asyncio.timeout(self._limit):
                answer = await self._client.usergroups_users_list(
                    usergroup=group, team_id=ours.team if ours.org_wide and ours.team else None
                )
        except _FAILURES as error:
            asked_at, known = self._members.get(group, (float("-inf"), frozenset()))
            why = _why(error)
            if why in LIMITED and self._clock() - asked_at <= OLDEST_SECONDS:
                return known
            raise CannotTell(f"Slack does not say who is in the group {group} ({why}).", "Try again.") from error
        members = frozenset(str(user) for user in answer.get("users") or ())
        self._members[group] = (self._clock(), members)
        return members


# ValueError: an answer of 200 that is no JSON, from something that stands between us and Slack.
_FAILURES = (SlackApiError, aiohttp.ClientError, TimeoutError, OSError, ValueError)
_NOBODY = (
    ("deleted", "a deactivated account"),
    ("is_bot", "a bot"),
    ("is_restricted", "a guest"),
    ("is_ultra_restricted", "a guest"),
    ("is_stranger", "from another organisation"),
)


def _why(error: BaseException) -> str:
    if isinstance(error, SlackApiError):
        return error_name(error)
    return "no answer in time" if isinstance(error, TimeoutError) else one_line(repr(error), 120)


def _name(told: Mapping[str, Any]) -> str:
    profile = told.get("profile") or {}
    return one_line(str(profile.get("display_name") or told.get("real_name") or told.get("name") or ""), 80)
