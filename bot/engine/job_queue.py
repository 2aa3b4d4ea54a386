"""What the engine has to do: messages of what happened here, and named jobs, some at a time, again after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from bot.domain.contracts import Log, Seconds
from bot.domain.safe_text import one_line

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds

Do: TypeAlias = Callable[[str], Awaitable[float | None]]


@dataclass(frozen=True, slots=True)
class Decided:
    """Something was decided about an incident here: this runner takes it over at once."""

    incident: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A group changed here: it is shown, unless another live runner owns it."""

    group: str


class NoticeBoard:
    """Stores messages until the engine takes them; made before both sides. Implements `contracts.Notices`."""

    def __init__(self) -> None:
        self._told: asyncio.Queue[Decided | Changed] = asyncio.Queue()
        self._waits: dict[str, str] = {}

    def decided(self, incident_id: str) -> None:
        """Report that something was decided about an incident here."""
        self._told.put_nowait(Decided(incident_id))

    def changed(self, group: str) -> None:
        """Report that a group changed here."""
        self._told.put_nowait(Changed(group))

    def waits_for(self, incident_id: str) -> str:
        """Return what an incident waits for, as its last advance said; empty if it does not wait, or if unknown."""
        return self._waits.get(incident_id, "")

    async def next(self) -> Decided | Changed:
        """Wait for the next message."""
        return await self._told.get()

    def waits(self, incident_id: str, because: str) -> bool:
        """Note what an incident waits for; True if that is new."""
        is_new = because != self.waits_for(incident_id)
        if because:
            self._waits[incident_id] = because
        else:
            self._waits.pop(incident_id, None)
        return is_new


@dataclass(slots=True, eq=False)
class JobQueue:
    """Named jobs: each at its time, never twice at once, a limited number at a time.

    Shape: `do` returns after how many seconds to do the job again, None for never. A job that fails is logged as
    `failed` and tried again, less and less often; `named` is the log field for its name.
    """

    do: Do
    at_once: int
    clock: Seconds
    log: Log
    failed: str
    named: str = "group"
    _due: dict[str, float] = field(default_factory=dict)
    _failures: dict[str, int] = field(default_factory=dict)
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _closed: bool = False

    @property
    def running(self) -> frozenset[str]:
        """The running jobs."""
        return frozenset(self._running)

    def is_scheduled(self, name: str) -> bool:
        """True while the job runs or waits."""
        return name in self._due or name in self._running

    def schedule(self, name: str, after: float = 0.0) -> None:
        """Schedule the job; if it runs, again after its end."""
        self._due[name] = min(self._due.get(name, float("inf")), self.clock() + after)

    def drop(self, name: str) -> None:
        """Do not run the job again; a running job finishes."""
        self._due.pop(name, None)
        self._failures.pop(name, None)

    def begin(self) -> None:
        """Begin due jobs, as far as there is room."""
        if self._closed:
            return
        now = self.clock()
        for name in [name for name, at in self._due.items() if at <= now and name not in self._running]:
            if len(self._running) >= self.at_once:
                return
            del self._due[name]
            self._running[name] = asyncio.create_task(self._run(name), name=f"engine {name}")

    async def finish(self, seconds: float) -> None:
        """Begin nothing more, wait for running jobs, at most so many seconds, and cancel the rest."""
        self._closed = True
        tasks = set(self._running.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _run(self, name: str) -> None:
        again: float | None = None
        try:
            again = await self.do(name)
            self._failures.pop(name, None)
        except Exception as error:  # noqa: BLE001 - the serving loop: a failed job must not end the others
            failures = self._failures[name] = self._failures.get(name, 0) + 1
            again = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures - 1, 16))
            sentence = one_line(str(error) or repr(error), 300)
            fields = {self.named: name, "error": sentence, "kind": type(error).__name__, "again_in_seconds": again}
            self.log(self.failed, **fields)
        finally:
            del self._running[name]
            if again is not None:
                self.schedule(name, again)
            self.begin()  # there is room for another
