"""TCP connections to a name or address, with a time limit that holds for the resolver too.

Addresses are tried as RFC 8305 ("Happy Eyeballs") says: the next attempt starts when the last has failed or is slow.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias

from aiohappyeyeballs import start_connection

HEAD_START_SECONDS = 0.25

Address: TypeAlias = Any  # an entry of socket.getaddrinfo
LookUp: TypeAlias = Callable[..., list[Address]]


async def connect(host: str, port: int, look_up: LookUp = socket.getaddrinfo) -> socket.socket:
    """Return a connected socket. Cancelling leaves nothing open.

    Raises: socket.gaierror when the name does not resolve; OSError when no address answers.
    """
    addresses = await resolved(host, port, look_up)
    try:
        return await start_connection(addresses, happy_eyeballs_delay=HEAD_START_SECONDS)
    except OSError as no:
        if no.errno is not None:
            raise
    return await start_connection(addresses[:1])  # each address failed in another way: the first says why


async def resolved(host: str, port: int, look_up: LookUp = socket.getaddrinfo) -> list[Address]:
    """Ask the system's resolver, in a daemon thread because it cannot be cancelled.

    Raises: socket.gaierror when the name does not resolve.
    """
    with contextlib.suppress(socket.gaierror, UnicodeError):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    answer = Future[list[Address]]()
    answer.set_running_or_notify_cancel()  # whoever no longer waits does not cancel it

    def ask() -> None:
        try:
            answer.set_result(look_up(host, port, type=socket.SOCK_STREAM))
        except OSError as no:
            answer.set_exception(no)
        except UnicodeError as no:  # a label that is empty or over 63 bytes cannot be a name
            answer.set_exception(socket.gaierror(socket.EAI_NONAME, str(no)))

    threading.Thread(target=ask, name=f"resolve {host}", daemon=True).start()
    return await asyncio.wrap_future(answer)
