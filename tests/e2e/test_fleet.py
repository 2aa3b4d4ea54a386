"""`zombie fleet` over simulated nodes behind real SSH: who has it, by a single look, and what it cost."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from bot.demo import fleet_pattern
from bot.demo.cluster.cluster import Cluster, DemoNode
from bot.demo.cluster.pod import DemoPod
from bot.demo.faults import Fault
from bot.demo.fleet import FLEET, PATTERN, running
from bot.demo.fleet_leaks import AUTO_RESTART, STOPPED
from bot.demo.fleet_other_faults import BUSY
from bot.extras.fleet.report import Prevalence
from tests.nodes.acting_fleet import Site, site
from tests.nodes.cluster_server import ClusterServer
from tests.slack.workspace import now

pytestmark = pytest.mark.slow
LEAK = "leaked-memory-cgroups"
NODES = {
    "gpu-1a-1": (AUTO_RESTART, None),
    "gpu-1a-2": (STOPPED, None),
    "gpu-1b-1": (BUSY, None),
    "gpu-1b-2": (BUSY, Fault.OTHER_HOST_KEY),
}


async def swept(here: Site, *words: str, status: int = 1) -> dict[str, Any]:
    done = await here.zombie("fleet", *words, "--json")
    assert done.status == status, done.err
    body: dict[str, Any] = json.loads(done.out)
    return body


async def test_one_look_finds_who_has_it_full_checks_judge_and_what_means_nobody_is_an_error(tmp_path: Path) -> None:
    async with site(tmp_path, NODES) as here:
        told = await swept(here, "role=gpu", "--cause", LEAK)
        assert (told["schema"], told["asked"], told["answered"], told["complete"]) == (1, 4, 3, True)
        assert [(lost["node"], lost["class"]) for lost in told["unreachable"]] == [("gpu-1b-2", "host-key")]
        low, high = Prevalence(2, 3).interval
        assert told["causes"] == [
            {
                "cause": LEAK,
                "judged": "signature",
                "nodes": ["gpu-1a-1", "gpu-1a-2"],
                "share": pytest.approx(2 / 3, abs=1e-6),
                "interval": [pytest.approx(low, abs=1e-6), pytest.approx(high, abs=1e-6)],
                "exact": False,
                "undecided": [],
                "muted": [],
            }
        ]
        assert told["by"]["az"] == {
            "us-east-1a": {"asked": 2, "answered": 2, "causes": {LEAK: 2}},
            "us-east-1b": {"asked": 2, "answered": 1, "causes": {}},
        }
        said = [command for name in ("gpu-1a-1", "gpu-1b-1") for command in here.machine(name).done]
        assert said == []

        everything = await swept(here, "gpu-1a-*", "gpu-1b-1")
        assert {cause["judged"] for cause in everything["causes"]} == {"signature"}
        assert everything["causes"][0]["nodes"] == ["gpu-1a-1", "gpu-1a-2"]

        text = await here.zombie("fleet", "gpu-1a-*", "--cause", LEAK)
        assert "2 of 2: 100 %, every node was read" in text.out
        assert "possible, not proven" in text.out
        assert re.search(rf"^gpu-1a-1  {LEAK}: [\d,]+ dying memory cgroups beside \d+ alive$", text.err, re.MULTILINE)
        assert re.search(r"^    gpu-1a-1  [\d,]+ dying memory cgroups beside \d+ alive$", text.out, re.MULTILINE)
        checked = await here.zombie("check", "gpu-1a-1")
        assert "CRITICAL" in checked.out
        for status in ("critical", "degraded", "healthy"):
            assert status not in (text.out + text.err).lower(), "a single look has no status that a check contradicts"

        told = await swept(here, "gpu-1a-*", "gpu-1b-1", "--full")
        assert {cause["judged"] for cause in told["causes"]} == {"full"}
        verdicts = {node["node"]: (node["status"], node["cause"], node["confidence"]) for node in told["nodes"]}
        assert verdicts == {
            "gpu-1a-1": ("critical", LEAK, "confirmed"),
            "gpu-1a-2": ("degraded", LEAK, "confirmed"),
            "gpu-1b-1": ("healthy", None, None),
        }
        mixed = await swept(here, "gpu-1b-1", "--cause", LEAK, "cpu-steal", status=0)
        assert {cause["cause"]: cause["judged"] for cause in mixed["causes"]} == {
            LEAK: "signature",
            "cpu-steal": "full",
        }

        for words, sentence in (
            (("role=cpu",), "role is gpu"),
            (("gpu-9*",), "Near it are"),
            (("gpu-1a-3",), "Did you mean gpu-1a-"),
            (("role=$(reboot)",), "does not say which nodes"),
            (("gpu-1a-1", "--cause", "leaked"), LEAK),
            (("pod/x",), "no Kubernetes cluster is configured"),
            (("gpu-1a-1", "--sample", "0%"), "no sample"),
        ):
            done = await here.zombie("fleet", *words)
            assert (done.status, sentence in done.err) == (2, True), done.err
        await swept(here, "gpu-1b-2", status=4)
        two = await here.zombie("fleet", "role=gpu", "--sample", "2", "--json")  # which two is chance
        assert json.loads(two.out)["asked"] == 2


async def test_interrupt_keeps_what_came(tmp_path: Path) -> None:
    async with site(tmp_path, {**NODES, "gpu-1c-1": (BUSY, Fault.SILENT)}) as here:
        process = await here.start("fleet", "role=gpu", "--cause", LEAK, "--json", "--parallel", "5")
        assert process.stdout is not None
        assert process.stderr is not None
        lines = set[str]()
        async with asyncio.timeout(60):
            while not {"gpu-1a-1", "gpu-1a-2"} <= lines:
                lines.add((await process.stderr.readline()).decode().split("  ")[0])
            process.send_signal(signal.SIGINT)
            out = await process.stdout.read()
            assert await process.wait() == 130
        told = json.loads(out)
        assert (told["asked"], told["complete"]) == (5, False)
        assert told["causes"][0]["nodes"] == ["gpu-1a-1", "gpu-1a-2"]


async def test_dead_node_holds_nobody_up_what_answered_is_shown_and_the_rest_follows(tmp_path: Path) -> None:
    async with site(tmp_path, {**NODES, "gpu-1c-1": (BUSY, Fault.SILENT)}) as here:
        process = await here.start("fleet", "role=gpu", "--cause", LEAK)
        assert process.stdout is not None
        shown = list[str]()
        async with asyncio.timeout(60):
            while not shown or "For verdicts" not in shown[-1]:
                shown.append((await process.stdout.readline()).decode())
            assert process.returncode is None, "it still waits for the dead node"
            rest = (await process.stdout.read()).decode()
            status = await process.wait()
        first = "".join(shown)
        assert first.startswith("3 of 5 nodes answered so far, in ")
        assert "These follow: gpu-1c-1" in " ".join(first.split())
        assert "2 of 3: 67 %" in first
        assert rest.splitlines()[1].startswith("gpu-1c-1  UNREACHABLE  ")
        assert rest.splitlines()[-1].startswith("3 of 5 nodes answered, in ")
        assert LEAK not in rest, "the counts are as they were"
        assert status == 1


async def test_workload_stands_for_the_nodes_that_it_runs_on(tmp_path: Path) -> None:
    pytest.importorskip("lightkube")
    job = {"batch.kubernetes.io/job-name": "train-7"}
    pods = [
        DemoPod("ray", f"train-7-{at}", node, ("Job", "train-7"), job)
        for at, node in enumerate(("gpu-1a-1", "gpu-1b-1"))
    ]
    cluster = Cluster.of([DemoNode(name, lambda: "boot") for name in NODES], pods, lambda: 0.0)
    async with site(tmp_path, NODES) as here, ClusterServer.running(cluster) as server:
        (tmp_path / "kubeconfig").write_text(server.kubeconfig("prod"))
        with (tmp_path / "zombie.toml").open("a") as settings:
            settings.write('[kubernetes]\nkubeconfig = "kubeconfig"\ncontext = "prod"\n')
        told = await swept(here, "job/train-7", "-n", "ray", "--cause", LEAK)
        assert (told["asked"], told["causes"][0]["nodes"]) == (2, ["gpu-1a-1"])
        told = await swept(here, "pod/train-7-1", "-n", "ray", "--cause", LEAK, status=0)
        assert (told["asked"], told["answered"]) == (1, 1)
        elsewhere = await here.zombie("check", "job/train-7")
        assert (elsewhere.status, "in the namespace default" in elsewhere.err) == (2, True)
        server.broken = True
        broken = await here.zombie("fleet", "job/train-7", "-n", "ray")
        assert (broken.status, "does not say where job/train-7 runs: 500" in broken.err) == (2, True)


async def test_demo_has_a_fleet_of_forty_with_a_pattern_that_fleet_and_diff_find(tmp_path: Path) -> None:
    assert len(FLEET) + len(PATTERN) >= 40
    async with running(PATTERN, tmp_path, now) as fleet:
        here = Site(tmp_path, fleet, {**os.environ, "HOME": str(tmp_path), "ZOMBIE_INVENTORY": str(fleet.inventory)})
        told = await swept(here, "role=trainer", "--cause", LEAK)
        leaking = sorted(state.name for state in fleet_pattern.LEAKING)
        assert sorted(told["causes"][0]["nodes"]) == leaking
        assert told["by"]["az"]["us-east-1c"]["causes"] == {}
        assert told["by"]["image"][fleet_pattern.OLDER] == {"asked": 12, "answered": 12, "causes": {LEAK: 7}}

        done = await here.zombie("diff", "trainer-1a-0*", "trainer-1b-0*", "--against", "role=trainer", "--json")
        compared = json.loads(done.out)
        (accident,) = compared["not_evidence_of_health"]
        assert (accident["unit"], accident["nodes"]) == ("ecs.service", [f"trainer-1c-0{at}" for at in range(1, 6)])
        assert accident["says"].startswith("Not evidence of health")
        facts = {difference["fact"]: difference for difference in compared["differences"]}
        assert (facts["label.image"]["surprise"], "remark" in facts["label.image"]) == (3.809, False)  # 1 in C(15, 7)
        assert facts["label.image"]["telling"], "even among all facts compared"
        assert facts["label.image"]["surprise"] == compared["differences"][0]["surprise"]
        assert "boot_units.enabled[ecs.service]" in facts
        same = await here.zombie("diff", "trainer-1a-01", "--against", "trainer-1a-01")
        assert (same.status, "nothing to compare with" in same.err) == (2, True)
