"""The lab on this machine: what it says when nothing is there, and that nothing is left when it cannot start."""

import json
import os
from pathlib import Path

import pytest

from bot.domain.errors import UnknownNode, UsageError
from bot.lab import tools
from bot.lab.image_store import Image, ImageStore
from bot.lab.lab import Lab, LabRequest
from bot.lab.node import LabNode
from bot.lab.process import Process
from bot.lab.recipe import Recipe


def silent(_: str) -> None:
    pass


def a_lab(folder: Path) -> Lab:
    return Lab(folder / "state", folder / "images", silent)


def a_node(folder: Path, name: str = "lab-1") -> LabNode:
    place = folder / "state" / "nodes" / name
    place.mkdir(parents=True)
    node = LabNode(name, "v2", "127.0.0.1", 1, Process(2**22 + 1, 1), place, folder / "root")
    node.save()
    return node


def test_node_of_an_earlier_program_is_loaded_and_its_container_left_to_it(tmp_path: Path) -> None:
    node = a_node(tmp_path)
    saved = node.folder / "node.json"
    row = json.loads(saved.read_text())
    saved.write_text(json.dumps(row | {"kind": "qemu"}))
    assert LabNode.load(node.folder) == node
    saved.write_text(json.dumps(row | {"kind": "nspawn"}))
    with pytest.raises(UsageError, match="container of an earlier version"):
        LabNode.load(node.folder)


def test_missing_tools_are_named_with_the_packages_that_have_them() -> None:
    with pytest.raises(UsageError, match="no-such-program") as caught:
        tools.need({"no-such-program": "its-package", "sh": "dash"})
    assert caught.value.try_next.endswith("apt install --no-install-recommends its-package")


def test_without_a_lab_everything_says_how_to_start_one(tmp_path: Path) -> None:
    lab = a_lab(tmp_path)
    for ask in (lambda: lab.inventory, lambda: lab.node("lab-1")):
        with pytest.raises(UsageError) as caught:
            ask()
        assert "zombie lab up" in caught.value.try_next
    assert lab.down() == 0


def test_unknown_node_is_told_with_near_ones(tmp_path: Path) -> None:
    a_node(tmp_path)
    with pytest.raises(UnknownNode) as caught:
        a_lab(tmp_path).node("lab-2")
    assert "lab-1" in caught.value.try_next


def test_second_lab_is_refused_while_one_is_up(tmp_path: Path) -> None:
    a_node(tmp_path)
    with pytest.raises(UsageError, match="up already"):
        a_lab(tmp_path).up(Recipe(""), LabRequest())


def test_down_deletes_what_the_lab_wrote_and_nothing_else(tmp_path: Path) -> None:
    a_node(tmp_path)
    state = tmp_path / "state"
    (state / "inventory.toml").write_text("")
    (state / "mine.txt").write_text("kept")
    assert a_lab(tmp_path).down() == 1
    assert [path.name for path in state.iterdir()] == ["mine.txt"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may make images")
def test_making_an_image_without_root_says_why(tmp_path: Path) -> None:
    if any(tools.path_of(tool) is None for tool in tools.FOR_THE_IMAGE):
        pytest.skip("the tools that make images are not here")
    with pytest.raises(UsageError, match="needs root once"):
        ImageStore(tmp_path, silent).image(Recipe(""))


def test_host_key_is_pinned_as_known_hosts_writes_it(tmp_path: Path) -> None:
    (tmp_path / "host_key.pub").write_text("ssh-ed25519 AAAA root@lab\n")
    assert Image(tmp_path).host_key == "ssh-ed25519 AAAA"
