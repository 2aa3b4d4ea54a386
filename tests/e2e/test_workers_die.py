"""A worker of two is killed in the middle of a sweep: every node is answered, once."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from bot.app.factories import library
from bot.domain.errors import SchedulerError
from bot.domain.node import Node
from bot.extras.fleet.runner import SweepDependencies
from bot.extras.fleet.settings import WorkersSettings
from bot.extras.fleet.sweep import NodeAnswer, NodeOutcome, Sweep
from bot.inventory import Inventory
from bot.settings import Settings
from tests.nodes.simulated_fleet import fleet_of
from tests.nodes.workers import Program, Workshop, workshop

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow
NODES = 40
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
        await means.sweep(self.nodes, len(self.nodes), sweep).reader.answers(self.nodes, heard)

    def joins(self) -> None:
        self.workers.append(self.shop.worker("--parallel", "50"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("workers")
    with fleet_of(20) as fleet:
        inventory = fleet.names(NODES)
        environ = {"ZOMBIE_INVENTORY": str(inventory), "HOME": str(folder)}
        with workshop(folder, environ) as shop:
            cluster = Cluster(shop, Inventory.load(inventory).nodes, [])
            for _ in range(2):
                cluster.joins()
            yield cluster


async def killed_in(cluster: Cluster, chance: random.Random) -> None:
    """Sweep once, and kill a worker when so many answers are there."""
    due, victim = chance.randrange(NODES), cluster.workers.pop(chance.randrange(2))
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
    record_property("table", f"100 sweeps of {NODES} nodes, a worker killed in each: {time.monotonic() - began:.0f} s")


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
    assert 0 < len(heard) < NODES
    for worker in cluster.workers:
        assert worker.end(signal.SIGCONT) == 2  # a signal that does nothing: it ends by itself
        assert "is gone" in worker.said
    with pytest.raises(SchedulerError, match="does not answer"):
        await replace(cluster).answers(outcome)
