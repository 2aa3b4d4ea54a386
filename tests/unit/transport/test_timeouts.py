"""A limit counts the time in which this program listened; a standstill of its own is no silence of a node."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from bot.domain.errors import StoodStill
from bot.transport import timeouts
from bot.transport.timeouts import BEAT_SECONDS, Heartbeat, TimeLimit, waited_seconds

pytestmark = pytest.mark.real  # it waits for real seconds

SLACK_SECONDS = 3.0  # what a busy machine may add


async def until_over(limit: TimeLimit, meanwhile: Callable[[], Awaitable[None]]) -> float:
    """Wait for what never comes, and return how long the limit let us."""
    began = time.monotonic()
    try:
        async with limit.kept("node-1"):
            await meanwhile()
    except TimeoutError:
        pass
    return time.monotonic() - began


def stand_still(seconds: float) -> None:
    """Keep the event loop from going on, as a machine without a free processor does."""
    threading.Event().wait(seconds)


async def silence() -> None:
    await asyncio.Event().wait()


async def stood_still_in(seconds: float, pieces: int, between: float = 0.001) -> None:
    """Hold up the whole event loop again and again, and then keep silent."""
    for _ in range(pieces):
        stand_still(seconds)
        await asyncio.sleep(between)
    await silence()


async def test_silent_node_ends_when_its_limit_is_over() -> None:
    with Heartbeat().limit(0.3) as limit:
        took = await until_over(limit, silence)
        assert not limit.is_own_delay
    assert 0.29 <= took < 0.3 + SLACK_SECONDS


async def test_what_arrived_during_a_standstill_is_heard() -> None:
    arrived = asyncio.Event()
    with Heartbeat().limit(0.2) as limit:
        asyncio.get_running_loop().call_later(0.25, arrived.set)
        async with limit.kept("node-1"):
            stand_still(1.0)
            await arrived.wait()


async def test_silent_node_gets_its_whole_time_beside_a_standstill_and_then_ends() -> None:
    seconds = 1.5  # a busy machine may hold this test up, too, and must not do it for that long
    with Heartbeat(lambda: 0.0).limit(seconds) as limit:
        took = await until_over(limit, lambda: stood_still_in(1.0, 1))
        assert not limit.is_own_delay, "it was silent for as long as any other may be"
    assert seconds + 0.95 <= took < seconds + 1.0 + SLACK_SECONDS


async def test_limit_at_most_doubles_and_is_then_said_to_be_ours() -> None:
    began = time.monotonic()
    with Heartbeat().limit(0.6) as limit, pytest.raises(StoodStill, match=r"did not get the processor .* node-1\. "):
        async with limit.kept("node-1"):
            await stood_still_in(0.15, 40)
    assert time.monotonic() - began < 2 * 0.6 + 2 * 0.15 + SLACK_SECONDS


async def test_stage_ends_with_the_whole_and_shares_its_standstill() -> None:
    with Heartbeat().limit(0.3) as whole, whole.part(5) as stage:
        took = await until_over(stage, lambda: stood_still_in(0.5, 1))
        assert not stage.is_own_delay
    assert 0.75 <= took < 0.8 + SLACK_SECONDS


async def test_standstill_before_a_limit_is_not_its_own() -> None:
    heartbeat = Heartbeat()
    with heartbeat.limit(5):
        await asyncio.sleep(2 * BEAT_SECONDS)
        stand_still(0.5)
        with heartbeat.limit(0.2) as limit:
            assert limit.seconds_left <= 0.2 + BEAT_SECONDS
            assert not limit.stood_mostly


async def test_other_sides_end_counts_as_ours_after_a_standstill_of_most_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timeouts, "GIVES_UP_SECONDS", 0.5)
    with Heartbeat().limit(5) as limit:
        await asyncio.sleep(2 * BEAT_SECONDS)
        assert not limit.stood_mostly
        stand_still(1.0)
        assert limit.stood_mostly


def test_heartbeat_serves_one_event_loop_after_another_and_ends_with_its_limits() -> None:
    heartbeat = Heartbeat()

    async def run() -> set[str]:
        with heartbeat.limit(0.1) as limit:
            await until_over(limit, silence)
        await asyncio.sleep(3 * BEAT_SECONDS)
        return {str(handle) for handle in getattr(asyncio.get_running_loop(), "_scheduled", ())}

    assert asyncio.run(run()) == set()
    assert asyncio.run(run()) == set()


async def test_wait_for_a_processor_counts_also_where_no_beat_is_late() -> None:
    began = time.monotonic()
    starved = Heartbeat(lambda: 0.9 * (time.monotonic() - began))
    with starved.limit(0.6) as limit, pytest.raises(StoodStill):
        async with limit.kept("node-1"):
            await silence()
    assert time.monotonic() - began >= 1.15


def test_kernel_tells_how_long_a_thread_waited_for_a_processor() -> None:
    before = waited_seconds()
    assert 0 <= before <= waited_seconds() < 10**6


async def test_limit_takes_in_what_happened_while_nobody_asked_it() -> None:
    heartbeat = Heartbeat(lambda: 0.0, most_kept=2)
    with heartbeat.limit(10) as limit:
        before = limit.seconds_left
        for _ in range(4):  # more than are kept: what is forgotten was taken in
            stand_still(0.2)
            heartbeat.look()
        assert heartbeat.standstill_count >= 4
        assert len(heartbeat.standstills(0)) <= 2
        with heartbeat.limit(10) as later:
            assert later.seconds_left > 9.5, "what is behind it is not its own"
        assert limit.seconds_left > before - 0.1, "four standstills, and none of them counts"
