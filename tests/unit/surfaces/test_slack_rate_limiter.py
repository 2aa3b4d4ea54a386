"""Slack's limits from our side: so many in a span, the important first, progress from what is left over."""

from __future__ import annotations

import asyncio

from bot.chat.post_state import CARD, MessageTarget, PendingDelivery, PostState
from bot.chat.rate_limiter import FIRST, LAST, SUMMARY, RateLimiter
from bot.chat.service import Message


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


async def through(limiter: RateLimiter, *tasks: asyncio.Task[None]) -> list[bool]:
    """Let everybody through who may go, and say who has."""
    limiter.let_through()
    for _ in range(3):
        await asyncio.sleep(0)
    return [task.done() for task in tasks]


def claim(limiter: RateLimiter, rank: int = FIRST) -> asyncio.Task[None]:
    return asyncio.create_task(limiter.wait_for_turn(lambda: rank))


async def leave(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_so_many_go_in_any_span_and_no_more() -> None:
    clock = Clock()
    limiter = RateLimiter(2, 10.0, clock)
    first, second, third = claim(limiter), claim(limiter), claim(limiter)
    assert await through(limiter, first, second, third) == [True, True, False]
    clock.at = 9.9
    assert await through(limiter, third) == [False]
    clock.at = 10.0
    assert await through(limiter, third) == [True]


async def test_rank_decides_also_when_it_changes_while_it_waits() -> None:
    clock = Clock()
    limiter = RateLimiter(1, 10.0, clock)
    await limiter.wait_for_turn(lambda: FIRST)
    rank = {"card": LAST}
    card = asyncio.create_task(limiter.wait_for_turn(lambda: rank["card"]))
    other = claim(limiter, 5)
    assert await through(limiter, card, other) == [False, False]
    rank["card"] = FIRST
    clock.at = 10.0
    assert await through(limiter, card, other) == [True, False]
    await leave(other)


async def test_last_rank_leaves_what_is_reserved_to_the_others() -> None:
    reserved = 2
    limiter = RateLimiter(3, 10.0, Clock(), lambda: reserved)
    progress = [claim(limiter, LAST) for _ in range(2)]
    assert await through(limiter, *progress) == [True, False]
    verdicts = [claim(limiter), claim(limiter)]
    assert await through(limiter, *verdicts) == [True, True]
    await leave(*progress)


async def test_pause_lets_nothing_through() -> None:
    clock = Clock()
    limiter = RateLimiter(5, 10.0, clock)
    limiter.pause(30.0)
    waiting = claim(limiter)
    clock.at = 29.0
    assert await through(limiter, waiting) == [False]
    clock.at = 30.0
    assert await through(limiter, waiting) == [True]


async def test_turn_that_was_given_up_is_nobodys() -> None:
    clock = Clock()
    limiter = RateLimiter(1, 10.0, clock)
    await limiter.wait_for_turn(lambda: FIRST)
    gone, next_one = claim(limiter), claim(limiter)
    await through(limiter)
    await leave(gone)
    clock.at = 10.0
    assert await through(limiter, next_one) == [True]


async def test_wakes_by_itself_when_there_is_room_again() -> None:
    limiter = RateLimiter(1, 0.05, asyncio.get_running_loop().time)
    async with asyncio.timeout(5):
        for _ in range(4):
            await limiter.wait_for_turn(lambda: FIRST)


async def test_is_idle_once_nothing_counts_any_more() -> None:
    clock = Clock()
    limiter = RateLimiter(1, 10.0, clock)
    assert limiter.is_idle()
    await limiter.wait_for_turn(lambda: FIRST)
    assert not limiter.is_idle()
    clock.at = 10.0
    assert limiter.is_idle()


def test_what_stands_for_many_goes_before_the_cards_that_wait() -> None:
    summary, card, details = (
        PostState("a", name, MessageTarget("C1"), lambda: Message("")) for name in ("storm", CARD, "details")
    )
    summary.want(summary.say, PendingDelivery(rank=SUMMARY))
    card.want(card.say, PendingDelivery())
    details.under = CARD
    assert summary.post_rank < card.post_rank < details.post_rank
