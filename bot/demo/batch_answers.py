"""How a simulated node answers a batch: with the same lanes, limits and frames as a shell."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bot.demo.machine.command import Answer, CommandRunner
from bot.demo.wire import Request, Way, end, frame, sign
from bot.domain.batch_lanes import SIGN_SECONDS
from bot.domain.batch_shell import STDERR_LIMIT_BYTES

LAUNCH = re.compile(r"""exec /bin/sh -c 's=\$\(head -c (\d+)\) && eval "\$s"'\Z""")

Send = Callable[[bytes], Awaitable[None]]


@dataclass(slots=True)
class BatchAnswers:
    """Answers a batch. `send` writes bytes to the connection and waits while it is full."""

    request: Request
    machine: CommandRunner
    send: Send
    _looks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _ways: dict[str, tuple[Way, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._ways = dict((*self.request.first, *self.request.second))

    async def run(self) -> None:
        """Answer every question, then send the end mark; when the batch's lifetime is over, end without it."""
        request = self.request
        lanes = dict.fromkeys(name.partition("p")[0] for name in self._ways)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(request.lifetime_seconds), asyncio.TaskGroup() as group:
                self._looks = {
                    f"{lane}p0": group.create_task(self._answer_lane(f"{lane}p0"))
                    for lane in lanes
                    if lane not in request.in_turn
                }
                group.create_task(self._send_signs_of_life())
                await self._run_lanes_in_turn(group, [f"{lane}p0" for lane in request.in_turn if lane in lanes])
            await self.send(end(request.nonce).encode())

    async def _send_signs_of_life(self) -> None:
        """Say now and then, until second looks are due, that the node is at work."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self.request.rest_seconds
        while True:
            await self.send(sign(self.request.nonce).encode())
            if loop.time() + SIGN_SECONDS > until:
                return
            await asyncio.sleep(SIGN_SECONDS)

    async def _run_lanes_in_turn(self, group: asyncio.TaskGroup, first: Sequence[str]) -> None:
        """Begin the lanes that take turns, then each second look once it is due and its lane's first has ended."""
        loop, request = asyncio.get_running_loop(), self.request
        due = loop.time() + request.rest_seconds
        order = {f"{lane}p1": place for place, lane in enumerate(request.in_turn)}
        for name in first:
            await self._run_lane_briefly(group, name)
        await asyncio.sleep(max(0.0, due - loop.time()))
        for name in sorted((name for name, _ in request.second), key=lambda name: order.get(name, -1)):
            await asyncio.wait([self._looks[f"{name[:-1]}0"]])
            await self._run_lane_briefly(group, name)

    async def _run_lane_briefly(self, group: asyncio.TaskGroup, name: str) -> None:
        """Begin a look, and wait for it; one that hangs is waited for only briefly."""
        self._looks[name] = group.create_task(self._answer_lane(name))
        await asyncio.wait([self._looks[name]], timeout=self.request.turn_seconds)

    async def _answer_lane(self, name: str) -> None:
        """Answer the questions of a lane's look and send the answers together, as the script does."""
        ways = self._ways.get(name, ())
        frames = ""
        answered: set[str] = set()
        for way in ways:
            if way.number not in answered:
                framed, printed = await self._run_way(name, way)
                frames += framed
                if printed or way.last:
                    answered.add(way.number)
        await self.send(frames.encode())

    async def _run_way(self, part: str, way: Way) -> tuple[str, bool]:
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
