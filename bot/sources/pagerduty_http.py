"""Sends requests to PagerDuty: headers, pace, retries, limits, and the meaning of answers.

Headers, rate limits and errors: https://developer.pagerduty.com/docs/rest-api-overview
"""

from __future__ import annotations

import asyncio
import json
import math
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from bot.domain.contracts import Seconds, Sleep
from bot.domain.errors import PagerDutyRefused, PagerDutyUnavailable, SettingsError
from bot.domain.safe_text import redacted_line
from bot.sources.addresses import is_safe_for_secrets
from bot.sources.pagerduty_settings import API, EVENTS, PagerDutySettings

ANSWER_LIMIT_BYTES = 32 * 1024 * 1024
LONGEST_WAIT_SECONDS = 30.0  # the caller must wait out a longer Retry-After
_HINTS = {
    401: "Is PAGERDUTY_API_TOKEN right, and not revoked?",
    402: "The account's plan does not have this.",
    403: "The token lacks a scope: see the table of scopes in docs/pagerduty.md.",
}


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach PagerDuty, and as whom. Its repr shows no secrets.

    Shape: `api_url` is a base without a path, `events_url` is complete; `sender` is the e-mail address of the account's
    user in whose name notes are written.
    """

    token: str = field(default="", repr=False)
    sender: str = ""
    routing_key: str = field(default="", repr=False)
    api_url: str = API
    events_url: str = EVENTS

    def __post_init__(self) -> None:
        """Refuse values that would break a header, without showing them.

        Raises: SettingsError.
        """
        for name, value in (
            ("PAGERDUTY_API_TOKEN", self.token),
            ("PAGERDUTY_FROM", self.sender),
            ("PAGERDUTY_ROUTING_KEY", self.routing_key),
        ):
            if not (value.isascii() and (value.isprintable() or not value)) or " " in value:
                raise SettingsError(
                    f"{name} holds characters that cannot be in it.", "Was it pasted completely, and only once?"
                )

    @classmethod
    def of(cls, settings: PagerDutySettings) -> Access:
        """Return the access from the settings.

        Raises: SettingsError when an address is neither https nor on loopback, or a secret is mangled.
        """
        for name, url in (("PAGERDUTY_API_URL", settings.api_url), ("PAGERDUTY_EVENTS_URL", settings.events_url)):
            if not is_safe_for_secrets(url):
                raise SettingsError(f"{name} is neither https nor on loopback.", "Leave it out for PagerDuty itself.")
        return cls(settings.api_token, settings.sender, settings.routing_key, settings.api_url, settings.events_url)


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits: the parts of a call, the gap between calls, and how often a call is tried.

    Shape: `gap_seconds` keeps a program at some 460 calls a minute: PagerDuty allows 960 for all users of the token.
    """

    connect_seconds: float = 5.0
    answer_seconds: float = 10.0
    gap_seconds: float = 0.13
    tries: int = 3
    first_pause_seconds: float = 1.0
    limited_pause_seconds: float = 5.0  # after a 429 without a time


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    query: Mapping[str, Any] | None
    body: Any = field(repr=False)


class _Lost(PagerDutyUnavailable):
    """The request was sent, and it is unknown whether it was done."""


class PagerDutyHttp:
    """Sends requests in turn, because PagerDuty counts them by token.

    Shape: `clock` is in monotonic seconds.
    """

    def __init__(
        self,
        access: Access,
        patience: Patience,
        sleep: Sleep = asyncio.sleep,
        clock: Seconds = time.monotonic,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._access = access
        self._patience = patience
        self._sleep = sleep
        self._clock = clock
        self._free_at = -math.inf
        self._turn = asyncio.Lock()
        timeout = httpx.Timeout(patience.answer_seconds, connect=patience.connect_seconds)
        # A TLS context costs tens of milliseconds, and plain HTTP, allowed only on loopback, needs none.
        verify: ssl.SSLContext | bool = (
            any(url.startswith("https:") for url in (access.api_url, access.events_url))
            and ssl.create_default_context()
        )
        self._client = httpx.AsyncClient(
            timeout=timeout,
            verify=verify,
            trust_env=bool(verify),  # the environment's proxy is not for loopback
            transport=transport,
            follow_redirects=False,
        )

    async def close(self) -> None:
        """Hang up."""
        await self._client.aclose()

    async def ask(self, method: str, path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Call the REST API and return its JSON; an empty answer is None.

        A request that may have been done already is sent again only if repeating it changes nothing: never a POST.

        Raises: PagerDutyUnavailable, PagerDutyRefused.
        """
        headers = {
            "Authorization": f"Token token={self._access.token}",
            "Accept": "application/vnd.pagerduty+json;version=2",
            "Content-Type": "application/json",
        }
        if method != "GET" and self._access.sender:
            headers["From"] = self._access.sender
        url = self._access.api_url.rstrip("/") + path
        return await self._send_with_retries(
            _Request(method, url, headers, query, body), is_repeatable=method in ("GET", "PUT")
        )

    async def enqueue(self, event: Mapping[str, Any]) -> None:
        """Send an event to the Events API v2; repeated with the same key, it is the same alert.

        Raises: PagerDutyUnavailable, PagerDutyRefused.
        """
        whole = {"routing_key": self._access.routing_key, **event}
        await self._send_with_retries(_Request("POST", self._access.events_url, {}, None, whole), is_repeatable=True)

    async def _send_with_retries(self, request: _Request, *, is_repeatable: bool) -> Any:
        """Try until it is done, a few times at most; other requests wait meanwhile."""

        def may_repeat(error: BaseException) -> bool:
            if not isinstance(error, PagerDutyUnavailable) or error.retry_after_seconds > LONGEST_WAIT_SECONDS:
                return False
            return is_repeatable or not isinstance(error, _Lost)

        tries = AsyncRetrying(
            stop=stop_after_attempt(self._patience.tries),
            retry=retry_if_exception(may_repeat),
            wait=self._pause,
            sleep=self._sleep,
            reraise=True,
        )
        async with self._turn:
            return await tries(self._send_once, request)

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after_seconds if isinstance(error, PagerDutyUnavailable) else 0.0
        return max(asked, self._patience.first_pause_seconds * 2.0 ** (state.attempt_number - 1))

    async def _send_once(self, request: _Request) -> Any:
        if (wait := self._free_at - self._clock()) > LONGEST_WAIT_SECONDS:
            raise PagerDutyUnavailable("PagerDuty still limits our rate.", retry_after_seconds=wait)
        if wait > 0:
            await self._sleep(wait)
        try:
            status, answered, content = await self._exchange(request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise PagerDutyUnavailable(f"PagerDuty cannot be reached: {_error_text(error)}.") from error
        except (httpx.HTTPError, TimeoutError, ValueError) as error:  # a Location that is no name: UnicodeError
            raise _Lost(f"PagerDuty did not answer: {_error_text(error)}.") from error
        finally:
            self._free_at = max(self._free_at, self._clock() + self._patience.gap_seconds)
        return self._answer_or_raise(status, answered, content)

    async def _exchange(self, request: _Request) -> tuple[int, httpx.Headers, bytes]:
        async with (
            asyncio.timeout(
                2 * self._patience.answer_seconds
            ) as limit,  # the limits of the parts do not stop a slow trickle
            self._client.stream(
                request.method, request.url, headers=request.headers, params=request.query, json=request.body
            ) as response,
        ):
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > ANSWER_LIMIT_BYTES:
                    raise PagerDutyRefused("PagerDuty's answer is too large to be read.", status=response.status_code)
            limit.reschedule(None)
            return response.status_code, response.headers, bytes(content)

    def _answer_or_raise(self, status: int, headers: httpx.Headers, content: bytes) -> Any:
        if 200 <= status < 300:
            try:
                return json.loads(content) if content.strip() else None
            except (ValueError, RecursionError):
                raise _Lost("PagerDuty's answer is not JSON: is a proxy in between?") from None
        says = _error_words(content) or f"HTTP {status}"
        if status == 429:
            seconds = _seconds(headers) or self._patience.limited_pause_seconds
            self._free_at = max(self._free_at, self._clock() + seconds)
            raise PagerDutyUnavailable(f"PagerDuty limits our rate: {says}.", retry_after_seconds=seconds)
        if status >= 500 or status == 408:
            raise _Lost(f"PagerDuty fails: {says}.", retry_after_seconds=_seconds(headers))
        raise PagerDutyRefused(f"PagerDuty refuses: {says}.", _HINTS.get(status, ""), status)


def _error_text(error: Exception) -> str:
    """An exception's text, without what was sent: names and addresses, never headers."""
    kind = type(error).__name__
    return kind if isinstance(error, httpx.LocalProtocolError) else redacted_line(f"{kind} {error}".strip(), 160)


def _error_words(content: bytes) -> str:
    try:
        error = json.loads(content)["error"]
        more = error.get("errors") or []
        parts = [
            str(error.get("message", "")),
            *(str(detail) for detail in (more if isinstance(more, list) else [more])),
        ]
        return redacted_line("; ".join(part for part in parts if part), 200)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""


def _seconds(headers: httpx.Headers) -> float:
    """How long PagerDuty asks to wait, from either header; 0 if neither says."""
    for name in ("retry-after", "ratelimit-reset"):
        try:
            seconds = float(headers.get(name, ""))
        except ValueError:
            continue
        if math.isfinite(seconds) and seconds > 0:
            return min(seconds, 3600.0)
    return 0.0
