"""A program that serves, as tests see it: a process, and what it logs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any, Self, TypeAlias

from tests.program import Running

Process: TypeAlias = Running | asyncio.subprocess.Process


class Served:
    """A program that serves; `lines` is what it logged, which is also printed as it comes where it is `aloud`."""

    def __init__(self, process: Process, *, aloud: bool = False) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self._aloud = aloud
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            try:
                self.lines.append(json.loads(line))
            except ValueError:  # a traceback, which whoever reads a failure wants to see
                self.lines.append({"event": "said", "says": line.decode()})
            if self._aloud:
                print(line.decode().rstrip(), flush=True)

    def logged(self, event: str) -> dict[str, Any]:
        """Return the first line of an event; empty where there is none."""
        return next((line for line in self.lines if line["event"] == event), {})

    @property
    def address(self) -> str:
        """Where its web edge listens."""
        return str(self.logged("listening")["address"])

    async def ready(self, event: str = "ready") -> Self:
        """Wait until it takes work, or has logged another event."""
        async with asyncio.timeout(120):
            while not self.logged(event):
                if self.process.returncode is not None:
                    await self._reading
                    assert self.logged(event), self.lines
                await asyncio.sleep(0.02)
        return self

    async def end(self, within: float = 30.0) -> int:
        """Ask it to stop, and return its exit status; until then it has to have logged JSON alone."""
        if self.process.returncode is None:
            self.process.terminate()
        status = await asyncio.wait_for(self.process.wait(), within)
        await self._reading
        assert not self.logged("said"), self.lines
        return status

    async def kill(self) -> None:
        """End it for good, also while it is stopped."""
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        await self._reading


@asynccontextmanager
async def served(starting: Awaitable[Process], ready: str = "ready", *, aloud: bool = False) -> AsyncIterator[Served]:
    """A program that is started, from when it is ready; it has to end well, when the block ends at the latest."""
    program = Served(await starting, aloud=aloud)
    try:
        yield await program.ready(ready)
        assert await program.end() == 0, program.lines
    finally:
        await program.kill()
