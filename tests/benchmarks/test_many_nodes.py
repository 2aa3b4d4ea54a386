"""Two hundred simulated nodes, one window: what the bot pays, and that the nodes themselves cost little beside it."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.nodes.simulated_fleet import ROOT, fleet_of

COUNT, PARALLEL, WINDOW_SECONDS = 200, 100, 5


@pytest.mark.benchmark
def test_two_hundred_nodes_by_a_hundred(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with fleet_of(COUNT) as fleet:
        argv = ["check", "--all", "--inventory", str(fleet.inventory), "--json", "--parallel", str(PARALLEL)]
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-P", "-c", _MEASURED, *argv, "--samples", str(WINDOW_SECONDS)],
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        wall = time.monotonic() - began
        served = fleet.end()
    nodes = json.loads(done.stdout)["nodes"]
    assert {node["status"] for node in nodes} == {"healthy"}
    assert len(nodes) == COUNT
    told = re.search(r"cpu ([0-9.]+) peak ([0-9]+)", done.stderr)
    assert told is not None, done.stderr
    cpu, peak_mib = float(told.group(1)), int(told.group(2))
    figures = {
        "wall_seconds": round(wall, 2),
        "bot_cpu_ms_a_node": round(1000 * cpu / COUNT, 1),
        "bot_peak_mib": peak_mib,
        "simulated_node_cpu_ms": round(1000 * served.cpu_seconds / COUNT, 1),
        "simulated_nodes_peak_mib": served.peak_mib,
    }
    for name, figure in figures.items():
        record_property(name, figure)
    print(json.dumps(figures))
    assert wall <= 15
    assert cpu / COUNT <= 0.030
    assert peak_mib <= 200
    assert served.cpu_seconds / COUNT <= 0.020


_MEASURED = (
    "import resource, sys; from bot.__main__ import main; status = main(sys.argv[1:]); "
    "used = resource.getrusage(resource.RUSAGE_SELF); "
    "print('cpu', used.ru_utime + used.ru_stime, 'peak', used.ru_maxrss // 1024, file=sys.stderr); sys.exit(status)"
)
