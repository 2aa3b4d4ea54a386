"""Reading profiles beside stackcollapse-perf.pl on the same file, the memory it takes, and how soon a node answers."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.demo.fleet import FLEET, running

pytestmark = pytest.mark.benchmark
ROOT = Path(__file__).parents[2]
SCRIPT = "https://raw.githubusercontent.com/brendangregg/FlameGraph/master/stackcollapse-perf.pl"
COMMAND = [sys.executable, "-P", "-m", "bot", "profile", "--format", "folded", "--from"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}
MOST_MEMORY = 250 * 10**6


def events(megabytes: int, *, distinct: bool = False) -> Iterator[str]:
    """Yield events like those of a busy node: 3,000 paths of 8 to 40 frames, some far more often than others."""
    drawn = random.Random(7)
    modules = ["[kernel.kallsyms]", "/usr/lib/x86_64-linux-gnu/libc-2.31.so", "/usr/bin/kubelet", "[nf_conntrack]"]
    functions = [
        (f"function_{n}_of_something", drawn.choice(modules), drawn.randrange(1 << 20, 1 << 47)) for n in range(4000)
    ]
    paths = [[drawn.choice(functions) for _ in range(drawn.randint(8, 40))] for _ in range(3000)]
    callers = ["".join(f"\t{at + 77:16x} {name}+0x4d ({module})\n" for name, module, at in path[1:]) for path in paths]
    threads = [("kubelet", 2317), ("swapper", 0), ("java", 4021), ("V8 WorkerThread", 777), ("ray::IDLE", 99121)]
    size, now = 0, 158_665.5
    while size < megabytes * 10**6:
        now += drawn.random() * 0.0004
        which = int(drawn.paretovariate(0.6)) % len(paths)
        name, module, at = paths[which][0]
        process, pid = drawn.choice(threads)
        offset = drawn.randrange(40) * 4
        suffix = f"_{size:x}" if distinct else ""
        text = (
            f"{process} {pid:5}/{pid:<5} [{drawn.randrange(96):03}] {now:.6f}: {drawn.randrange(1, 10**7):10} cycles:\n"
            f"\t{at + offset:16x} {name}{suffix}+0x{offset:x} ({module})\n{callers[which]}\n"
        )
        size += len(text)
        yield text


def cpu_seconds(command: list[str], out: Path) -> float:
    """Run a command and return the CPU time it took: of the two, neither waits for the other."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with out.open("wb") as file:
        subprocess.run(command, stdout=file, cwd=ROOT, env=ENVIRONMENT, timeout=900, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.fixture
def collapse(tmp_path: Path) -> Path:
    """The program itself, fetched for this test; ZOMBIE_STACKCOLLAPSE names one that is here already."""
    if here := os.environ.get("ZOMBIE_STACKCOLLAPSE"):
        return Path(here)
    path = tmp_path / "stackcollapse-perf.pl"
    fetched = subprocess.run(["curl", "-fsSL", "-m", "60", "-o", path, SCRIPT], capture_output=True, check=False)
    if fetched.returncode != 0 or shutil.which("perl") is None:
        pytest.skip("stackcollapse-perf.pl cannot be fetched, or perl is missing")
    return path


def test_folds_three_times_as_fast_as_stackcollapse(tmp_path: Path, collapse: Path) -> None:
    source = tmp_path / "perf.txt"
    with source.open("w") as file:
        file.writelines(events(300))
    theirs = cpu_seconds(["perl", str(collapse), str(source)], tmp_path / "theirs")
    ours = cpu_seconds([*COMMAND, str(source)], tmp_path / "ours")
    print(
        f"\n{source.stat().st_size / 1e6:.0f} MB: ours {ours:.2f} s, stackcollapse {theirs:.2f} s: {theirs / ours:.1f}"
    )
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    assert theirs / ours >= 3


async def test_ten_seconds_of_a_node_are_answered_in_time(tmp_path: Path) -> None:
    async with running(FLEET[:1], tmp_path, lambda: datetime.now(UTC)) as fleet:
        words = ("profile", FLEET[0].name, "--seconds", "10", "--inventory", str(fleet.inventory))
        began = time.monotonic()
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "bot", *words), env=ENVIRONMENT, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await program.communicate()
        took = time.monotonic() - began
    print(f"\n10 s of 96 simulated cores: answered after {took:.1f} s")
    assert (program.returncode, b"mem_cgroup_nr_lru_pages" in out) == (0, True)
    assert took <= 25


PEAK = """
import resource, runpy, sys
sys.argv = ["bot", *sys.argv[1:]]
try:
    runpy.run_module("bot", run_name="__main__")
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, file=sys.stderr)
"""


@pytest.mark.parametrize("distinct", [False, True], ids=["few stacks", "every stack another"])
def test_a_gigabyte_fits_in_bounded_memory(distinct: bool, tmp_path: Path) -> None:
    wanted = ["profile", "--from", "-", "--format", "folded", "--out", str(tmp_path / "folded")]
    command = [sys.executable, "-c", PEAK, *wanted]
    running = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT, text=True
    )
    assert running.stdin is not None
    written = 0
    for text in events(1000, distinct=distinct):
        running.stdin.write(text)
        written += 1
    _, said = running.communicate(timeout=600)
    peak = int(said.split()[-1])
    print(f"\n1 GB, {written:,} events: {peak / 1e6:.0f} MB at most")
    assert running.returncode == 0
    assert peak < MOST_MEMORY
    if distinct:  # none is dropped
        with (tmp_path / "folded").open() as lines:
            assert sum(1 for _ in lines) == written


def test_a_million_stacks_are_all_there_in_bounded_memory(tmp_path: Path) -> None:
    many, source, out = 10**6, tmp_path / "perf.txt", tmp_path / "folded"
    with source.open("w") as file:
        for number in range(many):
            at, frame = 100 + number / 10**5, f"\t    1000 f{number}+0x4 ([kernel.kallsyms])\n"
            file.write(f"kubelet 1/2 [003] {at:.6f}: 1 cycles:\n{frame}\t    2000 read+0x1 ([kernel.kallsyms])\n\n")
    wanted = ["profile", "--from", str(source), "--format", "folded", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *wanted], capture_output=True, cwd=ROOT, env=ENVIRONMENT, timeout=600, check=True
    )
    peak = int(done.stderr.split()[-1])
    print(f"\n{many:,} different stacks: {peak / 1e6:.0f} MB at most")
    assert peak < MOST_MEMORY
    with out.open() as lines:
        assert sum(1 for _ in lines) == many
