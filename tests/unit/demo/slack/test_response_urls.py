"""A response URL answers five times within thirty minutes, for one person or for all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.slack.workspace import SlackWorkspace, SteppedClock, workspace


class Answer:
    """One response URL of a command, or of a click on a message."""

    def __init__(self, slack: SlackWorkspace, session: ClientSession, clock: SteppedClock) -> None:
        self.slack, self.session, self.clock, self.url = slack, session, clock, ""

    async def of_command(self, channel: str) -> None:
        said = await self.slack.say("alice", channel, "/zombie check node-1")
        assert said.delivered
        self.url = said.delivered.payload["response_url"]

    async def post(self, **given: Any) -> tuple[int, str]:
        async with self.session.post(self.url, data=json.dumps(given)) as response:
            return response.status, await response.text()

    def seen_by(self, user: str, channel: str) -> list[str]:
        return [each.text for each in self.slack.messages(channel, user) if each.user == "U0ZOMBIE01"]


@pytest.fixture
async def answer() -> AsyncIterator[Answer]:
    clock = SteppedClock()
    async with workspace(clock=clock) as slack, ClientSession() as session:
        yield Answer(slack, session, clock)


async def test_answer_to_a_command_is_for_its_person_also_where_the_bot_is_no_member(answer: Answer) -> None:
    await answer.of_command("#general")
    assert await answer.post(text="here it is") == (200, "ok")
    assert answer.seen_by("alice", "#general") == ["here it is"]
    assert answer.seen_by("bob", "#general") == []


async def test_answer_in_channel_is_for_all(answer: Answer) -> None:
    await answer.of_command("#general")
    await answer.post(text="here it is", response_type="in_channel")
    assert answer.seen_by("bob", "#general") == ["here it is"]


async def test_sixth_use_is_refused(answer: Answer) -> None:
    await answer.of_command("#general")
    assert [(await answer.post(text="x"))[0] for _ in range(5)] == [200] * 5
    assert await answer.post(text="x") == (404, '{"ok": false, "error": "used_url"}')
    assert len(answer.seen_by("alice", "#general")) == 5


async def test_after_half_an_hour_it_is_refused(answer: Answer) -> None:
    await answer.of_command("#general")
    answer.clock.move(timedelta(minutes=30))
    assert (await answer.post(text="x"))[0] == 200
    answer.clock.move(timedelta(seconds=1))
    assert await answer.post(text="x") == (404, '{"ok": false, "error": "expired_url"}')


async def test_bad_blocks_are_refused_and_use_nothing_up(answer: Answer) -> None:
    await answer.of_command("#general")
    for _ in range(6):
        status, text = await answer.post(text="x", blocks=[{"type": "carousel"}])
        assert (status, json.loads(text)["error"]) == (400, "invalid_blocks")
    assert (await answer.post(text="x"))[0] == 200
