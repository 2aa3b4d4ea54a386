"""Processes beside this one that ask nodes too, where this machine has cores to spare.

Each is forked with all that is loaded, so hardly more has to travel than which node is asked, and what came of it.
Nodes are given out one by one, to whoever has the fewest, this process among them; so what limits how many are asked
at once holds for all together. Where a process dies, this one asks its nodes again. None outlives this process,
however that ends.

Those of `concurrent.futures` may never end where one dies: Python 3.11.7 waits for ever once a job was taken back
(cancelled) before, earlier ones where answers are just being written to it (python/cpython#94777).
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import struct
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, TypeAlias, TypeVar

from bot.app.check import without_details
from bot.domain.contracts import Listener, ProbeAnswered, Progress, ReadingStarted, VerdictReached, unheard
from bot.domain.errors import UsageError
from bot.domain.node import Node

T = TypeVar("T")
M = TypeVar("M")
Asks: TypeAlias = Callable[[Node, M, Listener], Awaitable[T]]
TOGETHER_SECONDS = 0.02  # what a process says within that time travels together
_LENGTH = struct.Struct("!I")


def run_shared(several: int, ask: Asks[M, T], main: Callable[[Asks[M, T]], Coroutine[Any, Any, None]]) -> None:
    """Run `main` in an event loop, with what asks a node either here or in one of so many processes beside.

    Shape: `ask` gets a node, what else it needs to know of it, and a listener of its progress. Call it where no thread
    runs. Where fewer processes can be started, there are fewer.
    """
    links, processes = list[socket.socket](), list[int]()
    try:
        held_back = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            with suppress(OSError):  # a limit of processes, or of memory
                for _ in range(several):
                    ours, theirs = socket.socketpair()
                    links.append(ours)
                    with theirs:
                        if (process := os.fork()) == 0:
                            _serve(ask, theirs, links)
                    processes.append(process)
        finally:  # in the others it stays held back: Ctrl-C is meant for this process, which keeps what came
            signal.pthread_sigmask(signal.SIG_SETMASK, held_back)
        asyncio.run(_run_main(links, ask, main))
    finally:
        for link in links:
            link.close()
        for process in processes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


async def _run_main(
    links: Sequence[socket.socket], ask: Asks[M, T], main: Callable[[Asks[M, T]], Coroutine[Any, Any, None]]
) -> None:
    others = [_Other(*await asyncio.open_connection(sock=link)) for link in links]
    hearing = [asyncio.create_task(other.hear()) for other in others]
    here = 0

    async def ask_least_busy(node: Node, more: M, heard: Listener) -> T:
        nonlocal here
        living = [other for other in others if not other.is_gone]
        least = min(living, key=lambda other: len(other.asked), default=None)
        if least is not None and len(least.asked) < here:
            with suppress(_Gone):
                answer: T = await least.ask(node, more, heard)
                return answer
        here += 1
        try:
            return await ask(node, more, heard)
        finally:
            here -= 1

    try:
        await main(ask_least_busy)
    finally:
        for other in others:
            other.writer.close()
        await asyncio.gather(*hearing)


class _Gone(Exception):
    """The process that was asked is gone."""


@dataclass(slots=True)
class _Other:
    """Another process, as this one sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_gone: bool = False
    asked: dict[str, tuple[asyncio.Future[Any], Listener]] = field(default_factory=dict)

    async def ask(self, node: Node, more: object, heard: Listener) -> Any:
        """Return what comes of a node. Raises: _Gone; UsageError, as it was raised there."""
        answer = asyncio.get_running_loop().create_future()
        self.asked[node.name] = answer, heard
        self.writer.write(_message((node, more, heard is not unheard)))  # a pickle for each probe, else
        try:
            return await answer
        finally:
            del self.asked[node.name]

    async def hear(self) -> None:
        """Take in what it says, until it ends, or says what cannot be read."""
        try:
            with suppress(Exception):
                while True:
                    for packed in await _next_message(self.reader):
                        name, said = pickle.loads(packed)
                        if name in self.asked:
                            _take(said, *self.asked[name])
        finally:
            self.is_gone = True
            for answer, _ in self.asked.values():
                if not answer.done():
                    answer.set_exception(_Gone())


def _take(said: Progress | UsageError | object, answer: asyncio.Future[Any], heard: Listener) -> None:
    match said:
        case ReadingStarted() | ProbeAnswered() | VerdictReached():
            heard(said)
        case UsageError() if not answer.done():
            answer.set_exception(said)
        case _ if not answer.done():
            answer.set_result(said)


# --- the other process


def _serve(ask: Asks[M, T], link: socket.socket, not_ours: Sequence[socket.socket]) -> NoReturn:
    """Answer until the process that forked this one ends, or closes its end; never returns to what that was doing."""
    try:
        for other in not_ours:
            other.close()
        asyncio.run(_answer_all(ask, link))
    finally:
        os._exit(0)  # nothing is printed twice; whatever went wrong here, what is not answered is asked there again


async def _answer_all(ask: Asks[M, T], link: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=link)
    loop, together = asyncio.get_running_loop(), list[bytes]()

    def send() -> None:
        writer.write(_message(together))
        together.clear()

    def say(node: str, what: object) -> None:
        if isinstance(what, VerdictReached):
            what = replace(what, verdict=without_details(what.verdict))
        packed = pickle.dumps((node, what), pickle.HIGHEST_PROTOCOL)  # what cannot be sent ends this process
        if not together:
            loop.call_later(TOGETHER_SECONDS, send)
        together.append(packed)

    async def answer(node: Node, more: M, is_heard: bool) -> None:
        try:
            say(node.name, await ask(node, more, partial(say, node.name) if is_heard else unheard))
        except UsageError as wrong:
            say(node.name, wrong)

    async with asyncio.TaskGroup() as group:  # at the end of what is asked, all is cancelled
        while True:
            group.create_task(answer(*await _next_message(reader)))


def _message(what: object) -> bytes:
    body = pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(body)) + body


async def _next_message(reader: asyncio.StreamReader) -> Any:
    """Return the next message. Raises: IncompleteReadError once the other end is closed."""
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    return pickle.loads(await reader.readexactly(length))  # of our own process, by a socket that nobody else has
