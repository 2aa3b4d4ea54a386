"""A name leads to a connection by whichever address answers first, and nobody waits for a resolver that does not."""

import asyncio
import socket
import threading
import time
from typing import Any

import pytest

from bot.transport.tcp import connect, resolved
from tests.e2e import faulty_servers


def address(host: str, port: int) -> Any:
    return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))


async def test_slow_address_does_not_hold_up_the_next() -> None:
    with faulty_servers.full() as slow, faulty_servers.listening() as door:
        port = door.getsockname()[1]
        connection = await connect("x", 0, lambda *_, **__: [address("127.0.0.1", slow), address("127.0.0.1", port)])
        with connection:
            assert connection.getpeername() == ("127.0.0.1", port)


async def test_dead_address_gives_way_to_the_next_at_once() -> None:
    with faulty_servers.refusing() as dead, faulty_servers.listening() as door:
        port = door.getsockname()[1]
        started = time.monotonic()
        connection = await connect("x", 0, lambda *_, **__: [address("127.0.0.1", dead), address("127.0.0.1", port)])
        connection.close()
        assert time.monotonic() - started < 10


async def test_when_none_answers_each_is_told() -> None:
    with (
        faulty_servers.refusing() as one,
        faulty_servers.refusing() as two,
        pytest.raises(ConnectionRefusedError, match=f"{one}.*{two}"),
    ):
        await connect("x", 0, lambda *_, **__: [address("127.0.0.1", one), address("127.0.0.1", two)])


async def test_where_each_address_fails_in_its_own_way_the_first_says_why() -> None:
    """As IPv4 and IPv6 do where sshd is down and there is no way by IPv6."""
    with faulty_servers.refusing() as dead, pytest.raises(ConnectionRefusedError):
        await connect("x", 0, lambda *_, **__: [address("127.0.0.1", dead), address("255.255.255.255", dead)])


async def test_giving_up_leaves_nothing_open() -> None:
    with faulty_servers.full() as slow, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await connect("x", 0, lambda *_, **__: [address("127.0.0.1", slow)] * 3)
    # a socket left open would be a ResourceWarning, and warnings are errors here


async def test_nobody_waits_for_a_resolver_that_does_not_answer() -> None:
    never = threading.Event()
    threads = []

    def look_up(*_: object, **__: object) -> list[Any]:
        threads.append(threading.current_thread())
        never.wait(30)
        return []

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await resolved("a-name", 22, look_up)
    assert [thread.daemon for thread in threads] == [True]  # so that the program may end before it
    never.set()
    threads[0].join()
    await asyncio.sleep(0)  # its answer comes when nobody listens any more, and is dropped


async def test_numeric_addresses_need_no_resolver() -> None:
    def look_up(*_: object, **__: object) -> list[Any]:
        raise AssertionError("asked")

    assert [found[4][0] for found in await resolved("127.0.0.1", 22, look_up)] == ["127.0.0.1"]
    assert [found[4][0] for found in await resolved("::1", 22, look_up)] == ["::1"]
