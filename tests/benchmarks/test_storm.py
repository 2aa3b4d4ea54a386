"""A storm of alerts at two bots, one of them killed in the middle: how soon each is answered, and all are summed up."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path

import httpx
import pytest

from bot.demo.fleet_leaks import AUTO_RESTART
from tests.alerts.bodies import SECRET, page_event, raw, signature
from tests.nodes.acting_fleet import ROOT
from tests.slack.replicas import ACTING, Replicas, replicas, until

pytestmark = pytest.mark.benchmark

PAGES, PACE = 200, 0.05  # seconds between two
KILLED_AFTER = 80
NODES = 40
SETTINGS = ACTING + '[slack]\nalerts_channel = "C0ONCALL01"\n[storm]\nalerts = 20\n'
ACK, SUMMARY = 1.0, 15.0  # seconds, at most; the goal on a quiet machine is 0.1 and 10


async def send(addresses: list[str]) -> list[float]:
    """Deliver all pages, each to one of the bots or else to the other; return how many seconds each answer took.

    It runs as a process of its own: simulated nodes and Slack, which share the test's, would count as the bots' time.
    """
    took: list[float] = []

    async def deliver(number: int) -> None:
        body = raw(page_event(f"E{number}", f"Q{number}", title=f"node-{number % NODES} is slow ({number})"))
        headers = {"X-PagerDuty-Signature": signature(body), "Content-Type": "application/json"}
        for at in (addresses[number % len(addresses)], addresses[-1]):
            began = time.monotonic()
            try:
                answer = await http.post(f"{at}/pagerduty", content=body, headers=headers)
            except httpx.TransportError:  # the one that was killed: the sender tries another
                addresses[:] = [other for other in addresses if other != at] or addresses
                continue
            assert answer.status_code == 202, answer.text
            took.append(time.monotonic() - began)
            return
        raise AssertionError("nobody took it")

    async with httpx.AsyncClient(timeout=10) as http, asyncio.TaskGroup() as sending:
        for number in range(PAGES):
            sending.create_task(deliver(number))
            await asyncio.sleep(PACE)
    return took


async def _summed_up(here: Replicas, began: float) -> float:
    """Return how many seconds after the first alert the storm's summary stands in Slack."""

    def is_there() -> bool:
        return any(message.text.startswith("Alert storm:") for message in here.slack.messages("oncall-gpu"))

    await until(is_there, "the summary", 40)
    return time.monotonic() - began


async def test_storm_is_answered_and_summed_up_though_a_bot_is_killed(tmp_path: Path, database_url: str) -> None:
    nodes = {f"node-{number}": (AUTO_RESTART, None) for number in range(NODES)}
    async with replicas(tmp_path, database_url, nodes, SETTINGS) as here:
        here.here.environ = {**here.here.environ, "PAGERDUTY_WEBHOOK_SECRETS": SECRET}
        runners = [await here.joins() for _ in range(2)]
        addresses = [str(runner.logged("listening")["address"]) for runner in runners]
        began = time.monotonic()
        sender = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "tests.benchmarks.test_storm", *addresses),
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
        )
        async with asyncio.TaskGroup() as both:
            summed_up = both.create_task(_summed_up(here, began))
            await asyncio.sleep(KILLED_AFTER * PACE)
            await runners[0].kill()
            printed, _ = await sender.communicate()
        took, told = json.loads(printed), summed_up.result()
        hundredths = statistics.quantiles(took, n=100)
        acked = f"p50 {hundredths[49] * 1000:.0f} ms, p99 {hundredths[98] * 1000:.0f} ms"
        print(f"\nack of {len(took)} alerts: {acked}; the summary stands after {told:.1f} s")
        assert len(took) == PAGES
        assert hundredths[98] <= ACK
        assert told <= SUMMARY


if __name__ == "__main__":
    print(json.dumps(asyncio.run(send(sys.argv[1:]))))
