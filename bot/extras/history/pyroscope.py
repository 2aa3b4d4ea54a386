"""A node's CPU time in the last minutes by function, from a continuous profiler.

Defined in https://grafana.com/docs/pyroscope/latest/reference-server-api/ (GET /pyroscope/render, which both Grafana
Pyroscope and the older Pyroscope answer); the flame graph's form in grafana/pyroscope, pkg/og/structs/flamebearer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.domain.verdict import Evidence
from bot.extras.history.metric_history import PROFILED
from bot.extras.history.monitoring_store import LIMIT_SECONDS, MIB, MonitoringStore, label_matcher

ANSWER_LIMIT_BYTES = 2 * MIB
SPAN = timedelta(minutes=15)
MOST_NODES = 2048  # of the flame graph: Pyroscope sums up the rest as `other`
_MOST_SAID, _MOST_SHOWN = 3, 8
_NOT_A_FUNCTION = ("total", "other")  # the root, and the summed rest


@dataclass(frozen=True, slots=True)
class Spent:
    """Where CPU time went. Shape: `functions` by their own time, most first. Units: seconds; shares."""

    seconds: float
    functions: tuple[tuple[str, float], ...]


class PyroscopeHistory(MonitoringStore):
    """Asks a Pyroscope; `label` names a node.

    Shape: `profile` is a type of profile, `process_cpu:cpu:nanoseconds:cpu:nanoseconds`; `tenant` may be empty.
    """

    called, path, answer_limit_bytes = "Pyroscope", "/pyroscope/render", ANSWER_LIMIT_BYTES

    def __init__(
        self,
        base_url: str,
        nodes: Iterable[Node],
        label: str,
        profile: str,
        tenant: str = "",
        limit_seconds: float = LIMIT_SECONDS,
    ) -> None:
        super().__init__(base_url, nodes, limit_seconds, {"X-Scope-OrgID": tenant} if tenant else None)
        self._label, self._profile = label, profile

    async def before(self, node: Node, until: datetime) -> tuple[Evidence, ...]:
        """Return where the node's CPU time went in the 15 minutes before.

        Raises: CannotRead when Pyroscope does not answer, or knows nothing of the node.
        """
        parameters = {
            "query": f"{self._profile}{{{label_matcher(self._label, self.names(node))}}}",
            "from": f"{(until - SPAN).timestamp():.0f}",
            "until": f"{until.timestamp():.0f}",
            "format": "json",
            "max-nodes": str(MOST_NODES),
        }
        spent = read_spent(await self.in_time(self.answer("GET", params=parameters)))
        if not spent.functions:
            raise CannotRead(f"Pyroscope has no profile of {node.name} by its label {one_line(self._label, 60)}")
        return (_spent_evidence(spent),)


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
            _add_level(own, level, names)
        whole, seconds = _checked_count(ticks), _checked_count(ticks) / max(1, _checked_count(rate))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError) as error:
        raise CannotRead("Pyroscope's answer is not a flame graph") from error
    if sum(own.values()) > whole:
        raise CannotRead("Pyroscope's answer is a flame graph whose parts are more than the whole")
    ranked = [(name, ticks / whole) for name, ticks in own.most_common() if ticks and name not in _NOT_A_FUNCTION]
    return Spent(seconds, tuple((one_line(name, 120), share) for name, share in ranked[:_MOST_SHOWN]))


def _add_level(own: Counter[str], level: list[Any], names: list[str]) -> None:
    if len(level) % 4:
        raise ValueError(level)
    for at in range(0, len(level), 4):
        own[names[_checked_count(level[at + 3])]] += _checked_count(level[at + 2])


def _checked_count(value: Any) -> int:
    """Return a JSON number that is a count. Raises: TypeError when it is not."""
    if type(value) is not int or value < 0:
        raise TypeError(value)
    return value


def _spent_evidence(spent: Spent) -> Evidence:
    first = ", ".join(f"{name} {share:.0%}" for name, share in spent.functions[:_MOST_SAID])
    minutes = f"{SPAN.total_seconds() / 60:.0f} min"
    says = f"before the alert: of {spent.seconds:,.0f} s of CPU time in {minutes}, by function: {first}"
    return Evidence("profile-before", PROFILED, says, tuple(f"{share:.1%} {name}" for name, share in spent.functions))
