"""Socket Mode: Slack delivers over WebSockets that the bot opens, so that no port need be open.

Defined in https://docs.slack.dev/apis/events-api/using-socket-mode. Slack's own client is not used: when a connection
fails to open, it tries the same address for ever, though an address works only once; when Slack asks for a refresh, it
closes the old connection before the new is open; and it notices a lost connection only after ten seconds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError

from bot.chat.service import Timing
from bot.domain.contracts import Log
from bot.domain.safe_text import one_line
from bot.surfaces.slack.calls import error_name, failure_words, retry_after

LINES = 2  # while a line is lost or refreshed, the other still receives
LONGEST_BYTES = 4 * 1024 * 1024
HANG_ON_SECONDS = 10.0  # an old connection stays open for what Slack has already sent on it
STEADY_SECONDS = 10.0  # a connection that lasted this long did not fail to open
REFRESHED = ("refresh_requested", "warning")  # any other reason would close the next connection too
MOST_UNDERWAY = 1000

Open = Callable[[], Awaitable[str]]
Bring = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any] | None]]


@dataclass(slots=True, eq=False)
class SocketMode:
    """Keeps `LINES` connections open until it is stopped; it replaces each that ends.

    Shape: `open_address` asks Slack for the address of a connection. `bring` handles an envelope and returns the
    payload of its acknowledgement, or None to send no acknowledgement.
    """

    session: aiohttp.ClientSession
    proxy: str | None
    open_address: Open
    bring: Bring
    timing: Timing
    log: Log
    _lines: set[asyncio.Task[None]] = field(default_factory=set)
    _acknowledging: set[asyncio.Task[None]] = field(default_factory=set)
    _live: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def is_connected(self) -> bool:
        """True while Slack can deliver."""
        return self._live > 0

    def start(self) -> None:
        """Begin to open the connections."""
        for _ in range(LINES):
            self._begin_line()

    async def wait_until_connected(self) -> None:
        """Wait until Slack can deliver."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._live > 0)

    async def stop(self, seconds: float) -> None:
        """Finish pending acknowledgements and close, within so many seconds."""
        if self._acknowledging:
            await asyncio.wait(set(self._acknowledging), timeout=seconds / 2)
        for line in self._lines:
            line.cancel()
        if self._lines:
            await asyncio.wait(set(self._lines), timeout=seconds / 2)

    def _begin_line(self) -> None:
        line = asyncio.create_task(self._keep_line_open(), name="slack line")
        self._lines.add(line)
        line.add_done_callback(self._line_ended)

    def _line_ended(self, line: asyncio.Task[None]) -> None:
        self._lines.discard(line)
        if not line.cancelled() and (error := line.exception()) is not None:
            self.log("slack_line_failed", error=failure_words(error))
            asyncio.get_running_loop().call_later(self.timing.first_pause, self._begin_line)

    async def _keep_line_open(self) -> None:
        """Open connection after connection; ends when another line has replaced this line."""
        failures = 0
        while True:
            began, asked = self.timing.clock(), 0.0
            try:
                async with asyncio.timeout(self.timing.call_limit):
                    address = await self.open_address()
                    socket = await self.session.ws_connect(
                        address,
                        proxy=self.proxy,
                        heartbeat=self.timing.ping_every,
                        timeout=aiohttp.ClientWSTimeout(ws_close=self.timing.hang_up / 2),
                        max_msg_size=LONGEST_BYTES,
                    )
                async with socket:
                    if await self._listen(socket):
                        return
                self.log("slack_line_lost")
            except SlackApiError as error:
                asked = retry_after(error)
                self.log("slack_line_failed", error=error_name(error))
            except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
                self.log("slack_line_failed", error=failure_words(error))
            failures = 1 if self.timing.clock() - began > STEADY_SECONDS else failures + 1
            pause = min(self.timing.longest_pause, self.timing.first_pause * 2 ** min(failures - 1, 16))
            await asyncio.sleep(max(asked, pause))

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse) -> bool:
        """Receive until the connection ends; True when another line has replaced it."""
        is_live = False
        replaced = False
        try:
            async with asyncio.timeout(None) as limit:
                async for message in socket:
                    envelope = _envelope(message)
                    kind = envelope.get("type")
                    if kind == "hello" and not is_live:
                        is_live = True
                        await self._count_live(+1)
                    elif kind == "disconnect" and not replaced:
                        reason = one_line(str(envelope.get("reason")))
                        self.log("slack_line_refreshed", because=reason)
                        if not is_live or reason not in REFRESHED:
                            return False
                        replaced = True
                        self._begin_line()
                        limit.reschedule(asyncio.get_running_loop().time() + HANG_ON_SECONDS)
                    elif "envelope_id" in envelope:
                        self._acknowledge(socket, envelope)
        except TimeoutError:
            pass  # the old connection was kept for long enough
        finally:
            if is_live:
                await self._count_live(-1)
        return replaced

    async def _count_live(self, more: int) -> None:
        self._live += more
        async with self._changed:
            self._changed.notify_all()

    def _acknowledge(self, socket: aiohttp.ClientWebSocketResponse, envelope: Mapping[str, Any]) -> None:
        if len(self._acknowledging) >= MOST_UNDERWAY:
            self.log("slack_envelope_dropped")  # Slack delivers it again later
            return
        task = asyncio.create_task(self._answer_envelope(socket, envelope), name="slack envelope")
        self._acknowledging.add(task)
        task.add_done_callback(self._log_failed_acknowledgement)

    def _log_failed_acknowledgement(self, task: asyncio.Task[None]) -> None:
        self._acknowledging.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log("slack_envelope_failed", error=failure_words(error))

    async def _answer_envelope(self, socket: aiohttp.ClientWebSocketResponse, envelope: Mapping[str, Any]) -> None:
        payload = await self.bring(envelope)
        if payload is not None:
            body: dict[str, Any] = {"envelope_id": envelope["envelope_id"]}
            await socket.send_str(json.dumps(body | ({"payload": payload} if payload else {})))


def _envelope(message: aiohttp.WSMessage) -> Mapping[str, Any]:
    if message.type is not aiohttp.WSMsgType.TEXT:
        return {}
    try:
        envelope = json.loads(message.data)
    except ValueError:
        return {}
    return envelope if isinstance(envelope, dict) else {}
