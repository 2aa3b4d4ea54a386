"""What runs while the bot serves goes on after an error that nobody foresaw, and the log has it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from bot.app.upkeep import Upkeep
from bot.app.while_serving import WhileServing


class Work:
    """Raises at its first turn."""

    def __init__(self) -> None:
        self.taken = 0
        self.again = asyncio.Event()
        self.logged: list[str] = []

    async def turn(self, *_: object) -> int:
        self.taken += 1
        if self.taken == 1:
            raise KeyError("nobody foresaw this")
        self.again.set()
        return 0

    def log(self, event: str, **_: object) -> None:
        self.logged.append(event)


async def test_upkeep_goes_on() -> None:
    work = Work()
    there: Any = SimpleNamespace(
        resume_unfinished=work.turn, resume_storms=work.turn, remind=work.turn, sweep=work.turn, mine=()
    )
    running = asyncio.create_task(Upkeep(there, there, there, there, work.log, 0).run())
    await asyncio.wait_for(work.again.wait(), 5)
    running.cancel()
    assert work.logged == ["upkeep_failed"]


async def test_work_of_an_extra_goes_on_until_it_is_stopped() -> None:
    work = Work()

    class Tides(WhileServing):
        named, every, failed = "tides", 0.0, "tides_failed"
        log = staticmethod(work.log)

        async def turn(self) -> None:
            await work.turn()

    tides = Tides()
    await tides.start()
    await asyncio.wait_for(work.again.wait(), 5)
    await tides.stop()
    taken = work.taken
    await asyncio.sleep(0.01)
    assert (work.logged, work.taken) == (["tides_failed"], taken)
