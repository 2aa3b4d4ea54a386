"""Socket Mode on the wire: tickets, hello, envelopes and what happens when nobody acknowledges them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, WSServerHandshakeError

from bot.demo.slack.delivery import DeliveryTimeouts
from tests.slack.workspace import SlackWorkspace, client, workspace

SOON = DeliveryTimeouts(timedelta(milliseconds=100), (timedelta(0), timedelta(0)))


class Wire:
    """An app that speaks Socket Mode by hand."""

    def __init__(self, slack: SlackWorkspace, session: ClientSession, stack: AsyncExitStack) -> None:
        self.slack, self.session, self.stack = slack, session, stack

    async def address(self) -> str:
        answer = await client(self.slack, self.slack.app_token).apps_connections_open(app_token=self.slack.app_token)
        return str(answer["url"])

    async def connect(self) -> tuple[ClientWebSocketResponse, dict[str, Any]]:
        socket = await self.stack.enter_async_context(self.session.ws_connect(await self.address()))
        return socket, await socket.receive_json()


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with workspace(patience=SOON) as slack, ClientSession() as session, AsyncExitStack() as stack:
        yield Wire(slack, session, stack)


async def test_ticket_is_good_once(wire: Wire) -> None:
    address = await wire.address()
    await wire.stack.enter_async_context(wire.session.ws_connect(address))
    with pytest.raises(WSServerHandshakeError, match="403"):
        await wire.session.ws_connect(address)


async def test_eleventh_connection_is_one_too_many(wire: Wire) -> None:
    for _ in range(10):
        await wire.connect()
    socket, told = await wire.connect()
    assert (told["type"], told["reason"]) == ("disconnect", "too_many_websockets")
    assert (await socket.receive()).type is WSMsgType.CLOSE


async def test_command_is_an_envelope_that_may_be_answered(wire: Wire) -> None:
    socket, _ = await wire.connect()
    said = await wire.slack.say("gina", "#oncall-gpu", "/zombie  check  node-1 ")
    envelope = await socket.receive_json()
    assert (envelope["type"], envelope["accepts_response_payload"]) == ("slash_commands", True)
    assert "retry_attempt" not in envelope
    payload = envelope["payload"]
    assert (payload["command"], payload["text"]) == ("/zombie", "check  node-1")
    assert (payload["user_id"], payload["channel_name"], payload["team_id"]) == (
        "U0GUEST001",
        "oncall-gpu",
        "T0DEMO0001",
    )
    assert said.delivered
    assert said.delivered.failure == "operation_timeout"
    (told,) = wire.slack.messages("#oncall-gpu", "gina")
    assert told.text.startswith("`/zombie` failed because the app did not respond.")


async def test_command_without_an_app_says_dispatch_failed(wire: Wire) -> None:
    said = await wire.slack.say("alice", "#alerts", "/zombie check node-1")
    assert said.delivered
    assert said.delivered.failure == "dispatch_failed"
    (told,) = wire.slack.messages("#alerts", "alice")
    assert told.text == "`/zombie` failed with the error “dispatch_failed”"


async def test_event_that_nobody_acknowledges_comes_again_and_says_so(wire: Wire) -> None:
    socket, _ = await wire.connect()
    await wire.slack.say("alice", "#alerts", "@zombie check node-1")
    tries = [await socket.receive_json() for _ in range(3)]
    assert [(each["retry_attempt"], each["retry_reason"]) for each in tries] == [
        (0, ""),
        (1, "timeout"),
        (2, "timeout"),
    ]
    assert len({each["payload"]["event_id"] for each in tries}) == 1
    assert len({each["envelope_id"] for each in tries}) == 3


async def test_rubbish_from_the_app_hurts_nobody(wire: Wire) -> None:
    socket, _ = await wire.connect()
    for rubbish in ("{", "[]", '{"envelope_id": "nobody\'s"}', '{"envelope_id": 7, "payload": "x"}'):
        await socket.send_str(rubbish)
    await wire.slack.say("alice", "#alerts", "/zombie help")
    assert (await socket.receive_json())["type"] == "slash_commands"


async def test_duplicate_goes_out_twice_under_one_id(wire: Wire) -> None:
    first, _ = await wire.connect()
    second, _ = await wire.connect()
    wire.slack.faults.duplicates = 1
    await wire.slack.say("alice", "#alerts", "/zombie help")
    assert (await first.receive_json())["envelope_id"] == (await second.receive_json())["envelope_id"]
