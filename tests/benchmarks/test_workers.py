"""Ten thousand simulated nodes, read by two workers and by one.

The ratio is printed, and bounded loosely: nodes, scheduler and workers share one machine with whatever else runs on it.
Where it has two cores, these are what a sweep waits for, and a second worker brings none. Nodes that are watched over a
window cost waiting, not cores: there a second worker halves the time, and that is bounded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.nodes.simulated_fleet import ROOT, fleets_of
from tests.nodes.workers import Workshop, workshop

pytest.importorskip("distributed")
NODES = 10_000
PROCESSES, EACH = 4, 125  # simulated nodes; each is asked under twenty names


def swept(shop: Workshop, folder: Path, count: int, *words: str) -> float:
    """Sweep so many nodes once, and return the seconds that the sweep itself took."""
    argv = ["fleet", *words, "--deadline", "120"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "bot", *argv, "--scheduler", shop.url, "--json"],
        env={**shop.environ, "PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    told = json.loads(done.stdout)
    assert (told["asked"], told["answered"], told["complete"]) == (count, count, True)
    return float(told["seconds"])


def measured(folder: Path, what: str, count: int, at_once: int, *words: str) -> tuple[float, str]:
    """Sweep by one worker, then by two; return how many times as long the one took, and a line that says so."""
    with (
        fleets_of(PROCESSES, EACH, folder, NODES // PROCESSES) as (_, inventory),
        workshop(folder, {"ZOMBIE_INVENTORY": str(inventory), "HOME": str(folder)}) as shop,
    ):
        shop.worker("--parallel", str(at_once))
        alone = swept(shop, folder, count, *words)
        shop.worker("--parallel", str(at_once))
        both = swept(shop, folder, count, *words)
    where = f"{PROCESSES} processes, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}"
    took = f"one worker {alone:.0f} s, two {both:.0f} s, ratio {alone / both:.2f}"
    return alone / both, f"{count:,} simulated nodes {what}, {at_once} at once a worker, in {where}: {took}"


@pytest.mark.benchmark
def test_ten_thousand_nodes_by_two_workers_beside_one(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    words = ("*", "--cause", "leaked-memory-cgroups", "--parallel", "100")
    ratio, says = measured(tmp_path, "by one look", NODES, 100, *words)
    record_property("table", says)
    assert ratio > 0.6, "a second worker is not in the way"


@pytest.mark.benchmark
def test_nodes_that_are_watched_take_two_workers_about_half_the_time(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    words = ("f?-node-*", "--cause", "cpu-steal", "--parallel", "25")
    ratio, says = measured(tmp_path, "over 5 s", PROCESSES * EACH, 50, *words)
    record_property("table", says)
    assert ratio > 1.4
