"""A Kubernetes node from check to resolved, the whole program over SSH and over its cluster's API."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.cluster.cluster import Cluster, DemoNode
from bot.demo.cluster.pod import Budget, DemoPod
from bot.demo.fleet_leaks import HIDDEN
from tests.nodes.acting_fleet import POLICY, Site, site
from tests.nodes.cluster_server import ClusterServer
from tests.waiting import until

pytestmark = pytest.mark.slow
NAME = "ip-10-0-0-7.ec2.internal"
KUBERNETES = '[kubernetes]\nkubeconfig = "kubeconfig"\ncontext = "prod"\ndrain_deadline = "60s"\n'


@asynccontextmanager
async def cluster(folder: Path, *pods: DemoPod) -> AsyncIterator[tuple[Site, ClusterServer]]:
    """A site of one node, which is in a cluster."""
    async with site(folder, {"node": (HIDDEN, None)}, POLICY + KUBERNETES) as here:
        inventory = here.fleet.inventory
        inventory.write_text(inventory.read_text().replace("labels = { ", f'labels = {{ kubernetes_node = "{NAME}", '))

        def boot_id() -> str:
            return here.machine("node").state.boot_id

        node = DemoNode(NAME, boot_id)
        async with ClusterServer.running(Cluster.of([node], pods, asyncio.get_running_loop().time)) as server:
            (folder / "kubeconfig").write_text(server.kubeconfig("prod"))
            yield here, server


def worker(**more: object) -> DemoPod:
    pod = DemoPod("ray", "worker-0", NAME, ("RayCluster", "train-7"), {"ray.io/cluster": "train-7"}, grace=1.0)
    for key, value in more.items():
        setattr(pod, key, value)
    return pod


@pytest.mark.long
async def test_program_that_is_killed_in_the_drain_is_followed_by_one_that_ends_it(tmp_path: Path) -> None:
    async with cluster(tmp_path, worker(budgets=(Budget("ray", refuses=6),))) as (here, server):
        incident = (await here.opened("node"))["node"]
        first = await here.start("remediate", incident, "--approve-as", "alice", "--reason", "it leaks")
        asked = server.cluster.pods[0].budgets[0]
        await asyncio.to_thread(until, lambda: asked.asked >= 2, within=timedelta(seconds=60))
        first.send_signal(signal.SIGKILL)
        await first.communicate()
        assert (await here.kinds(incident))[-1] == "StepStarted"
        assert server.cluster.nodes[NAME].unschedulable

        async with asyncio.timeout(120):
            while (done := await here.remediate(incident)).status != 0:
                assert "AlreadyDecided" in done.err, done
        assert server.cluster.evicted == ["ray/worker-0"]
        assert server.cluster.patched == [f"{NAME} unschedulable=True", f"{NAME} unschedulable=None"]
        assert here.machine("node").reboots == 1
