"""Progress on a terminal: few lines whatever the number of nodes, and nothing kept of those that are done."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta

from bot.domain.contracts import ProbeAnswered, ReadingStarted, VerdictReached
from bot.surfaces.progress import SHOWN_NODES, TerminalProgress
from tests.unit.surfaces.verdicts import FOUNDING


def test_long_run_says_how_far_it_is_in_a_few_lines() -> None:
    screen = io.StringIO()
    progress = TerminalProgress(screen, lambda: 80, lambda: 12.4, 1_000)
    for number in range(60):
        progress.heard(ReadingStarted(f"node-{number}", ("cpu", "units"), timedelta(seconds=5)))
        progress.heard(ProbeAnswered(f"node-{number}", "cpu", None))
    for number in range(20):
        progress.heard(VerdictReached(replace(FOUNDING, node=f"node-{number}")))
    progress.draw()
    *reading, more, sick, done = screen.getvalue().splitlines()
    assert len(reading) == SHOWN_NODES
    assert reading[0] == "  reading node-20: 1 of 2 probes, cpu, 12 s"
    assert more == f"  … and {40 - SHOWN_NODES} more"
    assert sick == "  not healthy so far: node-0, node-1, node-2 and 17 more"
    assert done == "  20 of 1,000 nodes done, 12 s"


def test_node_that_answers_slowly_is_called_slow() -> None:
    screen = io.StringIO()
    progress = TerminalProgress(screen, lambda: 100, lambda: 21.0, 1)
    progress.heard(ReadingStarted("node-1", ("cpu", "units"), timedelta(seconds=5)))
    progress.heard(ProbeAnswered("node-1", "cpu", slowness=8.2))
    progress.draw()
    assert screen.getvalue() == "  reading node-1: 1 of 2 probes, cpu, answers took 8 × as long as usual, 21 s\n"


def test_check_of_a_few_nodes_needs_no_count() -> None:
    screen = io.StringIO()
    progress = TerminalProgress(screen, lambda: 80, lambda: 1.0, 2)
    progress.heard(ReadingStarted("node-1", ("cpu",), timedelta(seconds=5)))
    progress.draw()
    assert screen.getvalue() == "  reading node-1: 0 of 1 probes, 1 s\n"
