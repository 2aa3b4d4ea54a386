"""A node's last minutes from Prometheus.

Defined in https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries; the metrics are node_exporter's and
cAdvisor's, see `prometheus_questions.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
from tenacity import AsyncRetrying, RetryError, retry_if_exception_type, stop_after_attempt, wait_fixed

from bot.domain.addresses import is_loopback
from bot.domain.errors import CannotRead
from bot.domain.growth import CountSample
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.domain.verdict import Evidence
from bot.extras.history.answers import body_of, unreachable
from bot.extras.history.node_names import any_of, names_of
from bot.extras.history.past import HISTORY
from bot.extras.history.prometheus_questions import COUNTED, QUESTIONS, Series, told

LIMIT_SECONDS = 5.0  # for all questions together: as long as a node is watched, so that nothing waits for it
ANSWER_LIMIT_BYTES = 1024 * 1024
AT_ONCE = 16  # questions for all nodes; Prometheus runs 20 at a time, and others use it too
SPAN, STEP = timedelta(minutes=15), timedelta(seconds=30)
WEEKS, HOURLY = timedelta(days=14), timedelta(hours=1)
_MOST_POINTS = 10_000
_MOST = 2.0**64  # of a value: no counter has more
_LAST = datetime(9000, 1, 1, tzinfo=UTC).timestamp()


class _NotNow(Exception):
    """It may answer at the next try."""


class PrometheusHistory:
    """Asks a Prometheus; each node's questions run in parallel, within a common limit.

    Shape: `nodes` is the inventory; names shared by several nodes are not used.
    """

    def __init__(
        self,
        base_url: str,
        nodes: Iterable[Node],
        limit_seconds: float = LIMIT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._limit = limit_seconds
        self.knows(nodes)
        self._url = f"{base_url.rstrip('/')}/api/v1/query_range"
        # The environment's proxy is not used.
        is_here = is_loopback(urlsplit(base_url).hostname or "")
        self._client = httpx.AsyncClient(
            timeout=limit_seconds,
            limits=httpx.Limits(max_connections=AT_ONCE),
            transport=transport,
            follow_redirects=False,
            trust_env=not is_here,
        )

    def knows(self, nodes: Iterable[Node]) -> None:
        """Use these nodes as the inventory from now on."""
        self._named = Counter(name for node in nodes for name in names_of(node))

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def before(self, node: Node, until: datetime) -> tuple[Evidence, ...]:
        """Return the evidence of the 15 minutes before.

        Raises: CannotRead when Prometheus does not answer, or knows nothing of the node.
        """
        instance = _instance([name for name in names_of(node) if self._named[name] <= 1])
        try:
            async with asyncio.timeout(self._limit):
                asked = [self._ask(question.query(instance), until) for question in QUESTIONS]
                answers = await asyncio.gather(*asked, return_exceptions=True)
        except TimeoutError as error:
            raise CannotRead(f"Prometheus did not answer within {self._limit:g} s") from error
        found = {
            question: series for question, series in zip(QUESTIONS, answers, strict=True) if isinstance(series, tuple)
        }
        if any(found.values()):  # if a question failed, the other answers are still used
            return told(found, until, HISTORY)
        for failure in answers:
            if isinstance(failure, BaseException):
                raise failure
        raise CannotRead(f"Prometheus has no series of {node.name} by its label instance")

    async def counted(self, node: Node, cause: str, until: datetime) -> tuple[CountSample, ...]:
        """Return the cause's counts in the weeks before; empty if no series has them.

        Raises: CannotRead when Prometheus does not answer.
        """
        question = COUNTED.get(cause)
        names = [name for name in names_of(node) if self._named[name] <= 1]
        if question is None or not names:
            return ()
        try:
            async with asyncio.timeout(self._limit):
                found = await self._ask(question.query(_instance(names)), until, WEEKS, HOURLY)
        except TimeoutError as error:
            raise CannotRead(f"Prometheus did not answer within {self._limit:g} s") from error
        if len(found) != 1:  # with several it is not known which is the node's
            return ()
        return tuple(CountSample(datetime.fromtimestamp(at, UTC), max(value, 0.0)) for at, value in found[0].points)

    async def _ask(
        self, query: str, until: datetime, span: timedelta = SPAN, step: timedelta = STEP
    ) -> tuple[Series, ...]:
        parameters = {
            "query": query,
            "start": f"{(until - span).timestamp():.3f}",
            "end": f"{until.timestamp():.3f}",
            "step": f"{step.total_seconds():g}",
            "timeout": f"{self._limit:g}s",
        }
        again = AsyncRetrying(
            retry=retry_if_exception_type(_NotNow), stop=stop_after_attempt(2), wait=wait_fixed(0.2), reraise=False
        )
        try:
            return _series(await again(self._get, parameters))
        except RetryError as error:
            raise CannotRead(str(error.last_attempt.exception())) from error

    async def _get(self, parameters: dict[str, str]) -> bytes:
        try:
            async with self._client.stream("POST", self._url, data=parameters) as response:
                body = await body_of(response.aiter_bytes(64 * 1024), "Prometheus", ANSWER_LIMIT_BYTES, " a question")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _NotNow(unreachable("Prometheus", error)) from error
        if response.status_code == 429 or response.status_code >= 500:
            raise _NotNow(f"Prometheus answers {response.status_code}")
        if response.status_code != 200:
            raise CannotRead(f"Prometheus answers {response.status_code}: {_error(body)}".rstrip(": "))
        return body


def _instance(names: Sequence[str]) -> str:
    """Return the matcher of the label that names a node, at any scrape port."""
    return any_of("instance", names, "(:[0-9]+)?")


def _series(body: bytes) -> tuple[Series, ...]:
    """Parse an answer.

    Raises: CannotRead when it is malformed.
    """
    try:
        data = json.loads(body)["data"]
        if data["resultType"] != "matrix":
            raise CannotRead("Prometheus's answer is not a range")
        found = tuple(Series(_labels(row["metric"]), _points(row["values"])) for row in data["result"])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        raise CannotRead("Prometheus's answer is malformed") from error
    return tuple(line for line in found if line.points)


def _labels(metric: dict[str, Any]) -> dict[str, str]:
    return {one_line(str(name), 80): one_line(str(value), 120) for name, value in metric.items()}


def _points(values: Sequence[Sequence[Any]]) -> tuple[tuple[float, float], ...]:
    points = ((float(at), float(value)) for at, value in values[:_MOST_POINTS])
    return tuple((at, value) for at, value in points if 0 < at < _LAST and abs(value) <= _MOST)


def _error(body: bytes) -> str:
    try:
        return one_line(str(json.loads(body)["error"]), 120)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
