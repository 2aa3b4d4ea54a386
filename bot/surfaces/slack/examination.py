"""What `zombie doctor` checks in Slack: tokens, scopes, the connection, and the people whom the policy names."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Collection, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.domain.contracts import Clock
from bot.domain.doctor_finding import DoctorFinding, Mark
from bot.surfaces.slack.calls import FAILURES, failure_reason, short_client
from bot.surfaces.slack.tokens import SlackTokens

T = TypeVar("T")
CALL_SECONDS = 8.0
NAMED = 20  # of the policy's people; the others are only counted
SKEW_SECONDS = 120.0  # Slack's signed requests are refused at five minutes
SCOPES: Mapping[str, str] = {
    "app_mentions:read": "to hear @zombie",
    "chat:write": "to post cards",
    "commands": "to hear /zombie",
    "files:write": "to show pictures on cards; without it they have strips of text",
    "usergroups:read": "to see who is in a group of approvers",
    "users:read": "to see whether an approver is a person",
}
DISPENSABLE = frozenset({"files:write"})  # without these only the looks suffer
_AGAIN = "Add it under “OAuth & Permissions” and install the app again."


@dataclass(eq=False, repr=False)
class SlackExamination:
    """Checks an app in its workspace; it posts nothing and changes nothing."""

    _tokens: SlackTokens
    _now: Clock

    async def bot_token(self) -> tuple[DoctorFinding, ...]:
        """Check that Slack accepts the bot's token with all scopes, and that the clocks agree."""
        async with self._client(self._tokens.bot) as client:
            try:
                answer = await _in_time(client.auth_test())
            except FAILURES as error:
                says = (
                    f"Slack rejects it: {failure_reason(error)}"
                    if _is_refusal(error)
                    else f"Slack cannot be reached: {failure_reason(error)}"
                )
                hint = "Copy the xoxb-… token from “OAuth & Permissions” of the app." if _is_refusal(error) else _REACH
                return (DoctorFinding("Slack bot token", Mark.WRONG, says, hint),)
        who = f"{answer.get('user')} in {answer.get('team')} ({answer.get('team_id')})"
        return (DoctorFinding("Slack bot token", Mark.OK, who), self._scopes(answer), self._clock(answer))

    async def socket(self) -> tuple[DoctorFinding, ...]:
        """Check that a Socket Mode connection opens and Slack says hello."""
        name = "Slack Socket Mode"
        if not self._tokens.app:
            seen = "SLACK_APP_TOKEN is not set: Slack has to reach this bot by HTTP at /slack/events"
            return (DoctorFinding(name, Mark.NOT_SET, seen),)
        try:
            async with self._client(self._tokens.app) as client:
                answer = await _in_time(client.apps_connections_open(app_token=self._tokens.app))
                session = client.session
                assert session is not None
                seconds = await _in_time(self._hello(session, str(answer["url"]), client.proxy))
        except FAILURES as error:
            if _is_refusal(error):
                hint = "Make an app-level token with connections:write under “Basic Information”."
                return (
                    DoctorFinding(name, Mark.WRONG, f"Slack rejects SLACK_APP_TOKEN: {failure_reason(error)}", hint),
                )
            return (DoctorFinding(name, Mark.WRONG, f"no hello came: {failure_reason(error)}", _REACH),)
        return (DoctorFinding(name, Mark.OK, f"opened, and Slack said hello after {seconds * 1000:.0f} ms"),)

    async def people(self, users: Collection[str], groups: Collection[str]) -> tuple[DoctorFinding, ...]:
        """Check that the approvers are people, and that the groups of approvers can be read."""
        found: list[DoctorFinding] = []
        async with self._client(self._tokens.bot) as client:
            found += [await self._group(client, group) for group in sorted(groups)[:NAMED]]
            if users:
                found.append(await self._users(client, sorted(users)[:NAMED], len(users)))
        return tuple(found)

    # --- inside

    def _scopes(self, answer: AsyncSlackResponse) -> DoctorFinding:
        scopes = _header(answer, "x-oauth-scopes")
        if scopes is None:
            return DoctorFinding("Slack scopes", Mark.NOTE, "Slack does not say which scopes the token has")
        granted = {scope.strip() for scope in scopes.split(",") if scope.strip()}
        if missing := sorted(SCOPES.keys() - granted):
            what = "; ".join(f"{scope} ({SCOPES[scope]})" for scope in missing)
            mark = Mark.NOTE if DISPENSABLE.issuperset(missing) else Mark.WRONG
            return DoctorFinding("Slack scopes", mark, f"missing: {what}", _AGAIN)
        if more := sorted(granted - SCOPES.keys()):
            seen = f"all that are needed, and more: {', '.join(more)}"
            return DoctorFinding(
                "Slack scopes",
                Mark.NOTE,
                seen,
                "Remove the scopes that are not needed.",
            )
        return DoctorFinding("Slack scopes", Mark.OK, ", ".join(sorted(granted)))

    def _clock(self, answer: AsyncSlackResponse) -> DoctorFinding:
        try:
            skew = (self._now() - parsedate_to_datetime(_header(answer, "date") or "")).total_seconds()
        except (TypeError, ValueError):
            return DoctorFinding("clock and Slack's", Mark.NOTE, "Slack does not say what time it is")
        if abs(skew) > SKEW_SECONDS:
            hint = "Set the clock (chrony): otherwise signed requests are refused and times in the record are wrong."
            return DoctorFinding("clock and Slack's", Mark.WRONG, f"{abs(skew):,.0f} s apart", hint)
        return DoctorFinding("clock and Slack's", Mark.OK, f"{abs(skew):.0f} s apart")

    async def _hello(self, session: aiohttp.ClientSession, url: str, proxy: str | None) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with session.ws_connect(url, proxy=proxy, max_msg_size=1024 * 1024) as socket:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT and json.loads(message.data).get("type") == "hello":
                    return loop.time() - began  # closed at once, so that no event comes here instead of to the bot
        raise ValueError("the connection was closed")

    async def _group(self, client: AsyncWebClient, group: str) -> DoctorFinding:
        name = f"approvers {group}"
        try:
            members = (await _in_time(client.usergroups_users_list(usergroup=group))).get("users") or ()
        except FAILURES as error:
            hint = "Is it the group's id (S…), and does the app have usergroups:read?" if _is_refusal(error) else _REACH
            return DoctorFinding(name, Mark.WRONG, f"its members cannot be read: {failure_reason(error)}", hint)
        if not members:
            return DoctorFinding(name, Mark.WRONG, "nobody is in it", "Add the people who may approve to the group.")
        return DoctorFinding(name, Mark.OK, f"{len(members)} people")

    async def _users(self, client: AsyncWebClient, users: Iterable[str], count: int) -> DoctorFinding:
        names, strangers = [], []
        for user in users:
            try:
                profile: Mapping[str, Any] = (await _in_time(client.users_info(user=user))).get("user") or {}
            except FAILURES as error:
                strangers.append(f"{user} ({failure_reason(error)})")
                continue
            if profile.get("deleted") or profile.get("is_bot"):
                strangers.append(f"{user} ({'deactivated' if profile.get('deleted') else 'a bot'})")
            names.append(str(profile.get("name") or user))
        if strangers:
            hint = "Remove them from [policy] approvers, or correct their ids (U…)."
            return DoctorFinding("approvers", Mark.WRONG, f"no people: {', '.join(strangers)}", hint)
        more = f" and {count - len(names)} more" if count > len(names) else ""
        return DoctorFinding("approvers", Mark.OK, ", ".join(names) + more)

    def _client(self, token: str) -> AbstractAsyncContextManager[AsyncWebClient]:
        return short_client(token, self._tokens.api_url, CALL_SECONDS)


_REACH = "Can this machine reach Slack (SLACK_API_URL, a proxy, DNS)?"


async def _in_time(call: Awaitable[T]) -> T:
    async with asyncio.timeout(CALL_SECONDS):
        return await call


def _is_refusal(error: BaseException) -> bool:
    """True when Slack was reached and refused."""
    return isinstance(error, SlackApiError) and getattr(error.response, "status_code", 0) == 200


def _header(answer: AsyncSlackResponse, name: str) -> str | None:
    return next((str(value) for key, value in answer.headers.items() if key.lower() == name), None)
