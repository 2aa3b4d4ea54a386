"""A node's CPU time in the last minutes by function, from a continuous profiler.

Defined in https://grafana.com/docs/pyroscope/latest/reference-server-api/ (GET /pyroscope/render, which both Grafana
Pyroscope and the older Pyroscope answer); the flame graph's form in grafana/pyroscope, pkg/og/structs/flamebearer.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx

from bot.domain.addresses import is_loopback
from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.domain.verdict import Evidence
from bot.extras.history.answers import body_of, unreachable
from bot.extras.history.node_names import any_of, names_of
from bot.extras.history.past import PROFILED

LIMIT_SECONDS = 5.0  # as long as a node is watched, so that nothing waits for it
ANSWER_LIMIT_BYTES = 2 * 1024 * 1024
SPAN = timedelta(minutes=15)
MOST_NODES = 2048  # of the flame graph: Pyroscope sums up the rest as `other`
_MOST_SAID, _MOST_SHOWN = 3, 8
_NOT_A_FUNCTION = ("total", "other")  # the root, and the summed rest


@dataclass(frozen=True, slots=True)
class Spent:
    """Where CPU time went. Shape: `functions` by their own time, most first. Units: seconds; shares."""

    seconds: float
    functions: tuple[tuple[str, float], ...]


class PyroscopeHistory:
    """Asks a Pyroscope. `nodes` is the inventory; names shared by several nodes are not used; `label` names a node.

    Shape: `profile` is a type of profile, `process_cpu:cpu:nanoseconds:cpu:nanoseconds`; `tenant` may be empty.
    """

    def __init__(
        self,
        base_url: str,
        nodes: Iterable[Node],
        label: str,
        profile: str,
        tenant: str = "",
        limit_seconds: float = LIMIT_SECONDS,
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/pyroscope/render"
        self._is_here = is_loopback(urlsplit(base_url).hostname or "")
        self._named = Counter(name for node in nodes for name in names_of(node))
        self._label, self._profile, self._limit = label, profile, limit_seconds
        self._headers = {"X-Scope-OrgID": tenant} if tenant else {}

    async def before(self, node: Node, until: datetime) -> tuple[Evidence, ...]:
        """Return where the node's CPU time went in the 15 minutes before.

        Raises: CannotRead when Pyroscope does not answer, or knows nothing of the node.
        """
        names = [name for name in names_of(node) if self._named[name] <= 1]
        if not names:
            raise CannotRead(f"every name of {node.name} is another node's, too")
        try:
            async with asyncio.timeout(self._limit):
                body = await self._get(f"{self._profile}{{{any_of(self._label, names)}}}", until)
        except TimeoutError as error:
            raise CannotRead(f"Pyroscope did not answer within {self._limit:g} s") from error
        spent = read_spent(body)
        if not spent.functions:
            raise CannotRead(f"Pyroscope has no profile of {node.name} by its label {one_line(self._label, 60)}")
        return (_told(spent),)

    async def _get(self, query: str, until: datetime) -> bytes:
        parameters = {
            "query": query,
            "from": f"{(until - SPAN).timestamp():.0f}",
            "until": f"{until.timestamp():.0f}",
            "format": "json",
            "max-nodes": str(MOST_NODES),
        }
        # A proxy of the environment leads away from here.
        client = httpx.AsyncClient(
            timeout=self._limit, headers=self._headers, follow_redirects=False, trust_env=not self._is_here
        )
        try:
            async with client, client.stream("GET", self._url, params=parameters) as response:
                body = await body_of(response.aiter_bytes(64 * 1024), "Pyroscope", ANSWER_LIMIT_BYTES)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CannotRead(unreachable("Pyroscope", error)) from error
        if response.status_code != 200:
            raise CannotRead(f"Pyroscope answers {response.status_code}: {_error(body)}".rstrip(": "))
        return body


def read_spent(body: bytes) -> Spent:
    """Parse a flame graph: each level is a row; each box has four numbers: offset, total, self, and the name's index.

    Raises: CannotRead when it is malformed, or a function took more than all together.
    """
    try:
        answer = json.loads(body)
        graph, meta = answer["flamebearer"], answer["metadata"]
        names, ticks, rate = graph["names"], graph["numTicks"], meta["sampleRate"]
        if meta["format"] != "single" or not all(isinstance(name, str) for name in names):
            raise CannotRead("Pyroscope's answer is another form of flame graph")
        own: Counter[str] = Counter()
        for level in graph["levels"]:
            _add(own, level, names)
        whole, seconds = _count(ticks), _count(ticks) / max(1, _count(rate))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        raise CannotRead("Pyroscope's answer is not a flame graph") from error
    if sum(own.values()) > whole:
        raise CannotRead("Pyroscope's answer is a flame graph whose parts are more than the whole")
    ranked = [(name, ticks / whole) for name, ticks in own.most_common() if ticks and name not in _NOT_A_FUNCTION]
    return Spent(seconds, tuple((one_line(name, 120), share) for name, share in ranked[:_MOST_SHOWN]))


def _add(own: Counter[str], level: list[Any], names: list[str]) -> None:
    if len(level) % 4:
        raise ValueError(level)
    for at in range(0, len(level), 4):
        own[names[_count(level[at + 3])]] += _count(level[at + 2])


def _count(value: Any) -> int:
    """Return a JSON number that is a count. Raises: TypeError when it is not."""
    if type(value) is not int or value < 0:
        raise TypeError(value)
    return value


def _told(spent: Spent) -> Evidence:
    first = ", ".join(f"{name} {share:.0%}" for name, share in spent.functions[:_MOST_SAID])
    minutes = f"{SPAN.total_seconds() / 60:.0f} min"
    says = f"before the alert: of {spent.seconds:,.0f} s of CPU time in {minutes}, by function: {first}"
    return Evidence("profile-before", PROFILED, says, tuple(f"{share:.1%} {name}" for name, share in spent.functions))


def _error(body: bytes) -> str:
    try:
        return one_line(str(json.loads(body)["message"]), 120)
    except (ValueError, KeyError, TypeError, RecursionError):
        return one_line(body[:120].decode("utf-8", "replace"), 120)
