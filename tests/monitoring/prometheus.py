"""A simulated Prometheus: the HTTP API of range queries over a real socket, strict about what it is asked.

Defined in https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.monitoring.exporters import KNOWN
from tests.monitoring.promql import NotPromql, selectors

Curve = Callable[[float], float]  # from seconds before the end to the value


@dataclass
class Prometheus:
    """What it holds, by the metric that a query names first; it does not compute: a curve is the query's answer.

    Shape: `broken` answers in its place; `held` keeps every answer back until it is set.
    """

    url: str = ""
    curves: dict[str, list[tuple[Mapping[str, str], Curve]]] = field(default_factory=dict)
    asked: list[Mapping[str, str]] = field(default_factory=list)
    broken: list[Callable[[], web.StreamResponse]] = field(default_factory=list)
    held: asyncio.Event | None = None
    inside: int = 0
    most_inside: int = 0

    def holds(self, metric: str, curve: Curve, **labels: str) -> None:
        """Have a series."""
        assert metric in KNOWN, metric
        self.curves.setdefault(metric, []).append((labels, curve))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        form = {str(name): str(value) for name, value in (await request.post()).items()}
        self.asked.append(form)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        try:
            await asyncio.sleep(0)
            if self.held is not None:
                await self.held.wait()
            return self._answer(form)
        finally:
            self.inside -= 1

    def _answer(self, form: Mapping[str, str]) -> web.StreamResponse:
        if self.broken:
            return self.broken.pop(0)() if len(self.broken) > 1 else self.broken[0]()
        try:
            found = self._found(form["query"], float(form["start"]), float(form["end"]), float(form["step"]))
        except (NotPromql, KeyError, ValueError) as no:
            return web.json_response({"status": "error", "errorType": "bad_data", "error": str(no)}, status=400)
        return web.json_response({"status": "success", "data": {"resultType": "matrix", "result": found}})

    def _found(self, query: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        asked = selectors(query)
        wanted = [
            value for one in asked for label, operator, value in one.matchers if (label, operator) == ("instance", "=~")
        ]
        assert len(set(wanted)) == 1, "every selector names the node"
        pattern = re.compile(json.loads(f'"{wanted[0]}"'))
        times = [start + step * number for number in range(int((end - start) / step) + 1)]
        return [
            {"metric": labels, "values": [[at, f"{curve(end - at):.6g}"] for at in times]}
            for labels, curve in self.curves.get(asked[0].name, ())
            if pattern.fullmatch(labels.get("instance", ""))
        ]


@asynccontextmanager
async def simulated() -> AsyncIterator[Prometheus]:
    """One that listens for the length of a block."""
    prometheus = Prometheus()
    app = web.Application(client_max_size=1024 * 1024)
    app.router.add_post("/prefix/api/v1/query_range", prometheus.answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    prometheus.url = f"http://{host}:{port}/prefix/"
    try:
        yield prometheus
    finally:
        if prometheus.held is not None:
            prometheus.held.set()
        await runner.cleanup()
