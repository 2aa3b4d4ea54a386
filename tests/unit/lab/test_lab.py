"""The lab on this machine: its nodes, processes, images and faults, and that nothing is left when it cannot start."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app.lab import recipe
from bot.causes import CAUSES
from bot.domain.errors import UnknownNode, UsageError
from bot.lab import tools
from bot.lab.fault import FAULTS, Fault, find
from bot.lab.image_store import Image, ImageStore
from bot.lab.lab import Lab, LabRequest
from bot.lab.node import LabNode
from bot.lab.process import Process
from bot.lab.recipe import Recipe
from bot.lab.trial import TRIALS, Trial
from tests.waiting import until


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


def test_process_runs_until_it_is_ended() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        process = Process.of(child.pid)
        assert process.runs
        process.end()
        assert not process.runs


def test_process_that_will_not_end_is_killed() -> None:
    with subprocess.Popen(["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.1; done"], stdout=-1) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        process = Process.of(child.pid)
        process.end(within_seconds=0.3)
        assert not process.runs


def test_another_process_with_the_same_number_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        earlier = replace(Process.of(child.pid), started_ticks=1)
        assert not earlier.runs
        earlier.end()
        assert child.poll() is None
        child.kill()


def test_no_process_no_identity() -> None:
    with subprocess.Popen(["true"]) as child:
        child.wait()
    with pytest.raises(ProcessLookupError):
        Process.of(child.pid)


def test_process_that_waits_for_a_cpu_is_starved_and_one_that_sleeps_is_not() -> None:
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    spins = [subprocess.Popen([*one_core, "sh", "-c", "while :; do :; done"]) for _ in range(2)]
    sleeps = subprocess.Popen(["sleep", "60"])
    try:
        until(lambda: all(Process.of(each.pid).starved_seconds > 0.1 for each in spins))
        assert Process.of(sleeps.pid).starved_seconds < 0.1
    finally:
        for each in (*spins, sleeps):
            each.kill()
            each.wait()


@pytest.mark.parametrize(
    "changed",
    [
        {"suite": "trixie"},
        {"packages": ("systemd",)},
        {"sudoers": "zombie ALL=(root) NOPASSWD: /usr/bin/timeout -k 1 8 dmesg\n"},
        {"setup": "true\n"},
        {"size_mib": 4000},
        {"files": (("etc/motd", "hello"),)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_whatever_changes_the_image_changes_its_name(changed: dict[str, object]) -> None:
    first = Recipe.of("")
    assert replace(first, **changed).digest != first.digest  # type: ignore[arg-type]


def test_image_gives_the_bots_login_the_rights_that_reading_needs() -> None:
    lines = recipe("bookworm").sudoers.splitlines()
    assert any(
        line.startswith("zombie ALL=(root) NOPASSWD: /usr/bin/timeout -k 1 8 /usr/bin/journalctl -k") for line in lines
    )


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_script_is_a_shell_script_with_the_three_verbs(fault: Fault) -> None:
    script = fault._script(":")
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
    for verb in ("make", "undo", "look"):
        assert f"\n{verb}() {{" in script, verb


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.fault)
def test_fault_begins_with_the_name_of_the_cause_it_brings(trial: Trial) -> None:
    assert trial.cause in CAUSES
    assert trial.fault == "leak-without-harm" or trial.fault.startswith(trial.cause)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_perl_programs_compile(fault: Fault) -> None:
    from bot.lab.fault import _SCRIPTS

    for name in fault.needs:
        if name.endswith(".pl"):
            done = subprocess.run(["perl", "-c", _SCRIPTS / name], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


def test_unknown_fault_names_near_ones() -> None:
    with pytest.raises(UsageError, match="failed-units"):
        find("failed-unit")
