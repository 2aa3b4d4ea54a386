"""A world in one process in which everything that can go wrong does, by a seed: no thread, no socket, no real time.

Coroutines are driven by hand. Each stops at every boundary (around a ledger's verb, around a node's command, in each
sleep), and there the schedule decides: go on with another, kill it as SIGKILL would, freeze it, step the clock.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.ledger import Database
from bot.ledger.pruning import Pruner

BEGAN_AT = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
APART = 1_000_000  # between the first seeds of two parts
BETWEEN = timedelta(days=31)  # worlds that share a record; what is older than most of it may be pruned
JUMPS = 0.005  # of the turns in which the database's clock jumps, where it does
# Minutes by which it is wrong then: often it is put right.
JUMP = (0, 0, 0, -20, -6, -2, 2, 6, 20)


class Pause:
    """Where a coroutine stands still until the schedule lets it go on, not before `until`."""

    def __init__(self, until: datetime | None = None) -> None:
        self.until = until

    def __await__(self) -> Generator[Pause, None, None]:
        yield self


class Killed(BaseException):
    """As SIGKILL: nothing of a coroutine runs on, for nothing in it expects this."""


@dataclass
class Task:
    """One coroutine of the world; `make` begins it anew after a death."""

    name: str
    make: Callable[[], Coroutine[Any, Any, None]]
    running: Coroutine[Any, Any, None]
    wakes_at: datetime
    deaths: int = 0


class World:
    """Time, chance and the coroutines that live in it."""

    def __init__(self, seed: int, deadly: float = 0.02) -> None:
        self.random = random.Random(seed)
        self.now = self.began_at = BEGAN_AT
        self.skew = timedelta(0)  # of the bot's clock
        self.put = timedelta(0)  # by how much the database's clock is wrong
        self.jumps: random.Random | None = None  # draws how that jumps; None: it is right
        self.deadly = deadly
        self.tasks: list[Task] = []
        self.due: list[tuple[datetime, Callable[[], None]]] = []
        self.turns = 0

    def clock(self) -> datetime:
        return self.now + self.skew

    def record(self) -> datetime:
        """Return the time by the database's clock."""
        return self.now + self.put

    def follow(self, number: int) -> None:
        """Begin so many times `BETWEEN` later, so that what earlier worlds left in the record is old."""
        self.now = self.began_at = BEGAN_AT + number * BETWEEN

    def prune_at_times(self, database: Database, times: random.Random) -> None:
        """Let somebody remove, some times, what is as old as worlds before this one."""

        async def prune() -> None:
            pruner = Pruner(database, "terminal:ann", self.record)
            for _ in range(3):
                await self.sleep(times.choice((0, 1, 2, 5, 20, 40)))
                await self.boundary()
                pruner.prune_incidents(BETWEEN - timedelta(hours=1))

        self.start("a timer prunes", prune)

    async def sleep(self, seconds: float) -> None:
        await Pause(self.now + timedelta(seconds=seconds))

    async def boundary(self) -> None:
        await Pause()

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def start(self, name: str, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.tasks.append(Task(name, make, make(), self.now))

    def run(self, most: int = 20_000) -> None:
        """Drive everything to its end."""
        while self.tasks:
            self.turns += 1
            assert self.turns < most, "it never ends: " + ", ".join(task.name for task in self.tasks)
            ready = [task for task in self.tasks if task.wakes_at <= self.now]
            if not ready:
                self._to(min(task.wakes_at for task in self.tasks))
                continue
            self._turn(self.random.choice(ready))
            self.now += timedelta(milliseconds=self.random.choice((1, 3, 20)))
        for _, happen in self.due:
            happen()

    def _turn(self, task: Task) -> None:
        if self.jumps is not None and self.jumps.random() < JUMPS:
            self.put = timedelta(minutes=self.jumps.choice(JUMP))
        if self.chance(self.deadly):
            fate = self.random.choice(("kill", "freeze", "clock"))
            if fate == "kill" and task.deaths < 4:
                with contextlib.suppress(Killed):
                    task.running.throw(Killed())
                task.deaths += 1
                task.running, task.wakes_at = task.make(), self.now + timedelta(seconds=self.random.choice((0, 3, 30)))
                return
            if fate == "freeze":
                task.wakes_at = self.now + timedelta(seconds=self.random.choice((1, 20, 60)))
                return
            self.skew = timedelta(seconds=self.random.choice((-7200, -60, 0, 0, 60, 100)))
        try:
            paused = task.running.send(None)
        except StopIteration:
            self.tasks.remove(task)
            return
        task.wakes_at = paused.until or self.now

    def _to(self, moment: datetime) -> None:
        for at, happen in sorted(self.due, key=lambda one: one[0]):
            if at <= moment:
                self.now = max(self.now, at)
                happen()
        self.due = [one for one in self.due if one[0] > moment]
        self.now = max(self.now, moment)
