"""The web edge on real sockets: who sends slowly, nothing, or half of it takes nothing from whoever is genuine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from bot.surfaces.hooks import MOST_AT_ONCE
from bot.surfaces.web import MOST_PEERS, SAID_EVERY_SECONDS, RefusedRequests
from bot.surfaces.web_limits import HEADER_SECONDS, Bodies, ConnectionLimits
from tests.alerts.bodies import page_event, raw
from tests.alerts.source_edge import PAGERDUTY, Edge, edge
from tests.slack.replicas import until

LONG_BODY = b"POST /pagerduty HTTP/1.1\r\nHost: bot\r\nContent-Length: 5000\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: bot\r\n\r\n"
SHORT = 0.2
A_WHILE = 20.0  # seconds that a test waits for what takes a fraction of one


@dataclass
class Line:
    """One TCP connection to the edge."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def say(self, words: bytes) -> None:
        self.writer.write(words)

    def trickle(self, byte: bytes) -> None:
        """Say it again and again, until the connection is gone."""
        if not self.writer.transport.is_closing():
            self.say(byte)
            asyncio.get_running_loop().call_later(SHORT / 10, self.trickle, byte)

    async def answer(self) -> bytes:
        """The answer's status line; empty where there is none and the edge hung up."""
        try:
            async with asyncio.timeout(A_WHILE):
                return (await self.reader.readline()).strip()
        except ConnectionError:
            return b""

    async def is_hung_up(self) -> bool:
        """True once the edge hung up, whatever it said before."""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(A_WHILE):
                await self.reader.read()
        return True

    def break_off(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def lines(at: Edge, count: int) -> AsyncIterator[list[Line]]:
    """So many connections, each saying nothing yet."""
    address = urlsplit(at.address)
    found = [Line(*await asyncio.open_connection(address.hostname, address.port)) for _ in range(count)]
    try:
        yield found
    finally:
        for line in found:
            line.break_off()


async def until_counted(at: Edge, outcome: str, times: int = 1) -> None:
    await until(lambda: at.counted.count(("pagerduty", outcome)) >= times, f"{times} × {outcome}")


async def test_slow_bodies_of_anybody_take_no_place_from_a_genuine_delivery() -> None:
    async with edge(PAGERDUTY.source) as at, lines(at, MOST_AT_ONCE + 20) as slow:
        for line in slow:
            line.say(LONG_BODY + b"{")
        await until_counted(at, "slow")  # all room is taken, and the first has to go already
        body = raw(page_event("E9", pad="x" * 100_000))
        assert await at.post(PAGERDUTY, body) == 202, "from the same address, as it is behind a proxy"
        assert [delivery.id for delivery in at.inbox.found.values()] == ["E9"]


async def test_whoever_sends_for_longest_goes_first_and_one_peer_leaves_room_for_others() -> None:
    async with (
        edge(PAGERDUTY.source, bodies=Bodies(most=10, most_of_a_peer=2)) as at,
        lines(at, 3) as (one, two, three),
    ):
        for line in (one, two):
            line.say(LONG_BODY)
            line.say(b"{")
        await at.post(PAGERDUTY, PAGERDUTY.body)  # so that the two were seen before the third
        three.say(LONG_BODY)
        assert await one.answer() == b"HTTP/1.1 503 Service Unavailable"
        assert at.counted.count(("pagerduty", "slow")) == 1


async def test_bodies_that_trickle_end_in_time_however_often_a_byte_comes() -> None:
    async with edge(PAGERDUTY.source, bodies=Bodies(seconds=SHORT)) as at, lines(at, 1) as (line,):
        line.say(LONG_BODY)

        line.trickle(b" ")
        assert await line.answer() == b"HTTP/1.1 503 Service Unavailable"
        assert at.counted == [("pagerduty", "slow")]


@pytest.mark.parametrize(
    "said",
    [b"", b"POST /pager", b"POST /pagerduty HTTP/1.1\r\nHost: bot\r\nX-Slow: "],
    ids=["nothing", "half a line", "half the headers"],
)
async def test_headers_that_do_not_come_end_the_connection(said: bytes) -> None:
    async with (
        edge(PAGERDUTY.source, connections=ConnectionLimits(header_seconds=SHORT)) as at,
        lines(at, 1) as (line,),
    ):
        line.say(said)
        assert await line.is_hung_up()
        assert at.counted == []


async def test_headers_that_trickle_end_the_connection_also_after_an_answer() -> None:
    limits = ConnectionLimits(header_seconds=SHORT, idle_seconds=A_WHILE * 2)
    async with edge(PAGERDUTY.source, connections=limits) as at, lines(at, 1) as (line,):
        line.say(HEALTH)
        assert await line.answer() == b"HTTP/1.1 200 OK"
        line.say(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        line.trickle(b"x")
        assert await line.is_hung_up()


async def test_connection_that_is_done_with_ends_later_than_one_that_begins_nothing() -> None:
    limits = ConnectionLimits(header_seconds=SHORT / 4, idle_seconds=SHORT * 4)
    async with edge(PAGERDUTY.source, connections=limits) as at, lines(at, 1) as (line,):
        line.say(HEALTH)
        assert await line.answer() == b"HTTP/1.1 200 OK"
        began = time.monotonic()
        assert await line.is_hung_up()
        assert time.monotonic() - began > SHORT * 2


async def test_half_open_connections_are_gone_within_thirty_seconds_unless_told_otherwise() -> None:
    assert ConnectionLimits().header_seconds == HEADER_SECONDS < 30
    assert ConnectionLimits().idle_seconds > 60, "what a load balancer keeps, we keep for longer"


async def test_connections_beyond_all_room_cost_the_one_that_is_quiet_longest() -> None:
    async with edge(PAGERDUTY.source, connections=ConnectionLimits(most=3)) as at, lines(at, 3) as (first, *others):
        assert await at.post(PAGERDUTY, PAGERDUTY.body) == 202
        assert await first.is_hung_up()
        for line in others:
            line.say(HEALTH)
            assert await line.answer() == b"HTTP/1.1 200 OK"


async def test_connections_beyond_those_that_are_being_answered_are_refused() -> None:
    async with edge(PAGERDUTY.source, connections=ConnectionLimits(most=2)) as at:
        at.inbox.open.clear()
        held = [asyncio.create_task(at.post(PAGERDUTY, raw(page_event(f"E{n}")))) for n in range(2)]
        await at.inbox.full.wait()
        async with lines(at, 1) as (line,):
            line.say(HEALTH)
            assert await line.answer() == b""
        at.inbox.open.set()
        assert await asyncio.gather(*held) == [202, 202]


@pytest.mark.parametrize(
    ("said", "then", "counted"),
    [
        (LONG_BODY + b"{", Line.break_off, ["aborted"]),
        (LONG_BODY + b"{", lambda line: line.writer.write_eof(), ["aborted"]),
        (b"POST /pagerduty HTTP/1.1\r\nHost: bot\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", None, None),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", None, None),
        (b"GET / HTTP/1.1\r\nHost: bot\r\nX-Long: " + b"x" * 20_000 + b"\r\n\r\n", None, None),
        (b"POST /pagerduty HTTP/1.1\r\nHost: bot\r\nContent-Length: -1\r\n\r\n", None, None),
    ],
    ids=["reset", "closed", "chunks that are none", "TLS", "long header", "negative length"],
)
async def test_what_a_client_breaks_off_or_garbles_is_no_error_of_ours(
    said: bytes, then: Callable[[Line], None] | None, counted: list[str] | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with edge(PAGERDUTY.source) as at, lines(at, 1) as (line,):
        line.say(said)
        await line.writer.drain()
        if then is None:
            assert (await line.answer()).endswith(b"400 Bad Request")
        else:
            await at.post(PAGERDUTY, PAGERDUTY.body)  # so that the edge is at the body by now
            then(line)
            await until_counted(at, "aborted")
        assert await at.post(PAGERDUTY, PAGERDUTY.body) == 202
        if counted is not None:
            assert [outcome for _, outcome in at.counted if outcome not in ("accepted", "repeated")] == counted
    assert [record.getMessage() for record in caplog.records if record.name.startswith("aiohttp")] == []


async def test_bad_credentials_are_counted_each_and_logged_once_a_minute() -> None:
    async with edge(PAGERDUTY.source) as at:
        for _ in range(5):
            assert await at.post(PAGERDUTY, PAGERDUTY.body, {}) == 401
        assert at.unauthorized == ["/pagerduty"] * 5
        assert at.counted == [("pagerduty", "unauthorized")] * 5
        line = {"path": "/pagerduty", "peer": "127.0.0.1", "because": "bad credentials", "others": 0}
        assert at.logged == [("request_refused", line)]
        at.seconds = SAID_EVERY_SECONDS
        assert await at.post(PAGERDUTY, PAGERDUTY.body, {}) == 401
        assert at.logged[1:] == [("request_refused", line | {"others": 4})]


def test_many_addresses_neither_fill_the_log_nor_the_memory() -> None:
    said: list[str] = []
    seconds = 0.0
    refused = RefusedRequests(lambda event, **fields: said.append(fields["peer"]), lambda: seconds)
    for number in range(3 * MOST_PEERS):
        refused.note("/pagerduty", f"2001:db8:{number:x}::/64")
    assert len(said) == MOST_PEERS
    seconds = SAID_EVERY_SECONDS
    refused.note("/pagerduty", "2001:db8::/64")
    assert len(said) == MOST_PEERS + 1
