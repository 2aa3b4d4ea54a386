"""How long after an alert fires in PagerDuty its note holds the verdict, with the 5 s window."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from tests.alerts.pagerduty import account
from tests.e2e.test_pagerduty_story import LONG, SECRET, SETTINGS, SOON, World
from tests.nodes.acting_fleet import site
from tests.slack.workspace import workspace

pytestmark = pytest.mark.benchmark
MANY = 50


@asynccontextmanager
async def world(folder: Path, nodes: int) -> AsyncIterator[World]:
    """A serving bot over so many sick nodes behind SSH."""
    fleet = {f"node-{number}": (AUTO_RESTART, None) for number in range(1, nodes + 1)}
    settings = SETTINGS.replace("samples = 1", "samples = 5")
    async with workspace() as slack, account(retry_policy=SOON) as pagerduty, site(folder, fleet, settings) as here:
        pagerduty.deliver_to("http://127.0.0.1:9/", SECRET)
        one = World(here, slack, pagerduty)
        try:
            await one.serve()
            yield one
        finally:
            if one.bot is not None:
                await one.bot.end()


async def test_alert_about_one_node_has_its_verdict_in_time(tmp_path: Path) -> None:
    took = []
    async with world(tmp_path, 5) as here:
        for number in range(1, 6):
            began = time.monotonic()
            page = here.pagerduty.account.trigger("a core is pinned", {"host": f"node-{number}"})
            await here.note(page, f"node-{number}: CRITICAL")
            took.append(time.monotonic() - began)
    print(f"alert to note, one node: {', '.join(f'{one:.1f}' for one in sorted(took))} s")
    assert max(took) <= 30


async def test_alert_about_fifty_nodes_has_its_verdicts_in_time(tmp_path: Path) -> None:
    async with world(tmp_path, MANY) as here:
        began = time.monotonic()
        page = here.pagerduty.account.trigger("a rack is slow", {"hosts": [f"node-{n}" for n in range(1, MANY + 1)]})
        await here.pagerduty.until(lambda: f"{MANY} critical" in here.pagerduty.note_on(page), LONG, "all verdicts")
        took = time.monotonic() - began
    print(f"alert to note, {MANY} nodes: {took:.1f} s")
    assert took <= 60
