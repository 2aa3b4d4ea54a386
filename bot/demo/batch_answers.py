"""A simulated node's side of a batch: the same lanes, looks, limits and frames as the shell's."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.demo.answer import Answer, Answering
from bot.domain.batch import STDERR_LIMIT_BYTES
from bot.domain.wire import END, Request, Way, frame

LAUNCH = re.compile(r"""exec /bin/sh -c 's=\$\(head -c (\d+)\) && eval "\$s"'\Z""")

Send = Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class BatchAnswers:
    """Answers one batch; `send` takes bytes for the connection and waits while it is full."""

    request: Request
    machine: Answering
    send: Send

    async def run(self) -> None:
        """Answer every question and say the end."""
        first, second = dict(self.request.first), dict(self.request.second)
        lanes = {name.partition("p")[0] for name in (*first, *second)}
        async with asyncio.TaskGroup() as group:
            for lane in sorted(lanes):
                group.create_task(self._lane(f"{lane}p0", first, f"{lane}p1", second))
        await self.send(END.encode())

    async def _lane(
        self, first_name: str, first: dict[str, tuple[Way, ...]], second_name: str, second: dict[str, tuple[Way, ...]]
    ) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self.request.rest_seconds
        if first_name in first:
            await self._part(first_name, first[first_name])
            if second_name in second:
                await asyncio.sleep(max(0.0, due - loop.time()))
        if second_name in second:
            await self._part(second_name, second[second_name])

    async def _part(self, name: str, ways: tuple[Way, ...]) -> None:
        answered: set[str] = set()
        for way in ways:
            if way.number not in answered and await self._way(name, way):
                answered.add(way.number)

    async def _way(self, part: str, way: Way) -> bool:
        """Run one way and frame it; False when the next way is to be tried."""
        started = self.machine.uptime()
        try:
            async with asyncio.timeout(way.limit_seconds):
                answer = await self.machine.run(way.argv)
        except TimeoutError:
            answer = Answer(status=124)
        stdout = answer.stdout
        status = str(answer.status)
        if len(stdout) > way.limit_bytes:
            stdout, status = stdout[: way.limit_bytes], "141"  # head closed the pipe: the command died of SIGPIPE
        if not way.last:
            stdout = b"".join(line + b"\n" for line in stdout.split(b"\n") if line)  # the script's `grep -a .`
            status += "" if stdout else "\nnothing"
        stderr = answer.stderr.rstrip(b"\n")[-STDERR_LIMIT_BYTES:]
        nonce, ended = self.request.nonce, self.machine.uptime()
        await self.send(frame(part, nonce, way.number, stdout, stderr, status, started, ended).encode())
        return way.last or bool(stdout)
