"""What it costs to say why: every capture and every node of the demo, judged again hundreds of times.

A report, run by `./zombie test all`; the bound of each case is the promise of docs/cases.md.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from bot.actions import ACTIONS
from bot.app.cases import replay, surroundings, with_recorded_probes
from bot.app.factories import library
from bot.demo.fleet import FLEET
from bot.domain.case import Case, CaseHeader
from bot.extras.cases.explaining import explained
from bot.extras.cases.what_if import Judge, what_ifs
from bot.transport.case_file import load
from tests.contract.test_simulated_nodes import answers
from tests.contract.test_why import CASES

RUNS = 9  # the best of them, after one that warms up: what else the machine does counts as little as it can
SECONDS = 1.0  # of CPU for each case, all in: its first replay, the search, and a replay for each change that is told
LOOP_SECONDS = 0.0096  # what the loop below takes in between on the machine of docs/figures.md while nothing else runs


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    name: str
    share: float = 0.0


def loop_seconds() -> float:
    """Return the CPU time of a fixed piece of work of the same kind: machines differ, and others disturb."""
    began = time.process_time()
    rows = [Row(number, f"row {number}", number / 7) for number in range(6000)]
    by_name = {row.name: replace(row, share=0.0) for row in rows if row.share > 1}
    assert len(", ".join(sorted(by_name))) > sum([row.share for row in by_name.values()])
    return time.process_time() - began


async def of_the_demo() -> dict[str, Case]:
    """What each node of the demo says."""
    told = await asyncio.gather(*(answers(member, samples=5) for member in FLEET))
    return {
        member.name: Case(CaseHeader(member.name), tuple(run for of_probe in runs.values() for run in of_probe))
        for member, runs in zip(FLEET, told, strict=True)
    }


@pytest.mark.benchmark
def test_why_is_said_in_a_moment(record_property: Callable[[str, object], None]) -> None:
    playbook = library().get("node-health")
    cases = {path.name: load(path) for path in CASES} | asyncio.run(of_the_demo())
    found, told = dict[str, float](), dict[str, float]()
    for name, case in cases.items():
        snapshot = replay(case, playbook).verdict.snapshot
        assert snapshot is not None
        judge = Judge(with_recorded_probes(case, playbook), ACTIONS, *surroundings(case.head))
        what_ifs(snapshot, judge), explained(case, playbook)
        loops, searches, whole = list[float](), list[float](), list[float]()
        for _ in range(RUNS):
            loops.append(loop_seconds())
            began = time.process_time()
            what_ifs(snapshot, judge)
            searched = time.process_time()
            explained(case, playbook)
            searches.append(searched - began)
            whole.append(time.process_time() - searched)
        scale = LOOP_SECONDS / min(loops)
        found[name], told[name] = min(searches) * scale, min(whole) * scale
    for what, taken in (("found", found), ("all in", told)):
        slowest = max(taken, key=lambda name: taken[name])
        median = statistics.median(taken.values())
        print(f"{what}: median {median * 1000:.0f} ms of CPU, worst {taken[slowest] * 1000:.0f} ms ({slowest})")
        record_property(f"{what}: median", median)
        record_property(f"{what}: worst", taken[slowest])
    assert max(told.values()) < SECONDS
