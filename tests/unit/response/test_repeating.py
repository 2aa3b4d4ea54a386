"""Work that is repeated goes on after whatever a turn raises, and says so once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bot.domain.errors import LedgerUnavailable
from bot.response.repeating import repeat

AWAY = LedgerUnavailable("The ledger is away.")


async def events_of(turns: list[Exception | None], wake: asyncio.Event | None = None, seconds: float = 0) -> list[str]:
    """What is logged while these turns are taken, each of which raises what stands there."""
    logged: list[str] = []
    done = asyncio.Event()

    async def turn() -> None:
        await asyncio.sleep(0)
        if not turns:
            done.set()
            return
        if wake is not None:
            wake.set()
        if (error := turns.pop(0)) is not None:
            raise error

    def log(event: str, **fields: object) -> None:
        logged.append(f"{event} {fields['kind']} {fields['error']}")

    await until(done.wait, repeat(turn, seconds, log, "tides_failed", wake))
    return logged


async def until(there: Callable[[], Awaitable[object]], work: Awaitable[None]) -> None:
    running = asyncio.ensure_future(work)
    async with asyncio.timeout(5):
        await there()
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_whatever_a_turn_raises_the_next_one_is_taken() -> None:
    assert await events_of([AWAY, KeyError("x"), TimeoutError(), None]) == [
        "ledger_unavailable LedgerUnavailable The ledger is away.",
        "tides_failed KeyError 'x'",
        "tides_failed TimeoutError TimeoutError()",
    ]


async def test_trouble_is_logged_once_until_it_is_over_or_another() -> None:
    assert len(await events_of([AWAY, AWAY, None, AWAY, ValueError("x"), ValueError("x"), AWAY])) == 4


async def test_it_is_done_again_at_once_when_it_was_woken_meanwhile() -> None:
    assert await events_of([None, AWAY, None], asyncio.Event(), seconds=3600) == [
        "ledger_unavailable LedgerUnavailable The ledger is away."
    ]
