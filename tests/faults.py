"""Faults of a simulated service, which a test switches on for its next calls; each service has its own names of calls.

PagerDuty's are those of `answers.py` (`notes`, `add_note`, …) and `enqueue`; Slack's are the methods of its Web API,
`response_url` and `upload`; of Teams it is the HTTP method.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeAlias

from aiohttp import web

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]
EVERYTHING = "*"
RESPONSE_URL, UPLOAD = "response_url", "upload"
WRONG = "<html>Something went wrong</html>"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with a call.

    Shape: with a `body`, a page or JSON, that is the answer. With `is_silent` the connection is closed without one;
    with `is_after_effect` the call takes effect before that. `wait` comes first.
    """

    status: int = 200
    body: str | Mapping[str, Any] | None = None
    headers: tuple[tuple[str, str], ...] = ()
    wait: timedelta = timedelta(0)
    is_silent: bool = False
    is_after_effect: bool = False

    async def answer(self, request: web.Request, closing: asyncio.Event) -> web.Response | None:
        """Return the answer in place of the call's own; None: the call goes on. No wait outlasts the service."""
        if self.is_after_effect:
            return None
        if self.wait:
            with suppress(TimeoutError):
                await asyncio.wait_for(closing.wait(), self.wait.total_seconds())
        if self.is_silent:
            return drop_connection(request)
        if isinstance(self.body, str):
            return web.Response(text=self.body, content_type="text/html", status=self.status)
        if self.body is not None:
            return web.json_response(self.body, status=self.status, headers=dict(self.headers))
        return None


class Faults:
    """The faults of the next calls; each call takes the first that matches. A 429 says what is `limited`."""

    def __init__(self, limited: Mapping[str, Any]) -> None:
        self.is_down = False  # every connection is closed before the call takes effect
        self.duplicates = 0  # this many of the next deliveries are sent twice
        self._limited = limited
        self._waiting: list[tuple[str, Fault, int]] = []

    def rate_limit(self, call: str = EVERYTHING, retry_after_seconds: int | None = None, times: int = 1) -> None:
        """Answer 429; without a time it has no Retry-After header, as PagerDuty's edge sometimes answers."""
        headers = () if retry_after_seconds is None else (("Retry-After", str(retry_after_seconds)),)
        self.add(call, Fault(status=429, body=self._limited, headers=headers), times)

    def status(self, call: str = EVERYTHING, status: int = 500, times: int = 1) -> None:
        """Answer with a status and an HTML page."""
        self.add(call, Fault(status=status, body=WRONG), times)

    def error(self, call: str, error: str, times: int = 1) -> None:
        """Answer `{"ok": false, "error": …}`."""
        self.add(call, Fault(body={"ok": False, "error": error}), times)

    def slow(self, call: str, wait: timedelta, times: int = 1) -> None:
        """Take effect, but late."""
        self.add(call, Fault(wait=wait), times)

    def silent(self, call: str, wait: timedelta = timedelta(minutes=1), times: int = 1) -> None:
        """Do nothing, and close the connection after a while without an answer."""
        self.add(call, Fault(wait=wait, is_silent=True), times)

    def lose_request(self, call: str, times: int = 1) -> None:
        """Close the connection without any effect."""
        self.silent(call, timedelta(0), times)

    def lose_answer(self, call: str, times: int = 1) -> None:
        """Take effect, then close the connection without an answer."""
        self.add(call, Fault(is_silent=True, is_after_effect=True), times)

    def clear(self) -> None:
        """Forget all faults."""
        self._waiting.clear()
        self.is_down, self.duplicates = False, 0

    def take(self, call: str) -> Fault | None:
        """Take the next fault for this call, None if there is none."""
        if self.is_down:
            return Fault(is_silent=True)
        for at, (wanted, fault, times) in enumerate(self._waiting):
            if wanted in (call, EVERYTHING):
                self._waiting[at : at + 1] = [] if times == 1 else [(wanted, fault, times - 1)]
                return fault
        return None

    def take_duplicate(self) -> bool:
        """Return whether to send this delivery twice."""
        self.duplicates, is_one = max(0, self.duplicates - 1), self.duplicates > 0
        return is_one

    def add(self, call: str, fault: Fault, times: int = 1) -> None:
        """Give this fault to the next calls of that name."""
        self._waiting.append((call, fault, times))


def drop_connection(request: web.Request) -> web.Response:
    """Close the connection without an answer."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
