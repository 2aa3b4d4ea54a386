"""Slack's limits from our side: so many in a span, the important first, progress from what is left over."""

from __future__ import annotations

import asyncio

from bot.surfaces.slack.pace import FIRST, LAST, Pace


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


async def through(pace: Pace, *tasks: asyncio.Task[None]) -> list[bool]:
    """Let everybody through who may go, and say who has."""
    pace.look()
    for _ in range(3):
        await asyncio.sleep(0)
    return [task.done() for task in tasks]


def claim(pace: Pace, rank: int = FIRST) -> asyncio.Task[None]:
    return asyncio.create_task(pace.turn(lambda: rank))


async def leave(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_so_many_go_in_any_span_and_no_more() -> None:
    clock = Clock()
    pace = Pace(2, 10.0, clock)
    first, second, third = claim(pace), claim(pace), claim(pace)
    assert await through(pace, first, second, third) == [True, True, False]
    clock.at = 9.9
    assert await through(pace, third) == [False]
    clock.at = 10.0
    assert await through(pace, third) == [True]


async def test_rank_decides_also_when_it_changes_while_it_waits() -> None:
    clock = Clock()
    pace = Pace(1, 10.0, clock)
    await pace.turn(lambda: FIRST)
    rank = {"card": LAST}
    card = asyncio.create_task(pace.turn(lambda: rank["card"]))
    other = claim(pace, 5)
    assert await through(pace, card, other) == [False, False]
    rank["card"] = FIRST
    clock.at = 10.0
    assert await through(pace, card, other) == [True, False]
    await leave(other)


async def test_last_leaves_what_is_kept_back_to_the_others() -> None:
    kept_back = 2
    pace = Pace(3, 10.0, Clock(), lambda: kept_back)
    progress = [claim(pace, LAST) for _ in range(2)]
    assert await through(pace, *progress) == [True, False]
    verdicts = [claim(pace), claim(pace)]
    assert await through(pace, *verdicts) == [True, True]
    await leave(*progress)


async def test_pause_lets_nothing_through() -> None:
    clock = Clock()
    pace = Pace(5, 10.0, clock)
    pace.pause(30.0)
    waiting = claim(pace)
    clock.at = 29.0
    assert await through(pace, waiting) == [False]
    clock.at = 30.0
    assert await through(pace, waiting) == [True]


async def test_turn_that_was_given_up_is_nobodys() -> None:
    clock = Clock()
    pace = Pace(1, 10.0, clock)
    await pace.turn(lambda: FIRST)
    gone, next_one = claim(pace), claim(pace)
    await through(pace)
    await leave(gone)
    clock.at = 10.0
    assert await through(pace, next_one) == [True]


async def test_wakes_by_itself_when_there_is_room_again() -> None:
    pace = Pace(1, 0.05, asyncio.get_running_loop().time)
    async with asyncio.timeout(5):
        for _ in range(4):
            await pace.turn(lambda: FIRST)


async def test_is_idle_once_nothing_counts_any_more() -> None:
    clock = Clock()
    pace = Pace(1, 10.0, clock)
    assert pace.is_idle()
    await pace.turn(lambda: FIRST)
    assert not pace.is_idle()
    clock.at = 10.0
    assert pace.is_idle()
