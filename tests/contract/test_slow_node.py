"""A node that gets a tenth of a core is read all the same: later, as far as any other, and called slow."""

import contextlib
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.nodes.sshd import SSHD, Sshd
from tests.program import zombie
from tests.waiting import until

pytestmark = [pytest.mark.real_sshd, pytest.mark.slow]

V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
PERIOD_USEC, TENTH_USEC = 20_000, 2_000  # short, so that every command waits and not a few for long
DEADLINE = 60  # seconds, the default


@contextlib.contextmanager
def a_tenth_of_a_core(sshd: Sshd) -> Iterator[None]:
    """Give the server and its sessions that much CPU: by a quota, or where there is none only what others leave."""
    folder = (V1 if V1.is_dir() else V2) / f"zombie-slow-{os.getpid()}"
    quota = folder / ("cpu.cfs_quota_us" if V1.is_dir() else "cpu.max")
    try:
        folder.mkdir()
        quota.write_text(str(TENTH_USEC) if V1.is_dir() else f"{TENTH_USEC} {PERIOD_USEC}")
        (folder / "cgroup.procs").write_text(str(sshd.pid))
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        with _beside_hogs(sshd):
            yield
        return
    try:
        yield
    finally:
        sshd.stop()
        until(lambda: not (folder / "cgroup.procs").read_text().strip(), what="the end of the sessions")
        folder.rmdir()


@contextlib.contextmanager
def _beside_hogs(sshd: Sshd) -> Iterator[None]:
    """SCHED_IDLE is inherited: the sessions get what two busy processes a core leave them, which is next to nothing."""
    hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
    try:
        os.sched_setscheduler(sshd.pid, os.SCHED_IDLE, os.sched_param(0))
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def checked(node: Sshd, folder: Path) -> tuple[dict[str, Any], float]:
    """Return the verdict of the default check as JSON, and how many seconds it took."""
    inventory = node.inventory(folder)
    began = time.monotonic()
    done = zombie("check", "node-1", "--json", "--inventory", str(inventory), within=120)
    return json.loads(done.stdout)["nodes"][0], time.monotonic() - began


def test_node_with_a_tenth_of_a_core_gets_the_verdict_of_any_other(tmp_path: Path) -> None:
    if SSHD is None:
        missing("sshd is not installed (Debian: apt install openssh-server)")
    with Sshd() as node:
        usual, _ = checked(node, tmp_path)
        with a_tenth_of_a_core(node):
            slow, took = checked(node, tmp_path)
    never = [
        unread for unread in slow["unread"] if "never came" in unread["reason"] or "time limit" in unread["reason"]
    ]
    assert never == []
    assert (slow["status"], slow["cause"]) == (usual["status"], usual["cause"])
    assert [each["probe"] for each in slow["unread"]] == [each["probe"] for each in usual["unread"]]
    assert slow["slowness"] >= 3
    assert took < DEADLINE
    print(f"{took:.1f} s, answers took {slow['slowness']} × as long as usual")
