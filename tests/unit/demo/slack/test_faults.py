"""Faults happen when a test says so, to the calls it says, and the limits hold when they are switched on."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from tests.slack.rate_limits import RateLimits
from tests.slack.workspace import SteppedClock, client, workspace


async def test_given_error_for_the_next_calls_of_one_method() -> None:
    async with workspace() as slack:
        web = client(slack)
        slack.faults.error("chat.postMessage", "channel_not_found", times=2)
        for _ in range(2):
            with pytest.raises(SlackApiError, match="channel_not_found"):
                await web.chat_postMessage(channel="C0ALERTS01", text="x")
        await web.auth_test()
        await web.chat_postMessage(channel="C0ALERTS01", text="x")
        assert [call.error for call in slack.asked("chat.postMessage")] == ["channel_not_found"] * 2 + [""]


async def test_server_error_and_rate_limit() -> None:
    async with workspace() as slack:
        web = client(slack)
        slack.faults.status("*", 500)
        with pytest.raises(SlackApiError) as failed:
            await web.auth_test()
        assert failed.value.response.status_code == 500
        slack.faults.rate_limit("auth.test", retry_after_seconds=7)
        with pytest.raises(SlackApiError) as limited:
            await web.auth_test()
        assert (limited.value.response["error"], limited.value.response.headers["Retry-After"]) == ("ratelimited", "7")


async def test_silent_call_does_nothing_and_does_not_keep_the_workspace_from_ending() -> None:
    async with workspace() as slack:
        slack.faults.silent("chat.postMessage")
        call = asyncio.create_task(client(slack).chat_postMessage(channel="C0ALERTS01", text="x"))
        with pytest.raises(TimeoutError):
            await slack.until(call.done, timedelta(milliseconds=100))
    with pytest.raises(aiohttp.ClientError):
        await call
    assert slack.messages("#alerts") == []


async def test_lost_answer_leaves_the_message_there() -> None:
    async with workspace() as slack:
        web = client(slack)
        web.retry_handlers.clear()
        slack.faults.lose_answer("chat.postMessage")
        with pytest.raises(aiohttp.ClientError):
            await web.chat_postMessage(channel="C0ALERTS01", text="x")
        assert [each.text for each in slack.messages("#alerts")] == ["x"]


async def test_fourth_post_of_a_burst_has_to_wait_but_not_in_another_channel() -> None:
    clock = SteppedClock()
    async with workspace(clock=clock, exact_limits=True) as slack:
        web = client(slack)
        for _ in range(3):
            await web.chat_postMessage(channel="C0ALERTS01", text="x")
        with pytest.raises(SlackApiError) as limited:
            await web.chat_postMessage(channel="C0ALERTS01", text="x")
        assert limited.value.response.headers["Retry-After"] == "1"
        await web.chat_postMessage(channel="C0ONCALL01", text="x")
        clock.move(timedelta(seconds=1))
        await web.chat_postMessage(channel="C0ALERTS01", text="x")


def test_fifty_updates_a_minute_over_all_channels() -> None:
    clock = SteppedClock()
    limits = RateLimits(clock, are_exact=True)
    assert [limits.wait_seconds("chat.update", f"C{number}") for number in range(50)] == [0] * 50
    clock.move(timedelta(seconds=20))
    assert limits.wait_seconds("chat.update", "C0") == 40
    clock.move(timedelta(seconds=40))
    assert limits.wait_seconds("chat.update", "C0") == 0
