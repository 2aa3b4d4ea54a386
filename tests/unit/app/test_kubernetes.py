"""Which cluster nodes are drained in, as the settings say; what it takes is loaded by the first call and not before."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from bot.app.kubernetes import cluster_access, draining
from bot.domain.action import Step
from bot.domain.errors import SettingsError, UnknownCluster
from bot.domain.node import Node
from bot.settings import Settings
from bot.sources import settings_of

ROOT = Path(__file__).parents[3]
NODE = Node("n1", "10.0.0.7", labels={"kubernetes_node": "ip-7"})


def settings(folder: Path, text: str, **environment: str) -> Settings:
    (folder / "zombie.toml").write_text(text)
    return Settings.load({}, environment, folder, members=settings_of())


def test_nothing_is_configured_by_default(tmp_path: Path) -> None:
    found = draining(settings(tmp_path, ""))
    assert found.missing == "no Kubernetes cluster is configured"
    assert cluster_access(settings(tmp_path, ""), {}).api is None


def test_context_pod_or_kubeconfig_makes_nodes_drainable(tmp_path: Path) -> None:
    told = draining(settings(tmp_path, '[kubernetes]\ncontext = "prod"\ndrain_deadline = "20m"\nbare_pods = true\n'))
    assert (told.missing, told.cluster, told.within, told.bare_pods) == ("", "prod", timedelta(minutes=20), True)
    steps, note = told.with_drain(NODE, [Step("reboot")], 0)
    assert note == ""
    assert dict(steps[0].args) == {
        "node": "ip-7",
        "of_cluster": "prod",
        "within": "20m",
        "with_bare_pods": "bare pods too",
    }
    assert dict(steps[2].args) == {"node": "ip-7", "of_cluster": "prod"}
    assert draining(settings(tmp_path, "[kubernetes]\nin_cluster = true\n")).cluster == "in-cluster"
    by_label = draining(settings(tmp_path, "", KUBECONFIG="config"))
    assert (by_label.missing, by_label.cluster) == ("", ""), "each node's label has to say"


def test_without_the_extra_no_node_is_drained_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightkube", None)  # as where it is not installed
    told = settings(tmp_path, '[kubernetes]\ncontext = "prod"\n')
    steps, note = draining(told).with_drain(NODE, [Step("reboot")], 0)
    assert [step.action for step in steps] == ["reboot"]
    assert note == "ip-7 is not drained: the extra k8s is not installed. Its pods are cut off by the reboot."
    assert cluster_access(told, {}).api is None


def test_two_clusters_at_once_are_none(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="one of them"):
        draining(settings(tmp_path, '[kubernetes]\ncontext = "prod"\nin_cluster = true\n'))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[kubernetes]\ncontexts = "a"\n', 'unknown key "contexts" in [kubernetes]. Did you mean context?'),
        ('[kubernetes]\ndrain_deadline = "1s"\n', "drain_deadline should be from"),
        ('[kubernetes]\nbare_pods = "yes"\n', "bare_pods is text"),
    ],
)
def test_fault_is_told_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError) as found:
        settings(tmp_path, text)
    assert says in str(found.value)
    assert "zombie.toml:2" in str(found.value)


async def test_first_call_looks_for_the_kubeconfig_and_says_that_there_is_none(tmp_path: Path) -> None:
    from bot.actions import ACTIONS

    reach = cluster_access(settings(tmp_path, '[kubernetes]\ncontext = "prod"\n'), {"HOME": str(tmp_path)})
    with pytest.raises(UnknownCluster, match=str(tmp_path / ".kube" / "config")):
        await reach.lacking(ACTIONS["drain"], {"node": "ip-7", "of_cluster": "prod"})
    await reach.close()


def test_planning_a_drain_loads_no_client(tmp_path: Path) -> None:
    (tmp_path / "zombie.toml").write_text('[kubernetes]\ncontext = "prod"\n')
    program = (
        "import sys, pathlib, bot.__main__\nfrom bot.app.kubernetes import draining\n"
        "from bot.settings import Settings\n"
        f"settings = Settings.load({{}}, {{}}, pathlib.Path({str(tmp_path)!r}))\n"
        "print(draining(settings).cluster, *sorted({'lightkube', 'httpx2', 'httpx'} & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["prod"]
