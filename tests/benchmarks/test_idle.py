"""What a bot costs that has nothing to do: a thousand open incidents, and nobody who decides."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.fleet_leaks import HIDDEN
from bot.domain.action import Plan
from bot.domain.events import AlertReceived, PlanProposed, Triaged
from bot.ledger import Database, Ledger
from tests.record.incidents import ALERT, ASKER, STEPS, VERDICT
from tests.slack.replicas import replicas, until

pytestmark = pytest.mark.benchmark
OPEN = 1000
MEASURED_SECONDS = 10.0
MOST_OF_A_CORE = 0.02


def opened(ledger: Ledger, number: int) -> None:
    name, node = f"open-{number}", f"node-{number}"
    plan = Plan(node, STEPS)
    ledger.append.now(name, 0, AlertReceived(ALERT, node, f"group-{number}"), ASKER)
    ledger.append.now(name, 1, Triaged(replace(VERDICT, node=node, plan=plan)), "bot")
    ledger.append.now(name, 2, PlanProposed.of(plan, {}), "bot")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_thousand_open_incidents_cost_less_than_a_fiftieth_of_a_core(tmp_path: Path, database_url: str) -> None:
    with Database.open(database_url) as database:
        for number in range(OPEN):
            opened(Ledger(database), number)
    async with replicas(tmp_path, database_url, {"node": (HIDDEN, None)}) as here:
        runner = await here.joins()
        await until(lambda: runner.logged("claimed").get("groups") == OPEN, "all of them to be claimed")
        pid, rest = runner.process.pid, -1.0

        async def between(seconds: float) -> float:
            before = cpu_seconds(pid)
            await asyncio.sleep(seconds)  # what a second costs cannot be known sooner
            return (cpu_seconds(pid) - before) / seconds

        async with asyncio.timeout(60):
            while (rest := await between(1.0)) > 5 * MOST_OF_A_CORE:  # each is looked at once, when it is claimed
                pass
        rest = await between(MEASURED_SECONDS)
        print(f"\n{OPEN} open incidents: {rest:.2%} of a core")
        assert rest < MOST_OF_A_CORE
