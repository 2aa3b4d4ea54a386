"""The Web API refuses what Slack refuses, with Slack's own error strings."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession

from bot.demo.slack.message import Message
from bot.demo.slack.people import Channel
from tests.slack.workspace import SlackWorkspace, SteppedClock, workspace

ALERTS = "C0ALERTS01"
GENERAL = "C0GENERAL1"  # the bot is no member


class Api:
    """Calls methods as a client does that knows nothing of Slack."""

    def __init__(self, slack: SlackWorkspace, session: ClientSession, clock: SteppedClock) -> None:
        self.slack, self.session, self.clock = slack, session, clock

    async def __call__(self, method: str, token: str | None = None, **arguments: Any) -> dict[str, Any]:
        return await self.raw(method, json.dumps(arguments).encode(), "application/json", token)

    async def raw(self, method: str, body: bytes, kind: str, token: str | None = None) -> dict[str, Any]:
        headers = {"Content-Type": kind}
        if token != "":
            headers["Authorization"] = f"Bearer {token or self.slack.bot_token}"
        async with self.session.post(f"{self.slack.api_url}{method}", data=body, headers=headers) as response:
            assert response.status == 200
            answer: dict[str, Any] = await response.json()
            return answer

    def message_of(self, name: str, **parts: Any) -> Message:
        return self.slack.state.post(ALERTS, self.slack.state.user(name).id, "said", **parts)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    clock = SteppedClock()
    async with workspace(clock=clock, scopes=SCOPES) as slack, ClientSession() as session:
        yield Api(slack, session, clock)


SCOPES = ["chat:write", "files:write", "usergroups:read", "users:read", "channels:read", "im:write"]


async def test_without_a_token(api: Api) -> None:
    assert (await api("auth.test", token=""))["error"] == "not_authed"


async def test_with_a_wrong_token(api: Api) -> None:
    assert (await api("auth.test", token="xoxb-wrong"))["error"] == "invalid_auth"


async def test_with_the_other_kind_of_token(api: Api) -> None:
    assert (await api("apps.connections.open"))["error"] == "not_allowed_token_type"
    assert (await api("auth.test", token=api.slack.app_token))["error"] == "not_allowed_token_type"


async def test_unknown_method_is_named(api: Api) -> None:
    assert await api("chat.shout") == {"ok": False, "error": "unknown_method", "req_method": "chat.shout"}


async def test_missing_scope_says_what_is_needed_and_what_is_there() -> None:
    async with workspace(scopes=["users:read"]) as slack, ClientSession() as session:
        answer = await Api(slack, session, SteppedClock())("chat.postMessage", channel=ALERTS, text="x")
    assert answer == {"ok": False, "error": "missing_scope", "needed": "chat:write", "provided": "users:read"}


@pytest.mark.parametrize(
    ("body", "kind", "error"),
    [
        (b"channel=C0ALERTS01&text=x&blocks=%5B", "application/x-www-form-urlencoded", "invalid_blocks_format"),
        (b"channel=C0ALERTS01", "application/x-www-form-urlencoded", "no_text"),
        (b"text=x", "application/x-www-form-urlencoded", "invalid_arguments"),
    ],
)
async def test_body_that_cannot_be_read(api: Api, body: bytes, kind: str, error: str) -> None:
    assert (await api.raw("chat.postMessage", body, kind))["error"] == error


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"channel": "C0NOWHERE1", "text": "x"}, "channel_not_found"),
        ({"channel": GENERAL, "text": "x"}, "not_in_channel"),
        ({"channel": "C0PRIVATE1", "text": "x"}, "channel_not_found"),
        ({"channel": "C0OLD00001", "text": "x"}, "is_archived"),
        ({"channel": ALERTS, "text": "x", "thread_ts": "yesterday"}, "invalid_thread_ts"),
        ({"channel": ALERTS, "text": "x", "thread_ts": "1.000000"}, "thread_not_found"),
        ({"channel": {}, "text": "x"}, "invalid_arguments"),
    ],
)
async def test_post_that_is_refused(api: Api, arguments: dict[str, Any], error: str) -> None:
    api.slack.state.add_channel(Channel("C0PRIVATE1", "private", ("U0ALICE001",), is_private=True))
    api.slack.state.add_channel(Channel("C0OLD00001", "old", ("U0ZOMBIE01",), is_archived=True))
    assert (await api("chat.postMessage", **arguments))["error"] == error
    assert api.slack.messages("#alerts") == []


async def test_post_as_a_form_with_blocks_as_text(api: Api) -> None:
    body = b"channel=%23alerts&text=x&blocks=" + b"%5B%7B%22type%22%3A%22divider%22%7D%5D"
    answer = await api.raw("chat.postMessage", body, "application/x-www-form-urlencoded")
    assert answer["message"]["blocks"] == [{"type": "divider", "block_id": answer["message"]["blocks"][0]["block_id"]}]


async def test_times_of_messages_rise_where_the_clock_stands_still(api: Api) -> None:
    times = [(await api("chat.postMessage", channel=ALERTS, text="x"))["ts"] for _ in range(3)]
    assert times == ["1795253400.000000", "1795253400.000001", "1795253400.000002"]


async def test_reply_to_what_one_person_alone_sees_is_refused(api: Api) -> None:
    private = await api("chat.postEphemeral", channel=ALERTS, user="U0BOB00001", text="x")
    answer = await api("chat.postMessage", channel=ALERTS, text="y", thread_ts=private["message_ts"])
    assert answer["error"] == "cannot_reply_to_message"


async def test_reply_to_a_reply_joins_its_thread(api: Api) -> None:
    parent = await api("chat.postMessage", channel=ALERTS, text="x")
    reply = await api("chat.postMessage", channel=ALERTS, text="y", thread_ts=parent["ts"])
    nested = await api("chat.postMessage", channel=ALERTS, text="z", thread_ts=reply["ts"])
    assert nested["message"]["thread_ts"] == parent["ts"]


async def test_ephemeral_needs_the_person_in_the_channel(api: Api) -> None:
    answer = await api("chat.postEphemeral", channel=ALERTS, user="U0GUEST001", text="x")
    assert answer["error"] == "user_not_in_channel"


async def test_only_messages_of_its_own_may_the_bot_change(api: Api) -> None:
    method = "chat.update"
    private = await api("chat.postEphemeral", channel=ALERTS, user="U0BOB00001", text="x")
    cases = {
        api.message_of("alice").ts: "cant_update_message",
        private["message_ts"]: "message_not_found",
        "1.000000": "message_not_found",
    }
    assert {ts: (await api(method, channel=ALERTS, ts=ts, text="y"))["error"] for ts in cases} == cases
    assert (await api(method, channel="C0NOWHERE1", ts="1.000000", text="y"))["error"] == "channel_not_found"


@pytest.mark.parametrize(
    ("method", "arguments", "error"),
    [
        ("users.info", {"user": "U0NOBODY01"}, "user_not_found"),
        ("usergroups.users.list", {"usergroup": "S0NONE"}, "no_such_subteam"),
        ("files.getUploadURLExternal", {"filename": "a.png", "length": 1, "alt_txt": "a" * 1001}, "alt_txt_too_large"),
        ("files.completeUploadExternal", {"files": [{"id": "F1"}]}, "file_not_found"),
        ("files.completeUploadExternal", {"files": [{"id": "F1"}], "channel_id": GENERAL}, "not_in_channel"),
        ("views.publish", {"user_id": "U0NOBODY01", "view": {"type": "home", "blocks": []}}, "invalid_arguments"),
        ("views.open", {"trigger_id": "1.2.3"}, "invalid_arguments"),
    ],
)
async def test_other_method_that_is_refused(api: Api, method: str, arguments: dict[str, Any], error: str) -> None:
    assert (await api(method, **arguments))["error"] == error


async def test_calls_are_remembered_without_their_tokens(api: Api) -> None:
    body = f"token={api.slack.bot_token}&channel={ALERTS}&text=x".encode()
    assert (await api.raw("chat.postMessage", body, "application/x-www-form-urlencoded", token=""))["ok"]
    await api("chat.postMessage", channel=GENERAL, text="x")
    assert [(call.method, call.arguments, call.error) for call in api.slack.asked()] == [
        ("chat.postMessage", {"channel": ALERTS, "text": "x"}, ""),
        ("chat.postMessage", {"channel": GENERAL, "text": "x"}, "not_in_channel"),
    ]


async def test_history_needs_its_scope_and_names_it(api: Api) -> None:
    for method in ("conversations.history", "conversations.replies"):
        answer = await api(method, channel=ALERTS, ts="1.000000")
        assert answer["error"] == "missing_scope"
        assert "channels:history" in answer["needed"].split(",")


async def test_history_is_paged_newest_first_and_a_thread_oldest_first() -> None:
    clock = SteppedClock()
    async with workspace(clock=clock, scopes={"channels:history"}) as slack, ClientSession() as session:
        api = Api(slack, session, clock)
        parent = api.message_of("alice")
        for number in range(3):
            api.message_of("alice", thread_ts=parent.ts, is_broadcast=number == 2)
        api.message_of("alice", only_for="U0ALICE001")
        latest = api.message_of("alice")
        first = await api("conversations.history", channel=ALERTS, limit=2)
        assert first["messages"][0]["ts"] == latest.ts
        assert first["messages"][1]["subtype"] == "thread_broadcast"
        cursor = first["response_metadata"]["next_cursor"]
        second = await api("conversations.history", channel=ALERTS, limit=2, cursor=cursor)
        assert [each["ts"] for each in second["messages"]] == [parent.ts]
        assert (second["has_more"], second["response_metadata"]["next_cursor"]) == (False, "")
        assert second["messages"][0]["reply_count"] == 3
        newer = await api("conversations.history", channel=ALERTS, oldest=parent.ts)
        assert parent.ts not in [each["ts"] for each in newer["messages"]]
        thread = await api("conversations.replies", channel=ALERTS, ts=parent.ts)
        told = [each["ts"] for each in thread["messages"]]
        assert (told[0], len(told), told == sorted(told)) == (parent.ts, 4, True)
        assert (await api("conversations.replies", channel=ALERTS, ts="1.000000"))["error"] == "thread_not_found"
        assert (await api("conversations.history", channel=GENERAL))["error"] == "not_in_channel"
        assert (await api("conversations.history", channel="C0NOWHERE1"))["error"] == "channel_not_found"
