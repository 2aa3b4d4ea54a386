"""A simulated Pyroscope: its render API over a real socket, strict about what it is asked.

Defined in https://grafana.com/docs/pyroscope/latest/reference-server-api/ and grafana/pyroscope, pkg/querier/http.go:
offsets of a level are told as differences, and a level lists only boxes that are there.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

_QUERY = re.compile(r'([a-z_]+(?::[a-z_]+){4})\{([A-Za-z_.]+)=~("(?:[^"\\]|\\.)*")\}')
Stacks = Mapping[tuple[str, ...], int]  # outermost first, by nanoseconds


@dataclass
class Pyroscope:
    """What it holds, by the value of the one label that it knows; `broken` answers in its place."""

    url: str = ""
    label: str = "node"
    stacks: dict[str, Stacks] = field(default_factory=dict)
    asked: list[tuple[Mapping[str, str], str]] = field(default_factory=list)
    broken: Callable[[], web.StreamResponse] | None = None

    async def render(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((dict(request.query), request.headers.get("X-Scope-OrgID", "")))
        if self.broken is not None:
            return self.broken()
        query = _QUERY.fullmatch(request.query["query"])
        if query is None or not all(request.query[name].isdecimal() for name in ("from", "until")):
            return web.json_response({"code": "invalid_argument", "message": "failed to parse query"}, status=400)
        pattern = re.compile(json.loads(query[3]))
        found: dict[tuple[str, ...], int] = {}
        for value, stacks in self.stacks.items():
            if query[2] == self.label and pattern.fullmatch(value):
                for stack, spent in stacks.items():
                    found[stack] = found.get(stack, 0) + spent
        return web.json_response(flame_graph(found))


def flame_graph(stacks: Stacks) -> dict[str, Any]:
    """Return a flame graph in Pyroscope's form."""
    names = ["total"]
    levels: list[list[int]] = []

    def box(prefix: tuple[str, ...], depth: int, offset: int, ends: list[int]) -> int:
        own = stacks.get(prefix, 0)
        below = sorted({stack[depth] for stack in stacks if len(stack) > depth and stack[:depth] == prefix})
        if len(levels) <= depth:
            levels.append([])
            ends.append(0)
        row, place = levels[depth], len(levels[depth])
        name = prefix[-1] if prefix else "total"
        if name not in names:
            names.append(name)
        row += [offset - ends[depth], 0, own, names.index(name)]
        whole, at = own, offset + own
        for child in below:
            spent = box((*prefix, child), depth + 1, at, ends)
            whole, at = whole + spent, at + spent
        row[place + 1], ends[depth] = whole, offset + whole
        return whole

    whole, most = box((), 0, 0, []), max(stacks.values(), default=0)
    return {
        "version": 1,
        "flamebearer": {
            "names": names,
            "levels": levels,
            "numTicks": whole,
            "maxSelf": most,
        },
        "metadata": {"format": "single", "spyName": "", "sampleRate": 1_000_000_000, "units": "samples", "name": "cpu"},
        "timeline": {"startTime": 0, "samples": [], "durationDelta": 15, "watermarks": None},
        "groups": None,
        "heatmap": None,
    }


@asynccontextmanager
async def simulated() -> AsyncIterator[Pyroscope]:
    """One that listens for the length of a block."""
    pyroscope = Pyroscope()
    app = web.Application()
    app.router.add_get("/prefix/pyroscope/render", pyroscope.render)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    pyroscope.url = f"http://{host}:{port}/prefix"
    try:
        yield pyroscope
    finally:
        await runner.cleanup()
