"""`zombie check` as a person runs it: the whole program as a process, against real OpenSSH."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bot.surfaces.document import SCHEMA_FILE
from tests import program
from tests.conftest import missing
from tests.nodes.sshd import SSHD, Sshd
from tests.waiting import until

pytestmark = pytest.mark.real_sshd
ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SCHEMA = Draft202012Validator(json.loads(SCHEMA_FILE.read_text()))


@pytest.fixture(scope="module")
def node() -> Iterator[Sshd]:
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    with Sshd() as node:
        yield node


@pytest.fixture
def inventory(node: Sshd, tmp_path: Path) -> Path:
    path = node.inventory(tmp_path, "node-1", "node-2")
    with path.open("a") as file:
        file.write('[nodes.closed]\naddress = "127.0.0.1"\nport = 1\n')
    return path


def zombie(*arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
    more.setdefault("env", ENVIRONMENT)
    return program.zombie(*map(str, arguments), **more)


def checked(*arguments: str | Path) -> tuple[int, dict[str, dict[str, Any]]]:
    done = zombie("check", "--json", "--samples", "1", *arguments)
    assert done.stdout, done.stderr
    body = json.loads(done.stdout)
    SCHEMA.validate(body)
    return done.returncode, {one["node"]: one for one in body["nodes"]}


def is_judged(verdict: dict[str, Any]) -> bool:
    """True for a verdict as this machine earns it: unknown only where its kernel log is not for the login to read."""
    if verdict["status"] == "unknown":
        return "kernel_log was not read" in verdict["summary"]
    return verdict["status"] in ("healthy", "degraded")


def test_node_over_ssh_gets_one_verdict_of_the_promised_shape(inventory: Path) -> None:
    status, nodes = checked("node-1", "--inventory", inventory)
    assert is_judged(nodes["node-1"]), nodes["node-1"]["summary"]
    assert status == {"healthy": 0, "degraded": 1, "unknown": 3}[nodes["node-1"]["status"]]
    assert nodes["node-1"]["readings"]["host"]["kernel"] == os.uname().release
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert nodes["node-1"]["readings"]["host"]["boot_id"] == boot_id


def test_unreachable_node_never_ends_the_run_for_the_others(inventory: Path) -> None:
    status, nodes = checked("node-1", "closed", "node-2", "--inventory", inventory, "--fail-on", "critical")
    assert list(nodes) == ["node-1", "closed", "node-2"]
    assert nodes["closed"]["status"] == "unreachable"
    assert "[refused]" in nodes["closed"]["summary"]
    assert is_judged(nodes["node-2"]), nodes["node-2"]["summary"]
    assert status == 4


def test_person_sees_ten_lines_the_rest_with_full_and_of_several_a_table(inventory: Path) -> None:
    about = ("--samples", "1", "--inventory", inventory)
    brief, full = zombie("check", "node-1", *about), zombie("check", "node-1", "--full", *about)
    assert brief.stdout.startswith("node-1  ")
    assert len(brief.stdout.splitlines()) <= 10
    assert "--full adds the proof" in brief.stdout
    assert "\n  Ruled out\n" not in brief.stdout
    assert "\n  Ruled out\n" in full.stdout
    assert (brief.stderr, full.stderr) == ("", "")
    every = zombie("check", "--all", *about)
    heading, *rows, empty, counts, then = every.stdout.splitlines()
    assert heading.split() == ["STATUS", "NODE", "CAUSE", "WHAT", "NOW"]
    assert sorted(row.split()[1] for row in rows) == ["closed", "node-1", "node-2"]
    assert [row.split()[1] for row in rows if row.startswith("HEALTHY")] == [
        row.split()[1] for row in rows[sum(not row.startswith("HEALTHY") for row in rows) :]
    ], "the healthy come last"
    assert (empty, counts.partition(":")[0]) == ("", "3 of 3 nodes judged")
    assert then == "Next: zombie check NODE, or this again with --full"
    assert "closed  UNREACHABLE" in every.stderr, "what is not healthy is said as it comes"
    assert "\n  Ruled out\n" not in every.stdout
    everything = zombie("check", "closed", "node-1", "--full", "--fail-on", "critical", *about)
    assert everything.stdout.startswith("closed  UNREACHABLE\n")
    assert everything.stdout.splitlines()[-1].startswith("2 of 2 nodes judged")


def test_json_without_readings_is_the_same_but_for_them(inventory: Path) -> None:
    _, whole = checked("node-1", "closed", "--inventory", inventory)
    _, short = checked("node-1", "closed", "--no-readings", "--inventory", inventory)
    assert whole["node-1"]["readings"]
    assert short["node-1"]["readings"] == {}
    sometimes = {"slowness"}  # which this machine has while it is busy
    assert short["node-1"].keys() - sometimes == whole["node-1"].keys() - sometimes
    assert short["node-1"]["ruled_out"]


def test_this_machine_has_a_verdict_and_nothing_that_could_be_read_is_unread() -> None:
    status, nodes = checked("--local")
    (verdict,) = nodes.values()
    assert verdict["status"] in ("healthy", "degraded", "critical"), verdict["summary"]
    assert status == (verdict["status"] != "healthy")
    unread = {one["probe"] for one in verdict["unread"]}
    if not (shutil.which("dig") or shutil.which("host")):
        unread -= {"dns"}
    assert unread <= {"kernel_log", "containers", "nic"}, verdict["unread"]
    if os.geteuid() == 0:
        assert not unread, verdict["unread"]


def test_ctrl_c_ends_cleanly_and_keeps_what_was_judged(inventory: Path) -> None:
    words = ("check", "node-1", "closed", "--json", "--samples", "30", "--inventory", str(inventory))
    with program.Started(*words) as running:
        until(lambda: _child_of_sshd_runs(), what="the batch to run")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=10)
    assert running.returncode == 130
    assert "interrupted, 1 of 2 nodes were judged" in err
    assert [one["node"] for one in json.loads(out)["nodes"]] == ["closed"]
    assert "Traceback" not in err


def _child_of_sshd_runs() -> bool:
    done = subprocess.run(["pgrep", "-f", "^mpstat .* 1 30$"], capture_output=True)
    return done.returncode == 0
