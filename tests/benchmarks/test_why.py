"""What it costs to say why: every capture, judged again hundreds of times.

A report, run by `./zombie test all`; the bound of each case is the promise of docs/cases.md.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest

from bot import app
from bot.actions import ACTIONS
from bot.app.cases import replay
from bot.domain.node import Node
from bot.response.diagnosis.planning import Draining
from bot.response.diagnosis.what_if import Judge, what_ifs
from bot.transport.case_file import load
from tests.contract.test_why import CASES

RUNS = 9  # the best of them: what else the machine does counts as little as it can
SECONDS = 0.1  # of CPU, for the worst of them: 96 cores and everything wrong


@pytest.mark.benchmark
def test_why_is_said_in_a_moment(record_property: Callable[[str, object], None]) -> None:
    playbook = app.library().get("node-health")
    seconds = {}
    for path in CASES:
        snapshot = replay(load(path), playbook).verdict.snapshot
        assert snapshot is not None
        judge = Judge(playbook, ACTIONS, Node(snapshot.node, "recorded"), Draining())
        taken = []
        for _ in range(RUNS):
            began = time.process_time()
            what_ifs(snapshot, judge)
            taken.append(time.process_time() - began)
        seconds[path.name] = min(taken)
    slowest = max(seconds, key=lambda name: seconds[name])
    median = statistics.median(seconds.values())
    print(f"median {median * 1000:.0f} ms of CPU a case, worst {seconds[slowest] * 1000:.0f} ms ({slowest})")
    record_property("median_seconds", median)
    record_property("worst_seconds", seconds[slowest])
    assert seconds[slowest] < SECONDS
