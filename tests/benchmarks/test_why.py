"""What it costs to say why: every capture and every node of the demo, judged again hundreds of times.

A report, run by `./zombie test all`; the bound of each case is the promise of docs/cases.md.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable

import pytest

from bot.actions import ACTIONS
from bot.app.cases import as_asked, replay, surroundings
from bot.app.explaining import explained
from bot.app.parts import library
from bot.demo.fleet import FLEET
from bot.domain.case import Case, Head
from bot.response.diagnosis.what_if import Judge, what_ifs
from bot.transport.case_file import load
from tests.contract.test_simulated_nodes import answers
from tests.contract.test_why import CASES

RUNS = 9  # the best of them: what else the machine does counts as little as it can
SECONDS = 0.1  # of CPU to find them, for the worst of them: 96 cores and everything wrong
SECONDS_PROVEN = 0.15  # with the case's first replay, and one for each change; of 74 cases four took more than 0.1


async def of_the_demo() -> dict[str, Case]:
    """What each node of the demo says."""
    told = await asyncio.gather(*(answers(member, samples=5) for member in FLEET))
    return {
        member.name: Case(Head(member.name), tuple(run for of_probe in runs.values() for run in of_probe))
        for member, runs in zip(FLEET, told, strict=True)
    }


@pytest.mark.benchmark
def test_why_is_said_in_a_moment(record_property: Callable[[str, object], None]) -> None:
    playbook = library().get("node-health")
    cases = {path.name: load(path) for path in CASES} | asyncio.run(of_the_demo())
    seconds, proven = dict[str, float](), dict[str, float]()
    for name, case in cases.items():
        snapshot = replay(case, playbook).verdict.snapshot
        assert snapshot is not None
        judge = Judge(as_asked(case, playbook), ACTIONS, *surroundings(case.head))
        found, told = list[float](), list[float]()
        for _ in range(RUNS):
            began = time.process_time()
            what_ifs(snapshot, judge)
            found.append(time.process_time() - began)
        for _ in range(RUNS // 3):
            began = time.process_time()
            explained(case, playbook)
            told.append(time.process_time() - began)
        seconds[name], proven[name] = min(found), min(told)
    for what, taken in (("found", seconds), ("found, and each proven by a replay", proven)):
        slowest = max(taken, key=lambda name: taken[name])
        median = statistics.median(taken.values())
        print(f"{what}: median {median * 1000:.0f} ms of CPU, worst {taken[slowest] * 1000:.0f} ms ({slowest})")
        record_property(f"{what}: median", median)
        record_property(f"{what}: worst", taken[slowest])
    assert max(seconds.values()) < SECONDS
    assert max(proven.values()) < SECONDS_PROVEN
