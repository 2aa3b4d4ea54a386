"""Many simulated nodes in a process of their own, so that what they cost is not taken for what the bot costs."""

import asyncio
import gc
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bot.demo.fleet import healthy_nodes, running

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Served:
    """What serving cost. Units: CPU seconds since the fleet stood, and MiB at the most."""

    cpu_seconds: float
    peak_mib: int


class FleetProcess:
    """A running fleet; `inventory` reaches it, `end` stops it and tells what it cost."""

    def __init__(self, count: int, folder: Path) -> None:
        self.inventory = folder / "inventory.toml"
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.nodes.simulated_fleet", str(count), str(folder)],
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError("the simulated fleet did not start")

    def names(self, count: int, ports: Sequence[int] = ()) -> Path:
        """Return an inventory of `count` names; those beyond the fleet's own lead to its nodes once more, in turn.

        `ports` are further servers on this machine, whose names are `other-…` and stand before all others.
        """
        text = self.inventory.read_text()
        head, *tables = text.split("\n[nodes.")
        more = (
            f"more-{number}]{tables[number % len(tables)].partition(']')[2]}" for number in range(len(tables), count)
        )
        address = re.search(r'address = ".*"', text)
        assert address is not None
        others = (f"other-{number}]\n{address.group()}\nport = {port}\n" for number, port in enumerate(ports))
        path = self.folder / "names.toml"
        path.write_text("\n[nodes.".join([head, *others, *tables[:count], *more]))
        return path

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that it has spent so far, its start among them (proc(5): utime and stime)."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> Served:
        """Stop the fleet and return what it cost."""
        told, _ = self._process.communicate("\n", timeout=60)
        return Served(**json.loads(told))

    def kill(self) -> None:
        """End it for good."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def fleet_of(count: int, key: Path | None = None) -> Iterator[FleetProcess]:
    """Run that many alike, healthy nodes for the length of a block; `key` is a login key that they are to take."""
    with tempfile.TemporaryDirectory(prefix="zombie-fleet-") as folder:
        if key is not None:
            shutil.copy(key, Path(folder) / "demo_key")
        fleet = FleetProcess(count, Path(folder))
        try:
            yield fleet
        finally:
            fleet.kill()


@contextmanager
def fleets_of(
    processes: int, each: int, folder: Path, names: int | None = None
) -> Iterator[tuple[Sequence[FleetProcess], Path]]:
    """Run `each` nodes in each of several processes; yield those, and an inventory of all nodes in `folder`.

    Shape: each process's nodes are asked under `names` names, their own unless told.
    """
    with ExitStack() as stack:
        fleets = [first := stack.enter_context(fleet_of(each))]
        fleets += [stack.enter_context(fleet_of(each, first.folder / "demo_key")) for _ in range(processes - 1)]
        tables = list[str]()
        for number, fleet in enumerate(fleets):
            _, *found = fleet.names(names or each).read_text().split("\n[nodes.")
            tables += [f"\n[nodes.f{number}-{table.rstrip()}\n" for table in found]
        (folder / "known_hosts").write_text("".join((fleet.folder / "known_hosts").read_text() for fleet in fleets))
        shutil.copy(first.folder / "demo_key", folder)
        path = folder / "inventory.toml"
        path.write_text('[ssh]\nuser = "demo"\nkey = "demo_key"\nknown_hosts = "known_hosts"\n' + "".join(tables))
        yield fleets, path


async def _serve(count: int, folder: Path) -> None:
    loop = asyncio.get_running_loop()
    async with running(healthy_nodes(count), folder, lambda: datetime.now(UTC)):
        gc.collect()
        gc.freeze()  # all nodes stand: whoever measures a bot must not measure a look at them again and again
        gc.set_threshold(20_000, 10, 50)
        print("ready", flush=True)
        before = time.process_time()
        await loop.run_in_executor(None, sys.stdin.readline)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps({"cpu_seconds": time.process_time() - before, "peak_mib": peak}), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), Path(sys.argv[2])))
