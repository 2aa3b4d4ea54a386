"""A node's last minutes from Prometheus.

Defined in https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries; the metrics are node_exporter's and
cAdvisor's, see `prometheus_questions.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.domain.errors import CannotRead
from bot.domain.growth import CountSample
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.domain.verdict import Evidence
from bot.extras.history.metric_history import HISTORY
from bot.extras.history.monitoring_store import MIB, MonitoringStore, label_matcher
from bot.extras.history.prometheus_questions import COUNTED, QUESTIONS, Series, answer_evidence

SPAN, STEP = timedelta(minutes=15), timedelta(seconds=30)
WEEKS, HOURLY = timedelta(days=14), timedelta(hours=1)
_MOST_POINTS = 10_000
_MOST = 2.0**64  # of a value: no counter has more
_LAST = datetime(9000, 1, 1, tzinfo=UTC).timestamp()


class PrometheusHistory(MonitoringStore):
    """Asks a Prometheus; each node's questions run in parallel, within a common limit."""

    called, path, answer_limit_bytes = "Prometheus", "/api/v1/query_range", MIB

    async def before(self, node: Node, until: datetime) -> tuple[Evidence, ...]:
        """Return the evidence of the 15 minutes before.

        Raises: CannotRead when Prometheus does not answer, or knows nothing of the node.
        """
        instance = _instance_matcher(self.names(node))
        asked = [self._ask(question.query(instance), until) for question in QUESTIONS]
        answers = await self.in_time(asyncio.gather(*asked, return_exceptions=True))
        found = {
            question: series for question, series in zip(QUESTIONS, answers, strict=True) if isinstance(series, tuple)
        }
        if any(found.values()):  # if a question failed, the other answers are still used
            return answer_evidence(found, until, HISTORY)
        for failure in answers:
            if isinstance(failure, BaseException):
                raise failure
        raise CannotRead(f"Prometheus has no series of {node.name} by its label instance")

    async def counted(self, node: Node, cause: str, until: datetime) -> tuple[CountSample, ...]:
        """Return the cause's counts in the weeks before; empty if no series has them.

        Raises: CannotRead when Prometheus does not answer, or no name is the node's alone.
        """
        if (question := COUNTED.get(cause)) is None:
            return ()
        found = await self.in_time(self._ask(question.query(_instance_matcher(self.names(node))), until, WEEKS, HOURLY))
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
            "timeout": f"{self.limit_seconds:g}s",
        }
        return _series(await self.answer("POST", data=parameters))


def _instance_matcher(names: Sequence[str]) -> str:
    """Return the matcher of the label that names a node, at any scrape port."""
    return label_matcher("instance", names, "(:[0-9]+)?")


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
