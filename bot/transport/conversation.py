"""One batch's talk with a shell at the other end of two pipes, the same over SSH and on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from bot.domain.batch import Batch, Unframer
from bot.domain.command import Completed
from bot.domain.errors import ConnectionLost

CHUNK_BYTES = 64 * 1024
# A line of ours is under 1 kB. What is longer, or more in all than every command's cap together, is not the batch.
LINE_LIMIT_BYTES = 8 * 1024
OVERHEAD_BYTES = 4 * 1024 * 1024


async def finished_runs(
    read: Callable[[int], Awaitable[bytes]], batch: Batch, nonce: str, ends_at: float
) -> AsyncIterator[Completed]:
    """Read the wire to its end and yield each run as it ends; a login's own chatter is passed over.

    `ends_at` is by the loop's clock. The bound is around each read, not around the whole loop: a time-out that spans a
    yield would strike whatever the caller is doing at that moment.

    Raises: ConnectionLost when the node cannot run a batch, or floods the connection; TimeoutError at `ends_at`.
    """
    unframer = Unframer(batch, nonce)
    allowed = OVERHEAD_BYTES + 2 * sum(question.command.output_limit_bytes for question in batch.questions)
    rest = b""
    skipping = False
    while not unframer.finished:
        async with asyncio.timeout_at(ends_at):
            chunk = await read(CHUNK_BYTES)
        if not chunk:
            return
        allowed -= len(chunk)
        if allowed < 0:
            raise ConnectionLost("The node sent more than was asked for.", "Look at what its login scripts print.")
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if skipping or len(line) > LINE_LIMIT_BYTES:
                skipping = False
                continue
            for completed in unframer.feed(line.decode("ascii", "replace").rstrip("\r")):
                yield completed
        if len(rest) > LINE_LIMIT_BYTES:
            rest, skipping = b"", True
