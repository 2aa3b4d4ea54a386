"""Time limits that are extended when this program itself stands still.

A program without CPU time reads no answers, however fast they came; when it runs again, every limit would be over. A
heartbeat of the event loop measures how long it stood still, and every limit lasts that much longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from bot.domain.contracts import Seconds
from bot.domain.errors import StoodStill

BEAT_SECONDS = 0.05
MOST_KEPT = 1_000  # standstills that some limit has not counted yet
GIVES_UP_SECONDS = 2.0  # no server's patience is shorter, whatever stands still
LATE_SECONDS = 0.01  # a later beat was delayed; timers themselves are late by a millisecond


class TimeLimit:
    """A time for a node to answer while this program listens; made by `Heartbeat.limit`.

    The longest standstill never counts: while everything is stopped (Ctrl-Z, a paused machine) nobody waits. Of the
    other standstills, as much as the limit's own length does not count. So apart from the longest standstill a limit at
    most doubles, and every run ends.
    """

    def __init__(self, heartbeat: Heartbeat, began: float, seconds: float, whole: TimeLimit | None) -> None:
        self._heartbeat = heartbeat
        self._began = began
        self._seconds = seconds
        self._whole = whole  # this limit ends with that at the latest
        self._lost = self._longest = 0.0
        self._next = heartbeat.standstill_count  # the first standstill not counted yet

    @property
    def ends_at(self) -> float:
        """When it is over, on the loop's clock, as known now."""
        self._heartbeat.look()
        own = self._own_end
        return own if self._whole is None else min(own, self._whole.ends_at)

    @property
    def seconds_left(self) -> float:
        """How many seconds are left, below zero once it is over."""
        return self.ends_at - asyncio.get_running_loop().time()

    @property
    def is_own_delay(self) -> bool:
        """Whether this program stood still so long that the node did not get its time."""
        if self._whole is not None and self._whole.ends_at < self._own_end:
            return self._whole.is_own_delay
        self.count_standstills()
        return self._lost - self._longest > self._seconds

    @property
    def stood_mostly(self) -> bool:
        """Whether this program stood still for most of the time since it began: the other side may have given up."""
        self._heartbeat.look()
        self.count_standstills()
        return self._lost > max(GIVES_UP_SECONDS, (asyncio.get_running_loop().time() - self._began) / 2)

    def count_standstills(self) -> None:
        """Count the standstills since the last call: most limits are over before anybody asks."""
        for seconds, until in self._heartbeat.standstills(self._next):
            seconds = min(seconds, until - self._began)
            self._lost += seconds
            self._longest = max(self._longest, seconds)
        self._next = self._heartbeat.standstill_count

    @contextmanager
    def part(self, seconds: float) -> Iterator[TimeLimit]:
        """A limit for a stage, which ends with the whole at the latest."""
        with self._heartbeat.limit(seconds, self) as limit:
            yield limit

    @asynccontextmanager
    async def kept(self, where: str) -> AsyncIterator[None]:
        """Run a block that ends in time; `where` names the node. Like `asyncio.timeout` it must not span a yield.

        Raises: TimeoutError when the node did not answer; StoodStill when that is not known.
        """
        loop = asyncio.get_running_loop()
        timeout = asyncio.timeout(None)
        timer: asyncio.TimerHandle

        def look() -> None:
            nonlocal timer
            ends_at = self.ends_at
            if loop.time() < ends_at:
                timer = loop.call_at(ends_at, look)
            else:
                timeout.reschedule(ends_at)

        try:
            async with timeout:
                timer = loop.call_at(self.ends_at, look)
                try:
                    yield
                finally:
                    timer.cancel()
        except TimeoutError as error:
            if timeout.expired() and self.is_own_delay:
                raise stood_still_error(where) from error
            raise

    @property
    def _own_end(self) -> float:
        self.count_standstills()
        return self._began + self._seconds + self._longest + min(self._lost - self._longest, self._seconds)


class Heartbeat:
    """Tells limits how long their event loop stood still; it beats only while a limit exists.

    Shape: `waited` returns how many seconds this thread has waited for a CPU so far.
    """

    def __init__(self, waited: Seconds | None = None, most_kept: int = MOST_KEPT) -> None:
        self._waited_so_far = waited_seconds if waited is None else waited
        self._limits: set[TimeLimit] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = 0.0  # when the next beat is due
        self._waited = 0.0  # for a CPU, until the last beat
        self._since_beat = 0.0  # how long it stood still since then
        self._standstills: list[tuple[float, float]] = []  # how long, and until when
        self._most_kept = most_kept
        self._forgotten = 0  # standstills that every limit has counted

    @property
    def standstill_count(self) -> int:
        """How many standstills there were."""
        return self._forgotten + len(self._standstills)

    def standstills(self, since: int) -> Sequence[tuple[float, float]]:
        """Return the length and end of each standstill, from that number on."""
        return self._standstills[max(0, since - self._forgotten) :]

    @contextmanager
    def limit(self, seconds: float, whole: TimeLimit | None = None) -> Iterator[TimeLimit]:
        """A limit of that many seconds from now, for the length of a block."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop, self._limits = loop, set()
            self._beat_again(loop)
        self.look()  # earlier standstills do not count for this limit
        limit = TimeLimit(self, loop.time(), seconds, whole)
        self._limits.add(limit)
        try:
            yield limit
        finally:
            self._limits.discard(limit)

    def look(self) -> None:
        """Check whether the loop is late now."""
        now = asyncio.get_running_loop().time()
        if (late := now - self._due) > LATE_SECONDS:
            self._due = now
            self._note_standstill(late, now)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._limits:
            self._loop = None
            return
        self.look()
        # If the loop gets a CPU for many short moments, its beats are hardly late.
        if (more := self._waited_so_far() - self._waited - self._since_beat) > LATE_SECONDS:
            self._note_standstill(more, loop.time())
        self._beat_again(loop)

    def _beat_again(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waited, self._since_beat = self._waited_so_far(), 0.0
        self._due = loop.time() + BEAT_SECONDS
        loop.call_at(self._due, self._beat, loop)

    def _note_standstill(self, seconds: float, until: float) -> None:
        self._since_beat += seconds
        self._standstills.append((seconds, until))
        if len(self._standstills) > self._most_kept:
            for limit in self._limits:
                limit.count_standstills()
            self._forgotten, self._standstills = self.standstill_count, []


def waited_seconds() -> float:
    """Return how long this thread has been ready to run without a CPU; 0 if the kernel does not count it.

    Source: /proc/thread-self/schedstat, second field, in nanoseconds; Linux 3.17, and CONFIG_SCHED_INFO.
    """
    try:
        return int(Path("/proc/thread-self/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def stood_still_error(where: str) -> StoodStill:
    """Return the error for a node that may have answered while this program stood still."""
    return StoodStill(
        f"This program did not get the processor while it read {where}.",
        "Check again when this machine has less to do, or fewer nodes at once: --parallel.",
    )
