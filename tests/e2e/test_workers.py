"""One sweep, read by several programs: `zombie fleet --scheduler` and `zombie worker`, and a worker that is killed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.app.factories import library
from bot.app.version import version
from bot.demo.faults import Fault
from bot.demo.fleet_leaks import AUTO_RESTART, STOPPED
from bot.demo.fleet_other_faults import BUSY
from bot.domain.errors import SchedulerError
from bot.domain.node import Node
from bot.extras.fleet.runner import SweepDependencies
from bot.extras.fleet.settings import WorkersSettings
from bot.extras.fleet.sweep import NodeAnswer, NodeOutcome, Sweep
from bot.inventory import Inventory
from bot.settings import Settings
from tests.nodes.acting_fleet import POLICY, ROOT, Site, site
from tests.nodes.simulated_fleet import fleet_of
from tests.nodes.workers import Program, Workshop, workshop

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")
LEAK = "leaked-memory-cgroups"
NODES = {
    "gpu-1a-1": (AUTO_RESTART, None),
    "gpu-1a-2": (STOPPED, None),
    "gpu-1b-1": (BUSY, None),
    "gpu-1b-2": (BUSY, Fault.OTHER_HOST_KEY),
}
OTHER_VERSION = (
    "import bot.app.version as it, sys; it.version = lambda: '0.0.9'; from bot.__main__ import main; sys.exit(main())"
)
ACTING_KEY = '[ssh.act]\nuser = "zombie-act"\nkey = "/nowhere/acting_key"\n'


async def swept(here: Site, *words: str, status: int = 1) -> tuple[dict[str, Any], str]:
    done = await here.zombie("fleet", *words, "--json")
    assert done.status == status, done.err
    return json.loads(done.out), done.err


def timeless(told: dict[str, Any]) -> dict[str, Any]:
    """Without what is measured anew each time."""
    for node in told.get("nodes", ()):
        del node["summary"]
    return {name: value for name, value in told.items() if name != "seconds"}


async def test_workers_tell_what_one_machine_tells_and_act_on_no_node_and_one_of_another_version_gets_no_work(
    tmp_path: Path,
) -> None:
    async with site(tmp_path, NODES, POLICY + ACTING_KEY) as here:
        with workshop(tmp_path, here.environ) as shop:
            for _ in range(2):
                shop.worker()
            other = shop.worker(script=OTHER_VERSION)
            for words in (("role=gpu", "--full"), ("role=gpu", "--cause", LEAK, "--parallel", "1")):
                alone, _ = await swept(here, *words)
                spread, said = await swept(here, *words, "--scheduler", shop.url)
                assert timeless(spread) == timeless(alone)
                assert spread["complete"]
                assert f"2 workers at {shop.url}" in said
                assert f"is not used: it is zombie 0.0.9, and this is zombie {version()}" in said
            assert [worker.said.count("zombie: read") > 0 for worker in shop.workers] == [True, True, False]
            assert "zombie: read" not in other.said
            pair = ("gpu-1a-1", "gpu-1a-2", "--against", "gpu-1b-1", "--json")
            differs = [await here.zombie("diff", *pair, *more) for more in ((), ("--scheduler", shop.url))]
            assert json.loads(differs[0].out)["differences"]
            assert differs[0].out == differs[1].out
            assert [worker.end() for worker in shop.workers] == [0, 0, 0]
        assert [here.machine(name).done for name in NODES] == [[], [], [], []]


def part_of(inventory: Path, folder: Path, *names: str) -> str:
    """Write an inventory of some of the nodes only, and return its path."""
    head, *tables = inventory.read_text().split("\n[nodes.")
    kept = [table for table in tables if table.partition("]")[0] in names]
    path = inventory.parent / f"{folder.name}-{'-'.join(names)}.toml"
    path.write_text("\n[nodes.".join([head, *kept]))
    return str(path)


@pytest.mark.long
async def test_chunk_that_is_given_up_with_its_workers_is_named(tmp_path: Path) -> None:
    """Dask gives a chunk up after four workers; here it is told to after one."""
    async with site(tmp_path, {**NODES, "gpu-1b-3": (BUSY, Fault.SILENT)}) as here:
        environ = {**here.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        with workshop(tmp_path, environ) as shop:
            worker = shop.worker("--parallel", "50")
            words = ("gpu-1a-1", "gpu-1b-3", "--cause", LEAK, "--json", "--scheduler", shop.url)
            asked = await here.start("fleet", *words)
            assert asked.stderr is not None
            async with asyncio.timeout(120):
                while not (line := (await asked.stderr.readline()).decode()).startswith("gpu-1a-1  "):
                    assert line
                worker.process.kill()
                out, err = await asked.communicate()
            told = json.loads(out)
            assert (asked.returncode, told["answered"], told["complete"]) == (2, 1, False), err
            assert told["unread"] == ["gpu-1b-3"]
            assert "Not read: gpu-1b-3: the workers that read them died one after another." in err.decode()


@pytest.mark.long
async def test_nodes_go_to_workers_of_their_zone_and_what_nobody_reads_is_named(tmp_path: Path) -> None:
    async with site(tmp_path, NODES) as here:
        inventory = here.fleet.inventory
        a, b = (part_of(inventory, tmp_path, f"gpu-1{zone}-1", f"gpu-1{zone}-2") for zone in "ab")
        with workshop(tmp_path, here.environ) as shop:
            of_a = shop.worker("--zone", "us-east-1a", ZOMBIE_INVENTORY=a)
            of_b = shop.worker("--zone", "us-east-1b", ZOMBIE_INVENTORY=b)
            told, said = await swept(here, "role=gpu", "--cause", LEAK, "--parallel", "1", "--scheduler", shop.url)
            assert (told["answered"], told["complete"]) == (3, True)
            assert "2 workers at" in said
            assert "in us-east-1a, us-east-1b" in said
            assert [worker.said.count("read 1 of 1") for worker in (of_a, of_b)] == [2, 2]

            assert of_b.end() == 0
            shop.worker(ZOMBIE_INVENTORY=a)  # one without a zone is asked for the others, and does not know them
            told, said = await swept(here, "role=gpu", "--cause", LEAK, "--scheduler", shop.url, status=2)
            assert (told["answered"], told["complete"], told["unread"]) == (2, False, ["gpu-1b-1", "gpu-1b-2"])
            assert told["causes"][0]["nodes"] == ["gpu-1a-1", "gpu-1a-2"]
            assert "Not read: gpu-1b-1, gpu-1b-2: the inventory of" in said
            assert "does not have them. The others were read, and are counted." in " ".join(said.split())
            told, said = await swept(here, "gpu-1b-1", "--cause", LEAK, "--scheduler", shop.url, status=2)
            assert (told["answered"], "No node was read." in said) == (0, True)


@pytest.mark.long
async def test_another_playbook_of_the_same_name_is_refused_by_the_worker_s_name(tmp_path: Path) -> None:
    async with site(tmp_path, NODES) as here:
        folder = tmp_path / "playbooks"
        folder.mkdir()
        text = (ROOT / "playbooks/node-health.yaml").read_text()
        changed = re.sub(r"^version: (\d+)$", r"version: 9\1", text, flags=re.MULTILINE)
        assert changed != text
        (folder / "node-health.yaml").write_text(changed)
        with workshop(tmp_path, here.environ) as shop:
            shop.worker("--playbooks", str(folder))
            told, said = await swept(here, "gpu-1a-1", "--cause", LEAK, "--scheduler", shop.url, status=2)
            assert (told["answered"], told["complete"]) == (0, False)
            assert "its playbook node-health differs from the asker's playbook" in said
            shop.worker()
            told, said = await swept(here, "role=gpu", "--cause", LEAK, "--parallel", "1", "--scheduler", shop.url)
            assert told["complete"]


def certificates(folder: Path, authority: str) -> dict[str, str]:
    """Make an authority and one certificate, as docs/fleet.md does, and return the options that name them."""
    ca, own = folder / f"{authority}.pem", folder / f"{authority}-own.pem"
    ca_key, own_key, request = (path.with_suffix(end) for path, end in ((ca, ".key"), (own, ".key"), (own, ".csr")))
    new = ["-newkey", "rsa:2048", "-nodes"]
    for argv in (
        ["req", "-x509", *new, "-days", "2", "-subj", f"/CN={authority}", "-keyout", ca_key, "-out", ca],
        ["req", *new, "-subj", "/CN=own", "-keyout", own_key, "-out", request],
        ["x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "2", "-out", own],
    ):
        subprocess.run(["openssl", *map(str, argv)], check=True, capture_output=True, timeout=60)
    return {"ca": str(ca), "cert": str(own), "key": str(own_key)}


def as_options(files: dict[str, str]) -> list[str]:
    return [word for name, path in files.items() for word in (f"--scheduler-{name}", path)]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
@pytest.mark.long
async def test_between_machines_everybody_shows_a_certificate_of_one_authority(tmp_path: Path) -> None:
    async with site(tmp_path, NODES) as here:
        ours, theirs = (certificates(tmp_path, name) for name in ("ours", "theirs"))
        tls = ["--protocol", "tls", "--tls-ca-file", ours["ca"], "--tls-cert", ours["cert"], "--tls-key", ours["key"]]
        with workshop(tmp_path, here.environ, *tls) as shop:
            assert shop.url.startswith("tls://")
            worker = shop.worker(*as_options(ours))
            assert re.search(r"at tls://127\.0\.0\.1:\d+$", worker.said, re.MULTILINE)
            words = ("role=gpu", "--cause", LEAK, "--scheduler", shop.url)
            told, _ = await swept(here, *words, *as_options(ours))
            assert (told["answered"], told["complete"]) == (3, True)

            stranger = shop.starts(*as_options(theirs))
            refused = await here.zombie("fleet", *words, *as_options(theirs))
            assert (refused.status, "does not answer" in refused.err) == (2, True), refused.err
            plain = await here.zombie("fleet", *words[:-1], shop.url.replace("tls://", "tcp://"))
            assert plain.status == 2
            assert await asyncio.to_thread(stranger.process.wait, 60) == 2
            assert "or rejects this worker" in stranger.said
            assert worker.said.count("zombie: read") == 2  # a chunk a zone, and nothing of the stranger's


async def test_plain_text_to_another_machine_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async with site(tmp_path, NODES) as here:
        for words in (("fleet", "*"), ("worker",)):
            done = await here.zombie(*words, "--scheduler", "tcp://10.255.255.1:8786")
            assert (done.status, "whoever reaches a scheduler runs code" in done.err) == (2, True), done.err
        nowhere = await here.zombie("worker")
        assert (nowhere.status, "No scheduler is named" in nowhere.err) == (2, True)


# --- a worker of two is killed in the middle: every node is answered, once


MANY = 40
CHUNK = 5
DEADLINE = timedelta(seconds=30)


@dataclass
class Cluster:
    """One standing scheduler with its workers, and the nodes that these read."""

    shop: Workshop
    nodes: tuple[Node, ...]
    workers: list[Program]

    async def answers(self, heard: Callable[[NodeAnswer], None], told: Callable[[str], None] = print) -> None:
        sweep = Sweep.of(library().get("node-health"), ["leaked-memory-cgroups"])
        settings = Settings(members={"workers": WorkersSettings(scheduler=self.shop.url)}, deadline=DEADLINE)
        nowhere: Any = None  # this machine reads no node
        means = SweepDependencies(settings, nowhere, parallel=CHUNK, remark=told)
        await means.sweep(self.nodes, len(self.nodes), sweep).reader.read(self.nodes, heard)

    def joins(self) -> None:
        self.workers.append(self.shop.worker("--parallel", "50"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("workers")
    with fleet_of(20) as fleet:
        inventory = fleet.names(MANY)
        environ = {"ZOMBIE_INVENTORY": str(inventory), "HOME": str(folder)}
        with workshop(folder, environ) as shop:
            cluster = Cluster(shop, Inventory.load(inventory).nodes, [])
            for _ in range(2):
                cluster.joins()
            yield cluster


async def killed_in(cluster: Cluster, chance: random.Random) -> None:
    """Sweep once, and kill a worker when so many answers are there."""
    due, victim = chance.randrange(MANY), cluster.workers.pop(chance.randrange(2))
    heard = list[NodeAnswer]()

    def outcome(answer: NodeAnswer) -> None:
        heard.append(answer)
        if len(heard) > due and victim.process.poll() is None:
            os.kill(victim.process.pid, signal.SIGKILL)
            victim.process.wait(10)

    await cluster.answers(outcome)
    assert victim.end() == -signal.SIGKILL
    assert Counter(answer.node for answer in heard) == Counter(node.name for node in cluster.nodes)
    assert {answer.outcome for answer in heard} == {NodeOutcome.ANSWERED}


async def test_every_node_is_answered_once(cluster: Cluster) -> None:
    await killed_in(cluster, random.Random(0))


@pytest.mark.benchmark
async def test_every_node_is_answered_once_a_hundred_times(
    cluster: Cluster, record_property: Callable[[str, object], None]
) -> None:
    began, chance = time.monotonic(), random.Random(1_000)
    for _ in range(100):
        await killed_in(cluster, chance)
        cluster.joins()
    record_property("table", f"100 sweeps of {MANY} nodes, a worker killed in each: {time.monotonic() - began:.0f} s")


@pytest.mark.long
async def test_scheduler_that_goes_away_is_told_and_what_came_stays(cluster: Cluster) -> None:
    """The last test of this file: it takes the cluster with it."""
    heard = list[NodeAnswer]()

    def outcome(answer: NodeAnswer) -> None:
        heard.append(answer)
        if cluster.shop.scheduler.process.poll() is None:
            cluster.shop.scheduler.process.kill()

    with pytest.raises(SchedulerError, match="is gone"):
        await cluster.answers(outcome)
    assert 0 < len(heard) < MANY
    for worker in cluster.workers:
        assert worker.end(signal.SIGCONT) == 2  # a signal that does nothing: it ends by itself
        assert "is gone" in worker.said
    with pytest.raises(SchedulerError, match="does not answer"):
        await replace(cluster).answers(outcome)
