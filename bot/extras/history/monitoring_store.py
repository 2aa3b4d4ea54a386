"""A store that monitoring fills, asked over HTTP: by which names it may know a node, and its answer within bounds."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import httpx
from tenacity import AsyncRetrying, RetryError, retry_if_exception_type, stop_after_attempt, wait_fixed

from bot.domain.addresses import is_loopback
from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.domain.safe_text import decode, redacted_line

LIMIT_SECONDS = 5.0  # for all questions together: as long as a node is watched, so that nothing waits for it
AT_ONCE = 16  # questions for all nodes; Prometheus runs 20 at a time, and others use it too
MIB = 1024 * 1024
_LABELS = ("instance_id", "private_dns", "hostname", "kubernetes_node")
_PRINTABLE = re.compile(r"[!-~]{1,253}")
T = TypeVar("T")


class _NotNow(Exception):
    """It may answer at the next try."""


class MonitoringStore:
    """Asks a store. `nodes` is the inventory; names shared by several nodes are not used."""

    called: ClassVar[str]
    path: ClassVar[str]
    answer_limit_bytes: ClassVar[int]

    def __init__(
        self,
        base_url: str,
        nodes: Iterable[Node],
        limit_seconds: float = LIMIT_SECONDS,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.limit_seconds = limit_seconds
        self.knows(nodes)
        self._url = f"{base_url.rstrip('/')}{self.path}"
        # A proxy of the environment leads away from here.
        self._client = httpx.AsyncClient(
            timeout=limit_seconds,
            limits=httpx.Limits(max_connections=AT_ONCE),
            headers={"Accept-Encoding": "identity"} | dict(headers or {}),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # keeps none
            follow_redirects=False,
            trust_env=not is_loopback(urlsplit(base_url).hostname or ""),
        )

    def knows(self, nodes: Iterable[Node]) -> None:
        """Use these nodes as the inventory from now on."""
        self._named = Counter(name for node in nodes for name in names_of(node))

    def names(self, node: Node) -> list[str]:
        """Return the names that are this node's alone. Raises: CannotRead when there is none."""
        if names := [name for name in names_of(node) if self._named[name] <= 1]:
            return names
        raise CannotRead(f"every name of {node.name} is another node's, too")

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def in_time(self, asking: Awaitable[T]) -> T:
        """Wait for answers. Raises: CannotRead when they take longer than the limit."""
        try:
            async with asyncio.timeout(self.limit_seconds):
                return await asking
        except TimeoutError as error:
            raise CannotRead(f"{self.called} did not answer within {self.limit_seconds:g} s") from error

    async def answer(self, method: str, **asked: Any) -> bytes:
        """Return the body of an answer; passing trouble is tried once more. Raises: CannotRead."""
        again = AsyncRetrying(
            retry=retry_if_exception_type(_NotNow), stop=stop_after_attempt(2), wait=wait_fixed(0.2), reraise=False
        )
        try:
            return await again(self._answer, method, asked)
        except RetryError as error:
            raise CannotRead(str(error.last_attempt.exception())) from error

    async def _answer(self, method: str, asked: Mapping[str, Any]) -> bytes:
        body = b""
        try:
            async with self._client.stream(method, self._url, **asked) as response:
                async for piece in response.aiter_raw(64 * 1024):  # unpacked, a kilobyte may be a gigabyte
                    body += piece
                    if len(body) > self.answer_limit_bytes:
                        raise CannotRead(f"{self.called} answers with more than {self.answer_limit_bytes // MIB} MiB")
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # a Location that is no name: UnicodeError
            why = redacted_line(str(error) or type(error).__name__, 120)
            raise _NotNow(f"{self.called} cannot be reached: {why}") from error
        if response.status_code == 200:
            return body
        says = f"{self.called} answers {response.status_code}: {_error_words(body)}".rstrip(": ")
        raise _NotNow(says) if response.status_code == 429 or response.status_code >= 500 else CannotRead(says)


def _error_words(body: bytes) -> str:
    try:
        said = json.loads(body)
        return redacted_line(str(said.get("error") or said["message"]), 120)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return redacted_line(decode(body[:4000]), 120)  # of a proxy, perhaps, which shows what was sent


def names_of(node: Node) -> tuple[str, ...]:
    """Every name that a node may have. A loopback address is left out, as any number of nodes may have it."""
    address = f"[{node.address}]" if ":" in node.address else node.address
    labelled = [node.labels.get(label, "") for label in _LABELS]
    names = [node.name, *([] if is_loopback(node.address) else [address]), *labelled]
    return tuple(dict.fromkeys(name for name in names if _PRINTABLE.fullmatch(name)))


def label_matcher(label: str, names: Sequence[str], then: str = "") -> str:
    """Return the matcher for any of these values of a label; `then` is a pattern for what may follow.

    Shape: a regular expression in a quoted string, so backslashes are doubled.

    Example:
    >>> print(label_matcher("node", ["a.b"]))
    node=~"(a\\\\.b)"
    """
    either = "|".join(re.sub(r"([^A-Za-z0-9_-])", r"\\\1", name) for name in names)
    quoted = f"({either}){then}".replace("\\", "\\\\").replace('"', '\\"')
    return f'{label}=~"{quoted}"'
