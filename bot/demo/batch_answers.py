"""How a simulated node answers a batch: with the same lanes, limits and frames as a shell."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from bot.demo.machine.command import Answer, CommandRunner
from bot.domain.batch_shell import STDERR_LIMIT_BYTES
from bot.domain.wire import Request, Way, end, frame, read_script

LAUNCH = re.compile(r"""exec /bin/sh -c 's=\$\(head -c (\d+)\) && eval "\$s"'\Z""")

Send = Callable[[bytes], Awaitable[None]]

_NONCE = re.compile(r"^N=([0-9a-f]+)$", re.MULTILINE)
_LIFETIME = re.compile(r"^  timeout [0-9.]+ head -c 1 <&9 & h=", re.MULTILINE)  # it is no part of a request


def read_request(script: str) -> Request:
    """Parse a batch's script. Parsing is slow, so scripts that differ only in nonce and lifetime are parsed once.

    Raises: ValueError when it is not a batch.
    """
    nonce = _NONCE.search(script)
    if nonce is None:
        raise ValueError("not a batch")
    alike = _LIFETIME.sub("  timeout 0 head -c 1 <&9 & h=", _NONCE.sub("N=0", script, count=1), count=1)
    return replace(_read(alike), nonce=nonce.group(1))


@functools.lru_cache(maxsize=64)
def _read(script: str) -> Request:
    return read_script(script)


@dataclass(slots=True)
class BatchAnswers:
    """Answers a batch. `send` writes bytes to the connection and waits while it is full."""

    request: Request
    machine: CommandRunner
    send: Send

    async def run(self) -> None:
        """Answer every question, then send the end mark."""
        first, second = dict(self.request.first), dict(self.request.second)
        lanes = {name.partition("p")[0] for name in (*first, *second)}
        async with asyncio.TaskGroup() as group:
            for lane in sorted(lanes):
                group.create_task(self._lane(f"{lane}p0", first, f"{lane}p1", second))
        await self.send(end(self.request.nonce).encode())

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
        """Answer the questions of a lane and send the answers together, as the script does."""
        frames = ""
        answered: set[str] = set()
        for way in ways:
            if way.number not in answered:
                framed, printed = await self._way(name, way)
                frames += framed
                if printed or way.last:
                    answered.add(way.number)
        await self.send(frames.encode())

    async def _way(self, part: str, way: Way) -> tuple[str, bool]:
        """Run a command; return its frame, and whether it printed anything."""
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
            if stdout and not stdout.endswith(b"\n"):
                stdout += b"\n"  # grep ends every line
            status += "" if stdout else "\nnothing"
        stderr = answer.stderr.rstrip(b"\n")[-STDERR_LIMIT_BYTES:]
        nonce, ended = self.request.nonce, self.machine.uptime()
        return frame(part, nonce, way.number, stdout, stderr, status, started, ended), bool(stdout)
