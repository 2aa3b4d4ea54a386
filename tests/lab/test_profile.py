"""Profiles and rolling captures with a real perf on a real systemd: what burns a core is named, and nothing stays.

Under emulation a node has no performance counters, and perf's work takes tens of percent of a core.
"""

import asyncio
import json
import re
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bot.lab.fault import find
from bot.lab.node import LabNode
from bot.probes.formats.functions import signature_of
from tests.lab.bench import Bench, require
from tests.serving import Served
from tests.slack.workspace import workspace
from tests.waiting import until

pytestmark = pytest.mark.slow
BURST_SECONDS = 3
A_LOOK = timedelta(minutes=8)  # an emulated node makes text of a whole ring of segments
HELD = re.compile(
    r"core held for ([\d.]+) s from [\d:.]+ UTC: core 1 ran kubelet \(\d+\) in (\S+) for \d+ % of samples"
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A node for all of these tests; nothing of it is left afterwards."""
    require()
    here = Bench(tmp_path_factory.mktemp("lab-profile"))
    try:
        here.up("--cgroups", "v2", "--memory", "1024", "--cpus", "2")
        yield here
    finally:
        here.zombie("lab", "down")


def moves_pages(function: str) -> bool:
    """True for what the kernel does while it compacts memory, which is what the fault has it do."""
    row, _ = signature_of([function])
    return row is not None and row.name == "compaction"


def remains(node: LabNode) -> str:
    """Return what of a recorder is on the node, units, processes and files; empty where there is nothing."""
    units = "systemctl list-units --all --no-legend 'zombie-capture*'; ls -d /run/systemd/transient/zombie-capture*"
    files = "ls -d /var/lib/zombie-capture; find /tmp /var/tmp /dev/shm -user zombie; find / -xdev -name 'perf.data*'"
    return node.run(f"({units}; pgrep -a perf; {files}) 2>/dev/null").stdout.strip()


def burst(node: LabNode) -> None:
    """Have one process hold core 1 in the kernel for some seconds."""
    run = f"systemd-run -q --wait --collect -p CPUAffinity=1 -E SECONDS={BURST_SECONDS}"
    assert node.run(find("compaction")._script(f"{run} perl $lab/compact-memory.pl")).ok


@pytest.mark.lab
def test_what_burns_a_core_is_named_with_its_process_and_drawn(bench: Bench, tmp_path: Path) -> None:
    words = ("profile", "lab-1", "--config", str(bench.settings), "--seconds", "10", "--out", str(tmp_path), "--json")
    found: dict[str, Any] = {}
    bench.fault("compaction")
    try:
        for _ in range(3):  # kept waiting, an emulated core may do something else meanwhile
            done = bench.zombie(*words)
            assert done.returncode == 0, done.stdout + done.stderr
            found = json.loads(done.stdout)["nodes"][0]
            print(found["hot"], found["reading"], found["capture"])
            if found["hot"]["core"] == 1:
                break
    finally:
        bench.fault("compaction", "--undo")
    assert (found["hot"]["core"], found["hot"]["process"]) == (1, "kubelet")
    assert moves_pages(found["hot"]["function"]), found["top"]
    assert found["reading"]["signature"] == "compaction"
    assert found["event"].startswith("cpu-clock"), "software emulation has no performance counters"
    assert remains(bench.node()) == ""

    (kept,) = tmp_path.glob("*.perf.txt.gz")
    drawn = tmp_path / "heat.png"
    assert bench.zombie("profile", "--from", str(kept), "--format", "png", "--out", str(drawn)).returncode == 0
    with Image.open(drawn) as picture:
        assert len(picture.convert("RGB").getcolors(1 << 20) or ()) > 3
    page = tmp_path / "flame.html"
    assert bench.zombie("profile", "--from", str(kept), "--format", "html", "--out", str(page)).returncode == 0
    assert found["hot"]["function"] in page.read_text()


@pytest.mark.lab
async def test_burst_is_caught_though_the_bot_was_killed_and_nothing_stays(bench: Bench) -> None:
    await caught_in(bench, timedelta(minutes=4))


@pytest.mark.benchmark
async def test_burst_is_caught_in_a_quarter_of_an_hour(bench: Bench) -> None:
    found = await caught_in(bench, timedelta(minutes=15))
    assert found["load_percent"] is not None


async def caught_in(bench: Bench, lasts: timedelta) -> dict[str, Any]:
    """Record for so long, kill the bot in the middle, have a burst after that; return what was shown before the end.

    Kept waiting by this machine's other work, an emulated core may be held with breaks: then there is another burst.
    """
    node, settings = bench.node(), ("--config", str(bench.settings))
    loop = asyncio.get_running_loop()
    begun = loop.time()
    start = ("capture", "start", "lab-1", *settings, "--for", "1h", "--segment", "1m", "--around", "core-held")
    started = await asyncio.to_thread(bench.zombie, *start)
    for _ in range(2):  # just booted and kept waiting, an emulated node may not even tell its units in time
        if "stalled" in started.stderr:
            started = await asyncio.to_thread(bench.zombie, *start)
    assert started.returncode == 0, started.stdout + started.stderr
    capture = started.stdout.split()[1]
    await killed_in_the_middle(bench, lasts / 2)
    planted, shown = 0, {}

    def look() -> dict[str, Any]:
        done = bench.zombie("capture", "show", capture, *settings, "--json", within=A_LOOK)
        assert done.returncode == 0, done.stdout + done.stderr
        news: dict[str, Any] = json.loads(done.stdout)
        print(news)
        return news

    def is_caught() -> bool:
        nonlocal planted, shown
        if planted < 4:
            burst(node)
            planted += 1
        node.run("sleep 65", within_seconds=300)  # until the segment is closed: nothing else of it can be seen
        shown = look()
        return bool(shown["caught"])

    await asyncio.to_thread(until, is_caught, within=lasts, what="a burst to be caught")
    remaining = lasts.total_seconds() - (loop.time() - begun)
    if remaining > 0:
        await asyncio.sleep(remaining)  # it has to have recorded for so long
        shown = await asyncio.to_thread(look)
    stopped = await asyncio.to_thread(bench.zombie, "capture", "stop", capture, *settings, within=A_LOOK)
    print(stopped.stdout)
    assert stopped.returncode == 0, stopped.stderr
    said = [HELD.fullmatch(caught["sentence"]) for caught in shown["caught"]]
    assert all(said), shown["caught"]
    assert 1 <= len(said) <= planted
    assert all(moves_pages(found[2]) for found in said if found is not None), shown["caught"]
    assert await asyncio.to_thread(remains, node) == ""
    return shown


async def killed_in_the_middle(bench: Bench, after: timedelta) -> None:
    """Serve for so long, and be killed as by a machine that loses its power."""
    async with workspace() as slack:
        process = await asyncio.create_subprocess_exec(
            *bench.argv("serve", "--config", str(bench.settings)),
            env={**bench.environment, **slack.environment, "ZOMBIE_LISTEN": "127.0.0.1:0"},
            stderr=asyncio.subprocess.PIPE,
        )
        serves = Served(process, aloud=True)
        await asyncio.sleep(after.total_seconds())
        await serves.kill()
        assert await process.wait() == -signal.SIGKILL
