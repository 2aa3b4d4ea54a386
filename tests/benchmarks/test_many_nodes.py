"""Many simulated nodes, one window: what the bot pays, and that the nodes themselves cost little beside it.

CPU and memory are bounds, those of the processes beside included: of their memory the highest resident set of each by
the kernel's own mark (VmHWM), although they share what was loaded when they were forked. Wall time is compared with a
program that does nothing but log in by asyncssh and run one command on the same nodes in the same run. Nodes and bot
share one machine: where something else took much of it meanwhile (by /proc/stat), the ratio is bounded loosely. How
long each waited for a processor is printed beside it.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import faulty_servers
from tests.nodes.simulated_fleet import ROOT, FleetProcess, fleet_of, fleets_of

WINDOW_SECONDS = 5
MOST_CPU_MS = 15  # a node, of the process that prints, which reads and judges half of them
MOST_BEYOND_WINDOW = 8  # times what asyncssh alone takes, whatever else this machine does
MOST_BEYOND_WINDOW_QUIET = 3.4  # on two cores the nodes' own answers and their result take as long as two more logins
QUIET_SHARE = 0.1  # of this machine, for everything that is neither bot nor node
MOST_CPU_TO_BARE = 8  # times what asyncssh alone takes, for all that the bot does; 5.5 to 6: half of it is result
LOOKS_EVERY_SECONDS = 0.1  # at the kernel's own marks, so that nothing between is missed but the last moment
Figures = dict[str, float]


def mib_for(nodes: int) -> float:
    """The memory that a check of so many nodes may take: 300 MiB, and 15 kB a node."""
    return 300 + nodes * 15_000 / 1048576


def ran(code: str, argv: Sequence[str], home: Path, timeout: float) -> Figures:
    """Run a Python program that tells on stderr what it cost, and return that; what it prints goes to `printed`."""
    began = time.monotonic()
    with (
        printed(home).open("w") as out,
        subprocess.Popen(
            [sys.executable, "-P", "-c", code, *argv],
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "HOME": str(home)},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        ) as running,
        watched(running.pid) as marks,
    ):
        try:
            _, err = running.communicate(timeout=timeout)
        finally:
            running.kill()
    wall = time.monotonic() - began
    told = re.search(r"cpu ([0-9.]+) beside ([0-9.]+) peak ([0-9]+) waited ([0-9.]+)", err)
    assert told is not None, err
    cpu, beside, peak, waited = map(float, told.groups())
    more = sum(kib for pid, kib in marks.items() if pid != running.pid) / 1024
    return {"wall": wall, "cpu": cpu, "beside": beside, "peak": peak, "peak_beside": more, "waited": waited}


@contextmanager
def watched(pid: int) -> Iterator[Mapping[int, int]]:
    """Yield the highest resident set so far of a process and of those it started, in KiB, by process id.

    By proc(5), not ru_maxrss of the children: that begins with what their parent had when it started them. For the same
    reason a process counts only once it was seen for a second: before its own program it has its parent's memory.
    """
    marks, seen, over = dict[int, int](), Counter[int](), threading.Event()

    def watch() -> None:
        while not over.wait(LOOKS_EVERY_SECONDS):
            with suppress(OSError):  # it is just ending
                started = " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
                for each in (pid, *map(int, started.split())):
                    status = Path(f"/proc/{each}/status").read_text()
                    seen[each] += 1
                    if (
                        seen[each] * LOOKS_EVERY_SECONDS >= 1
                        and (mark := re.search(r"VmHWM:\s+([0-9]+) kB", status)) is not None
                    ):
                        marks[each] = int(mark[1])

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield marks
    finally:
        over.set()
        watching.join()


def printed(home: Path) -> Path:
    return home / "printed"


def briefly(path: Path) -> Iterator[dict[str, Any]]:
    """Read a document of many nodes, each on a line of its own, and keep little of each: the whole takes gigabytes."""
    with path.open() as lines:
        assert next(lines) == '{"schema": 1, "nodes": [\n'
        for line in lines:
            if line == "]}\n":
                return
            node = json.loads(line.removesuffix("\n").removesuffix(","))
            yield {key: node[key] for key in ("node", "status", "took_seconds")}
    raise AssertionError("the document has no end")


def bare(inventory: Path, parallel: int, home: Path, timeout: float = 300) -> Figures:
    """Log in to every node of an inventory by asyncssh alone, run one command, and return what it cost."""
    return ran(_BARE + _COST, [str(inventory), str(parallel)], home, timeout)


def checked(
    fleets: Sequence[FleetProcess], inventory: Path, parallel: int, home: Path, timeout: float = 300
) -> tuple[list[dict[str, Any]], Figures]:
    """Check every node of an inventory and return their documents and what it cost."""
    argv = ["check", "--all", "--inventory", str(inventory), "--json", "--parallel", str(parallel)]
    before, busy = cpu_seconds(fleets), busy_seconds()
    spent = ran(_MEASURED + _COST, [*argv, "--samples", str(WINDOW_SECONDS)], home, timeout)
    cost = cpu_seconds(fleets) - before
    others = max(0.0, busy_seconds() - busy - cost - spent["cpu"] - spent["beside"])
    nodes = list(briefly(printed(home)))
    figures = {
        "nodes": len(nodes),
        "wall_seconds": round(spent["wall"], 2),
        "waited_for_a_processor_seconds": spent["waited"],
        "share_of_the_machine_for_others": round(others / spent["wall"] / (os.cpu_count() or 1), 3),
        "bot_cpu_ms_a_node": round(1000 * spent["cpu"] / len(nodes), 1),
        "thinking_beside_cpu_ms_a_node": round(1000 * spent["beside"] / len(nodes), 1),
        "bot_peak_mib": int(spent["peak"] + spent["peak_beside"]),
        "bot_peak_mib_of_the_reader": int(spent["peak"]),
        "simulated_node_cpu_ms": round(1000 * cost / len(nodes), 1),
        "simulated_nodes_peak_mib": sum(fleet.end().peak_mib for fleet in fleets),
    }
    return nodes, figures


def cpu_seconds(fleets: Sequence[FleetProcess]) -> float:
    """Return the CPU seconds that all of them have spent so far."""
    return sum(fleet.cpu_seconds() for fleet in fleets)


def busy_seconds() -> float:
    """Return how long the cores of this machine were busy since its start (proc(5), stat: all but idle and iowait)."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().partition("\n")[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def beside(alone: Figures, figures: Figures) -> Figures:
    """Compare a check with what asyncssh alone took: CPU, and the time beyond the window."""
    beyond = figures["wall_seconds"] - WINDOW_SECONDS
    spent = figures["bot_cpu_ms_a_node"] + figures["thinking_beside_cpu_ms_a_node"]
    return {
        "bare_wall_seconds": round(alone["wall"], 2),
        "bare_waited_seconds": alone["waited"],
        "bare_cpu_ms_a_node": round(1000 * alone["cpu"] / figures["nodes"], 1),
        "beyond_window_to_bare": round(beyond / alone["wall"], 2),
        "cpu_to_bare": round(spent * figures["nodes"] / 1000 / alone["cpu"], 2),
    }


def told(figures: Figures, record_property: Callable[[str, object], None]) -> None:
    print(json.dumps(figures))
    for name, figure in figures.items():
        record_property(name, figure)


def in_time(figures: Figures) -> None:
    """Assert the bound on the time beyond the window."""
    is_quiet = figures["share_of_the_machine_for_others"] <= QUIET_SHARE
    assert figures["beyond_window_to_bare"] <= (MOST_BEYOND_WINDOW_QUIET if is_quiet else MOST_BEYOND_WINDOW)


def statuses(nodes: Sequence[dict[str, Any]]) -> Counter[str]:
    return Counter(node["status"] for node in nodes)


@pytest.mark.benchmark
def test_two_hundred_nodes_at_once(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with fleet_of(200) as fleet:
        alone = bare(fleet.inventory, 200, tmp_path)
        nodes, figures = checked([fleet], fleet.inventory, 200, tmp_path)
    figures |= beside(alone, figures)
    told(figures, record_property)
    assert statuses(nodes) == {"healthy": 200}
    in_time(figures)
    assert figures["cpu_to_bare"] <= MOST_CPU_TO_BARE
    assert figures["bot_cpu_ms_a_node"] <= MOST_CPU_MS
    assert figures["bot_peak_mib"] <= 190  # of two processes
    assert figures["simulated_node_cpu_ms"] <= 20


@pytest.mark.benchmark
def test_thousand_nodes_at_once(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """By two processes: one lets in only so many a second, which nodes with cores of their own do not."""
    with fleets_of(2, 500, tmp_path) as (fleets, inventory):
        alone = bare(inventory, 200, tmp_path)
        nodes, figures = checked(fleets, inventory, 1000, tmp_path)
    figures |= beside(alone, figures)
    told(figures, record_property)
    assert len(nodes) == 1000
    assert set(statuses(nodes)) <= {"healthy", "unknown"}  # unknown: where the bot hardly gets a processor
    in_time(figures)
    assert figures["cpu_to_bare"] <= MOST_CPU_TO_BARE
    assert figures["bot_peak_mib"] <= mib_for(1000)


@pytest.mark.benchmark
def test_ten_thousand_nodes_take_little_more_memory(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Simulated nodes are asked under many names: for the bot they are ten thousand."""
    with fleet_of(400) as fleet:
        nodes, figures = checked([fleet], fleet.names(10_000), 400, tmp_path, 3600)
    told(figures, record_property)
    assert len(nodes) == 10_000
    assert set(statuses(nodes)) <= {"healthy", "unknown"}
    assert figures["bot_cpu_ms_a_node"] <= MOST_CPU_MS
    assert figures["bot_peak_mib"] <= mib_for(10_000)


@pytest.mark.benchmark
def test_thousand_nodes_with_black_holes_among_them(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Five in a hundred do not answer at all and five refuse; they come first, and hold up nobody."""
    with fleet_of(450) as fleet, ExitStack() as kept:
        black_holes = [kept.enter_context(faulty_servers.full()) for _ in range(50)]
        refused = [kept.enter_context(faulty_servers.refusing()) for _ in range(50)]
        inventory = fleet.names(900, [*black_holes, *refused])
        nodes, figures = checked([fleet], inventory, 400, tmp_path, 300)
    told(figures, record_property)
    assert [node["node"] for node in nodes[:100]] == [f"other-{number}" for number in range(100)]
    assert statuses(nodes[50:100]) == {"unreachable": 50}
    # Where the bot itself gets hardly any time it does not say that a silent node is silent.
    assert set(statuses(nodes[:50])) <= {"unreachable", "unknown"}
    assert len(nodes) == 1000
    assert "unreachable" not in statuses(nodes[100:])
    slowest = max(node["took_seconds"] for node in nodes[:100])
    assert slowest <= 2 * 20, "the deadline of one, which a standstill of the bot may double"
    assert figures["bot_cpu_ms_a_node"] <= MOST_CPU_MS
    assert figures["bot_peak_mib"] <= mib_for(1000)


_MEASURED = "import sys; from bot.__main__ import main; status = main(sys.argv[1:]); "
_BARE = """
import asyncio, sys, tomllib
from pathlib import Path
import asyncssh
async def every(path, parallel):
    listed, room = tomllib.loads(path.read_text()), asyncio.Semaphore(parallel)
    key = asyncssh.read_private_key(path.parent / "demo_key")
    trusted = asyncssh.read_known_hosts(str(path.parent / "known_hosts"))  # once, as the bot does
    async def ask(node):
        async with room, asyncssh.connect(
            node["address"], node["port"], username="demo", client_keys=[key], known_hosts=trusted, config=[]
        ) as connection:
            await connection.run("uname -r")  # an answer comes, also where a simulated node knows none
    await asyncio.gather(*map(ask, listed["nodes"].values()))
asyncio.run(every(Path(sys.argv[1]), int(sys.argv[2])))
status = 0
"""
_COST = (
    "import resource, sys; used = resource.getrusage(resource.RUSAGE_SELF); "
    "beside = resource.getrusage(resource.RUSAGE_CHILDREN); "
    "most = int(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]); "
    "waited = int(open('/proc/self/schedstat').read().split()[1]) / 1e9; "  # proc(5), since Linux 2.6.9
    "print('cpu', used.ru_utime + used.ru_stime, 'beside', beside.ru_utime + beside.ru_stime, "
    "'peak', most // 1024, 'waited', round(waited, 2), "
    "file=sys.stderr); sys.exit(status)"
)
