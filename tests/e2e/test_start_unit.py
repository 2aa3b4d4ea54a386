"""A kubelet that was stopped and forgotten, from check to resolved, the whole program over SSH."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.demo.cluster.cluster import Cluster, DemoNode
from bot.demo.fleet_other_faults import KUBELET_STOPPED
from tests.nodes.acting_fleet import POLICY, site
from tests.nodes.cluster_server import ClusterServer

STARTS = POLICY.replace("[act]", '[act]\nstart_units = ["kubelet.service"]')
NAME = "ip-10-0-0-7.ec2.internal"
START = "start kubelet.service"


async def test_kubelet_is_started_after_a_yes_and_proved_and_the_start_is_not_taken_back(tmp_path: Path) -> None:
    async with site(tmp_path, {"node": (KUBELET_STOPPED, None)}, STARTS) as here:
        incident = (await here.opened("node"))["node"]
        shown = await here.zombie("incidents", "show", incident)
        assert "sudo -n systemctl start -- kubelet.service" in shown.out, shown.out
        assert "Somebody may have stopped it on purpose." in " ".join(shown.out.split())
        done = await here.remediate(incident, reason="nobody needs it stopped")
        assert done.status == 0, done
        assert here.machine("node").done == [START]
        kubelet = next(unit for unit in here.machine("node").state.units if unit.name == "kubelet.service")
        assert (kubelet.active, kubelet.enabled) == ("active", "enabled")
        undone = await here.zombie("undo", incident, "--approve-as", "bob", "--reason", "stop it again")
        assert undone.status == 1
        assert "NothingToUndo" in undone.err
        assert here.machine("node").done == [START]


@pytest.mark.parametrize("policy", [POLICY, POLICY.replace("ecs.service", "kubelet.service")])
async def test_unit_that_is_not_in_the_list_has_no_button_and_the_line_to_add_is_told(
    tmp_path: Path, policy: str
) -> None:
    async with site(tmp_path, {"node": (KUBELET_STOPPED, None)}, policy) as here:
        incident = (await here.opened("node"))["node"]
        last = (await here.told(incident))["entries"][-1]
        assert last["kind"] == "PlanWithheld"
        assert "kubelet.service is not among the units that may be started." in last["body"]["because"]
        assert '[act] start_units = ["kubelet.service"]' in last["body"]["because"]
        assert (await here.remediate(incident)).status == 1
        assert here.machine("node").done == []


async def test_node_that_its_cluster_does_not_find_ready_yet_is_given_the_window(tmp_path: Path) -> None:
    kubernetes = '[kubernetes]\nkubeconfig = "kubeconfig"\ncontext = "prod"\n'
    async with site(tmp_path, {"node": (KUBELET_STOPPED, None)}, STARTS + kubernetes) as here:
        inventory = here.fleet.inventory
        inventory.write_text(inventory.read_text().replace("labels = { ", f'labels = {{ kubernetes_node = "{NAME}", '))
        asked: list[bool] = []

        def is_ready() -> bool:
            asked.append(len(asked) > 0)
            return asked[-1]

        node = DemoNode(NAME, lambda: here.machine("node").state.boot_id, is_ready)
        async with ClusterServer.running(Cluster.of([node], (), asyncio.get_running_loop().time)) as server:
            (tmp_path / "kubeconfig").write_text(server.kubeconfig("prod"))
            incident = (await here.opened("node"))["node"]
            done = await here.remediate(incident)
            assert done.status == 0, done
            samples = [
                entry["body"] for entry in (await here.told(incident))["entries"] if entry["kind"] == "SampleTaken"
            ]
        assert [sample["holds"] for sample in samples][:1] == [False], "its kubelet was started a moment ago"
        assert "is not Ready in its cluster" in str(samples[0])
        assert samples[-1]["holds"]
