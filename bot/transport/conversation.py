"""Runs a batch in a shell and reads its answers, over SSH as on this machine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta

from bot.domain.batch import Batch, FrameDecoder
from bot.domain.batch_shell import LANE_MARK
from bot.domain.command import Completed
from bot.domain.errors import ConnectionLost, ShellStalled
from bot.domain.safe_text import decode, redacted_line
from bot.transport.timeouts import TimeLimit, stood_still_error

CHUNK_BYTES = 64 * 1024
LINE_LIMIT_BYTES = 8 * 1024  # our own lines are under 4 kB
# How much a login's start-up files may print. It is ignored up to this limit.
CHATTER_LIMIT_BYTES = 64 * 1024 * 1024
# The script ends itself this long before our deadline, so that its last answers still arrive.
FLUSH_SECONDS = 0.5
# How long a silent node has to send what it holds: its script gives itself two seconds.
FLUSH_PATIENCE_SECONDS = 3.0


def lifetime(seconds_left: float) -> timedelta:
    """Return how long a script may run when we listen for `seconds_left`.

    Example:
    >>> lifetime(20.0).total_seconds(), lifetime(0.6).total_seconds()
    (19.5, 0.3)
    """
    return timedelta(seconds=max(seconds_left - FLUSH_SECONDS, seconds_left / 2, 0.1))


class Conversation:
    """Reads the answers until the batch has ended, the limit is over, or the node is silent for too long.

    `where` names the node.
    """

    def __init__(self, batch: Batch, nonce: str, limit: TimeLimit, where: str) -> None:
        self.nonce = nonce
        self._limit = limit
        self._silence = batch.silence.total_seconds()
        self._where = where
        self._unframer = FrameDecoder(batch, nonce)
        self._allowed = CHATTER_LIMIT_BYTES + 2 * batch.output_limit_bytes
        self._rest = b""
        self._heard = b""  # the last line that was not the batch's
        self._answered = False

    @property
    def finished(self) -> bool:
        """Whether the batch reported its end."""
        return self._unframer.finished

    async def finished_runs(
        self, read: Callable[[int], Awaitable[bytes]], write: Callable[[bytes], None]
    ) -> AsyncIterator[Completed]:
        """Yield each run as it ends; other output of the login is ignored.

        A node that was silent for too long is asked, by a line, to send what it has and to end.

        The time-out is around each read, not around the loop: a time-out that spans a yield would interrupt the caller.
        Only lines of the batch end a silence: what else a login prints does not.

        Raises: ConnectionLost when the node cannot run a batch, or floods the connection; ShellStalled when no run
        ended in time; StoodStill when this program did not listen for long enough to say so.
        """
        signs, silent, asked = self._unframer.signs, 0.0, False
        loop = asyncio.get_running_loop()
        while not self._unframer.finished:
            if self._unframer.signs > signs:
                signs, silent, asked = self._unframer.signs, 0.0, False
            began = loop.time()
            try:
                with self._limit.part(self._silence - silent) as patience:
                    async with patience.kept(self._where):
                        chunk = await read(CHUNK_BYTES)
                silent += loop.time() - began
            except TimeoutError as error:
                if not asked and self._limit.seconds_left > 0:
                    asked, silent = True, self._silence - FLUSH_PATIENCE_SECONDS
                    with contextlib.suppress(OSError):  # it ended already
                        write(b"\n")
                    continue
                if self._answered:
                    return  # commands without an answer are unread
                raise ShellStalled(
                    f"{self._where} accepted the login and then did not answer in time{self._heard_words()}.",
                    "Its login shell hangs (look at its start-up files), or the node is starved.",
                ) from error
            if not chunk:
                if self._limit.stood_mostly:
                    raise stood_still_error(self._where)
                if self._answered:
                    return
                raise ConnectionLost(
                    f"{self._where} accepted the login and then closed the session{self._heard_words()}.",
                    "Does the user have a real shell, and does the key have no forced command?",
                )
            for line in self._lines(chunk):
                for completed in self._unframer.feed(line):
                    self._answered = True
                    yield completed

    def _lines(self, chunk: bytes) -> list[str]:
        """Return the complete lines so far."""
        self._allowed -= len(chunk)
        if self._allowed < 0:
            raise ConnectionLost(
                f"{self._where} sent far more than was asked for.", "Look at what its login's start-up files print."
            )
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LINE_LIMIT_BYTES:
            self._rest = self._rest[:1] + b"\0"  # too long for a line of ours; its rest must not look like a line
        mark = LANE_MARK.encode()
        ours = [line for line in lines if line.startswith(mark)]
        if not self._answered and len(ours) < len(lines):
            self._heard = next((line for line in reversed(lines) if line.strip() and line not in ours), self._heard)
        return [line.decode("ascii", "replace").rstrip("\r") for line in ours if len(line) <= LINE_LIMIT_BYTES]

    def _heard_words(self) -> str:
        heard = redacted_line(decode(self._heard or self._rest[:1000]), 120)
        return f"; it said: {heard}" if heard else ""
