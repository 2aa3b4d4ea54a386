"""Nodes from EC2 and from Kubernetes, as `zombie nodes` lists them: whole, in part, and from what was kept."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.demo.cluster.cluster import Cluster, DemoNode
from tests.clouds.ec2 import ENDLESS, GARBAGE, OTHER_REGION, REGION, THROTTLED, Ec2, ec2_running
from tests.nodes.cluster_server import ClusterServer
from tests.program import zombie

pytestmark = pytest.mark.slow
BOTH = f'[ec2]\nregions = ["{REGION}", "{OTHER_REGION}"]\nrefresh = "30s"\n'


@dataclass(frozen=True, slots=True)
class Here:
    """A folder in which `zombie` is run."""

    folder: Path
    environment: dict[str, str]

    def zombie(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the program as a process of its own."""
        kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        return zombie(*words, cwd=self.folder, env=kept | {"HOME": str(self.folder), **self.environment})

    def nodes(self, inventory: str) -> tuple[dict[str, str], str]:
        """Return what is listed, by name, and what stands on stderr."""
        (self.folder / "inventory.toml").write_text(inventory)
        done = self.zombie("nodes")
        assert done.returncode == 0, done.stderr
        return {line.split(None, 1)[0]: line.split(None, 1)[1] for line in done.stdout.splitlines()}, done.stderr

    def age(self) -> None:
        """Make what was kept an hour old."""
        for path in (self.folder / ".local/state/zombie/inventory").glob("*.json"):
            text = path.read_text()
            year = text.split('"read_at": "', 1)[1][:4]
            path.write_text(text.replace(f'"read_at": "{year}', '"read_at": "2020', 1))


@pytest.fixture(scope="module")
def server() -> Iterator[Ec2]:
    with ec2_running() as ec2:
        yield ec2


@pytest.fixture
def ec2(server: Ec2) -> Ec2:
    server.empty()
    return server


def test_instances_of_all_regions_are_nodes_with_their_labels(tmp_path: Path, ec2: Ec2) -> None:
    (gpu,) = ec2.run(Name="gpu-1", role="gpu", team="a\u202eb")
    (cpu,) = ec2.run(region=OTHER_REGION, Name="cpu-1", Role="cpu")
    (stopped,) = ec2.run(Name="stopped-1")
    ec2.client().stop_instances(InstanceIds=[stopped])
    nodes, said = Here(tmp_path, ec2.environment).nodes(BOTH)
    assert said == ""
    assert nodes.keys() == {"gpu-1", "cpu-1"}
    for name, id_, zone, role in (("gpu-1", gpu, REGION, "gpu"), ("cpu-1", cpu, OTHER_REGION, "cpu")):
        told = nodes[name]
        assert told.startswith("10.")
        assert f"instance_id={id_}" in told
        assert f"az={zone}" in told
        assert f"role={role}" in told
        assert "instance_type=p4d.24xlarge" in told
        assert "image=ami-" in told
    assert "team=a\\u202eb" in nodes["gpu-1"]


def test_filters_narrow_what_is_listed_and_written_nodes_come_first(tmp_path: Path, ec2: Ec2) -> None:
    ec2.run(Name="gpu-1", role="gpu")
    ec2.run(Name="cpu-1", role="cpu")
    inventory = (
        f'[nodes.gpu-1]\naddress = "192.0.2.7"\n[ec2]\nregions = ["{REGION}"]\nfilters = {{ "tag:role" = "gpu" }}\n'
    )
    nodes, _ = Here(tmp_path, ec2.environment).nodes(inventory)
    assert nodes == {"gpu-1": "192.0.2.7"}


def test_a_name_that_two_instances_claim_is_neither_s(tmp_path: Path, ec2: Ec2) -> None:
    twins = ec2.run(count=2, Name="gpu-1")
    lying = ec2.run(Name="$(reboot)", kubernetes_node="other", demo="1", instance_id="i-0")
    nodes, _ = Here(tmp_path, ec2.environment).nodes(BOTH)
    assert nodes.keys() == {*twins, *lying}
    assert "kubernetes_node" not in nodes[lying[0]]
    assert "demo" not in nodes[lying[0]]
    assert f"instance_id={lying[0]}" in nodes[lying[0]]


def test_what_was_listed_is_kept_for_its_time_and_stands_in_for_a_region_that_throttles(
    tmp_path: Path, ec2: Ec2
) -> None:
    ec2.run(Name="gpu-1")
    ec2.run(region=OTHER_REGION, Name="cpu-1")
    here = Here(tmp_path, ec2.environment)
    assert here.nodes(BOTH)[0].keys() == {"gpu-1", "cpu-1"}
    ec2.run(region=OTHER_REGION, Name="cpu-2")
    asked = len(ec2.asked)
    assert here.nodes(BOTH)[0].keys() == {"gpu-1", "cpu-1"}
    assert len(ec2.asked) == asked, "what is fresh is not asked for again"
    here.age()
    ec2.instead[REGION] = THROTTLED
    nodes, said = here.nodes(BOTH)
    assert nodes.keys() == {"gpu-1", "cpu-1", "cpu-2"}
    assert f"EC2 {REGION}: 1 node, listed" in said
    assert "RequestLimitExceeded" in said
    assert OTHER_REGION not in said


@pytest.mark.parametrize(("answer", "says"), [(GARBAGE, "not a list of instances"), (ENDLESS, "too many pages")])
def test_answers_that_are_none_are_said_and_end(tmp_path: Path, ec2: Ec2, answer: tuple[int, bytes], says: str) -> None:
    ec2.run(region=OTHER_REGION, Name="cpu-1")
    ec2.instead[REGION] = answer
    nodes, said = Here(tmp_path, ec2.environment).nodes(BOTH)
    assert nodes.keys() == {"cpu-1"}
    assert "never listed yet" in said
    assert says in said
    assert ec2.asked.count(REGION) < 4


async def test_nodes_of_a_cluster_page_by_page_and_one_machine_of_two_lists_stands_once(
    tmp_path: Path, ec2: Ec2
) -> None:
    (shared,) = ec2.run(Name="gpu-1", role="gpu")
    nodes = [
        DemoNode(
            f"ip-10-0-0-{number}",
            lambda: "boot",
            unschedulable=number == 2,
            ready=lambda number=number: number != 3,  # type: ignore[misc]
            labels={"topology.kubernetes.io/zone": "us-east-1a", "pool": "a" if number < 5 else "b"},
            address=f"10.0.0.{number}",
            provider=f"aws:///us-east-1a/{shared}" if number == 1 else "",
        )
        for number in range(1, 6)
    ]
    async with ClusterServer.running(Cluster.of(nodes, (), lambda: 0.0)) as cluster:
        cluster.page = 2
        (tmp_path / "kubeconfig").write_text(cluster.kubeconfig("prod"))
        inventory = f'[kubernetes]\ncontext = "prod"\nselector = "pool=a"\nkubeconfig = "kubeconfig"\n{BOTH}'
        found, said = await asyncio.to_thread(Here(tmp_path, ec2.environment).nodes, inventory)
    assert said == ""
    assert found.keys() == {f"ip-10-0-0-{number}" for number in (1, 2, 3, 4)}
    first = found["ip-10-0-0-1"]
    assert first.startswith("10.0.0.1")
    for label in ("role=gpu", "az=us-east-1a", "kubernetes_context=prod", "ready=true", "kernel=6.8", shared):
        assert label in first
    assert "cordoned=true" in found["ip-10-0-0-2"]
    assert "ready=unknown" in found["ip-10-0-0-3"]
    assert len([call for call in cluster.calls if "/nodes?" in call]) == 2


async def test_cluster_that_pages_without_end_is_said_and_drops_nobody(tmp_path: Path, ec2: Ec2) -> None:
    nodes = [DemoNode(f"ip-10-0-0-{at}", lambda: "boot", address=f"10.0.0.{at}") for at in (1, 2, 3)]
    here = Here(tmp_path, ec2.environment)
    async with ClusterServer.running(Cluster.of(nodes, (), lambda: 0.0)) as cluster:
        (tmp_path / "kubeconfig").write_text(cluster.kubeconfig("prod"))
        inventory = '[kubernetes]\ncontext = "prod"\nkubeconfig = "kubeconfig"\nrefresh = "30s"\n'
        found, _ = await asyncio.to_thread(here.nodes, inventory)
        here.age()
        cluster.page = 0  # each page is empty, and says that there are more
        asked = len(cluster.calls)
        again, said = await asyncio.to_thread(here.nodes, inventory)
    assert again.keys() == found.keys() == {node.name for node in nodes}
    assert "too many pages" in said
    assert len(cluster.calls) - asked < 10


def test_faults_of_the_tables_are_said_with_their_lines(tmp_path: Path, ec2: Ec2) -> None:
    here = Here(tmp_path, ec2.environment)
    (tmp_path / "inventory.toml").write_text(
        '[ec2]\nregions = ["us east"]\nname = "nickname"\naddress = "home"\nfilter = {}\n[kubernetes]\n'
    )
    done = here.zombie("nodes")
    assert done.returncode == 2
    for line, words in (
        (2, "us east"),
        (3, "tag:Name"),
        (4, "private-ip"),
        (5, "Did you mean filters"),
        (6, "context"),
    ):
        assert any(f":{line}: " in said and words in said for said in done.stderr.splitlines()), (line, done.stderr)
    assert not ec2.asked
