"""TCP connections to a name or address, with a time limit that holds for the resolver too.

Addresses are tried as RFC 8305 ("Happy Eyeballs") says: the next attempt starts when the last has failed or is slow.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

HEAD_START_SECONDS = 0.25

Address: TypeAlias = Any  # an entry of socket.getaddrinfo
LookUp: TypeAlias = Callable[..., list[Address]]


async def connect(host: str, port: int, look_up: LookUp = socket.getaddrinfo) -> socket.socket:
    """Return a connected socket. Cancelling leaves nothing open.

    Raises: socket.gaierror when the name does not resolve; OSError of the first address when none answers.
    """
    waiting = await resolved(host, port, look_up)
    attempts: list[asyncio.Task[socket.socket]] = []
    try:
        while True:
            if winner := next((attempt for attempt in attempts if attempt.done() and not attempt.exception()), None):
                attempts.remove(winner)
                return winner.result()
            running = [attempt for attempt in attempts if not attempt.done()]
            if waiting:
                attempts.append(asyncio.create_task(_attempt(waiting.pop(0))))
                running.append(attempts[-1])
            elif not running:
                return attempts[0].result()  # raises the first address's error
            patience = HEAD_START_SECONDS if waiting else None
            await asyncio.wait(running, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for attempt in attempts:
            attempt.cancel()
            attempt.add_done_callback(_close)


async def resolved(host: str, port: int, look_up: LookUp = socket.getaddrinfo) -> list[Address]:
    """Ask the system's resolver, in a daemon thread because it cannot be cancelled.

    Raises: socket.gaierror when the name does not resolve.
    """
    with contextlib.suppress(socket.gaierror, UnicodeError):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[Address]] = loop.create_future()

    def report(addresses: list[Address], error: OSError | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(addresses)
        else:
            answer.set_exception(error)

    def ask() -> None:
        addresses: list[Address] = []
        error: OSError | None = None
        try:
            addresses = look_up(host, port, type=socket.SOCK_STREAM)
        except OSError as no:
            error = no
        except UnicodeError as no:  # a label that is empty or over 63 bytes cannot be a name
            error = socket.gaierror(socket.EAI_NONAME, str(no))
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(report, addresses, error)

    threading.Thread(target=ask, name=f"resolve {host}", daemon=True).start()
    return await answer


async def _attempt(address: Address) -> socket.socket:
    family, kind, protocol, _, where = address
    door = socket.socket(family, kind, protocol)
    try:
        door.setblocking(False)
        await asyncio.get_running_loop().sock_connect(door, where)
    except BaseException:
        door.close()
        raise
    return door


def _close(attempt: asyncio.Task[socket.socket]) -> None:
    """Close the socket of an attempt that lost."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
