"""The demo on the lab's nodes: what it writes stays out of the lab; its policy is the demo's, with longer windows."""

import tomllib
from pathlib import Path

from bot.app.lab_demo import POLICY_HERE, LabDemoNodes
from bot.lab.lab import Lab
from bot.lab.node import LabNode
from bot.lab.process import Process


def test_nodes_have_copies_of_the_labs_files_and_an_ssh_command(tmp_path: Path) -> None:
    place, folder = tmp_path / "lab", tmp_path / "demo"
    (place / "nodes/lab-1").mkdir(parents=True)
    folder.mkdir()
    node = LabNode("lab-1", "v1", "127.0.0.1", 2222, Process(1, 1), place / "nodes/lab-1", tmp_path / "root")
    node.save()
    for name in ("inventory.toml", "known_hosts", "login_key", "zombie.toml"):
        (place / name).write_text(name)

    nodes = LabDemoNodes.of(Lab(place, tmp_path / "images", lambda _: None), folder, {"lab-1": "what there is to see"})

    assert sorted(path.name for path in folder.iterdir()) == ["inventory.toml", "known_hosts", "login_key"]
    assert nodes.inventory == folder / "inventory.toml"
    assert nodes.ssh_command("lab-1")[-3:] == ("-p", "2222", "zombie@127.0.0.1")
    assert nodes.summary.startswith("1 of the lab's nodes")


def test_policy_is_the_demos_without_its_cluster_and_with_time_for_a_real_reboot() -> None:
    policy = tomllib.loads(POLICY_HERE)
    assert policy["act"]["reboot_deadline"] == "10m"
    assert "ecs.service" in policy["act"]["units"]
    assert "kubernetes" not in policy
