"""Makes the recordings under tests/captures/nodes: `python -m tests.lab.record v1|v2 [FAULT…]`, as root, ten minutes.

Each fault is made on a real node, recorded by `zombie check --record`, and taken away again; the last ones are those
that only a reboot clears. Each recording then wants its label in verdicts.toml, given by a person.
"""

import gzip
import sys
import tempfile
from pathlib import Path

from tests.lab.bench import Bench

NODES = Path(__file__).parents[1] / "captures" / "nodes"
FAULTS = ("failed-units", "cfs-throttling", "leaked-memory-cgroups", "conntrack-full")


def record(bench: Bench, name: str) -> None:
    """Record the node as it is now."""
    with tempfile.TemporaryDirectory() as folder:
        done = bench.zombie("check", "lab-1", "--config", str(bench.settings), "--record", folder)
        assert done.returncode == 0, done.stderr
        NODES.mkdir(parents=True, exist_ok=True)
        said = (Path(folder) / "lab-1.jsonl").read_bytes()
        (NODES / f"{name}.jsonl.gz").write_bytes(gzip.compress(said, mtime=0))


def main(cgroups: str, faults: tuple[str, ...]) -> None:
    """Boot, record the healthy node, then each fault."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        try:
            bench.up("--cgroups", cgroups, "--memory", "1536", "--cpus", "3")
            record(bench, f"debian-12-{cgroups}--healthy")
            for fault in faults:
                print(bench.fault(fault))
                record(bench, f"debian-12-{cgroups}--{fault}")
                if fault == "leaked-memory-cgroups":
                    assert bench.node().run("systemctl disable --now ecs.service").ok
                    record(bench, f"debian-12-{cgroups}--leak-ended-by-hand")
                bench.fault(fault, "--undo")
        finally:
            bench.zombie("lab", "down")


if __name__ == "__main__":
    main(sys.argv[1], tuple(sys.argv[2:]) or FAULTS)
