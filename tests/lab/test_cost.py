"""What the patient pays for one check while ten thousand cgroups leak, by the node's own cgroup accounting."""

import resource
import subprocess
import time
from datetime import timedelta

import pytest

from bot.lab.node import LabNode
from tests.lab.bench import Bench, dying, leaks
from tests.waiting import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SESSION = "user.slice/user-1000.slice"
OTHERS = ("system.slice/ssh.service", "init.scope", "system.slice/dbus.service", "system.slice/systemd-logind.service")
MANY_PROCESSES = "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i + 1)); done"


def cpu_seconds(node: LabNode, group: str) -> float:
    """Return what a cgroup v2 group has used so far."""
    said = node.run(f"cat /sys/fs/cgroup/{group}/cpu.stat").stdout.split()
    return int(said[said.index("usage_usec") + 1]) / 1e6


def seconds_here() -> float:
    """Return the CPU time that many small processes take on this machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["sh", "-c", MANY_PROCESSES], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds_there(node: LabNode) -> float:
    """Return the CPU time that the same takes on an emulated node."""
    said = node.run(f"sh -c '{MANY_PROCESSES}'; times").stdout.splitlines()[1]
    return sum(60 * float(t.split("m")[0]) + float(t.split("m")[1].rstrip("s")) for t in said.split())


def test_first_verdict_comes_within_a_minute_from_a_cached_image(own: Bench) -> None:
    own.up()
    own.zombie("lab", "down")
    began = time.monotonic()
    own.up()
    assert own.check()["status"] == "healthy"
    assert time.monotonic() - began < 60


def test_one_check_costs_less_than_a_second_of_one_core_and_20_mebibytes(own: Bench) -> None:
    node = own.up("--memory", "1536")
    assert node.run("loginctl enable-linger zombie").ok  # its slice stays, with its figures, between sessions
    leaks(own)
    assert node.run("systemctl disable --now ecs.service").ok
    assert dying(node) > 10_000
    own.check()  # what is read for the first time is not paid twice

    slowness = seconds_there(node) / seconds_here()
    groups = (SESSION, *OTHERS)
    before = {group: cpu_seconds(node, group) for group in groups}
    rest = int(node.run(f"cat /sys/fs/cgroup/{SESSION}/memory.current").stdout)
    began = time.monotonic()
    own.check()
    took = time.monotonic() - began
    spent = {group: cpu_seconds(node, group) - before[group] for group in groups}
    peak = int(node.run(f"cat /sys/fs/cgroup/{SESSION}/memory.peak").stdout)
    print(f"emulation is {slowness:.1f} times slower; {took:.1f} s; emulated CPU-seconds:", spent)
    print(f"memory: {rest / 2**20:.1f} MiB at rest, {peak / 2**20:.1f} MiB at most, page cache included")
    # Emulated seconds are not the patient's: what is physical is how many times a known piece of work they are.
    assert spent[SESSION] / slowness < 1.0
    assert peak - rest < 20 * 2**20

    assert took < 60  # a window of 5 s, and what an emulated node takes beyond it

    # A connection that is cut leaves nothing behind on the node.
    with subprocess.Popen(
        own.argv("check", "lab-1", "--config", str(own.settings), "--samples", "30"), env=own.environment
    ) as check:
        until(lambda: "mpstat" in node.run("ps -u zombie -o comm=").stdout, within=timedelta(minutes=1))
        check.kill()
    left = "ps -eo user=,comm= | grep -E '^zombie|mpstat|timeout' | grep -vE 'systemd|sd-pam' || true"
    until(lambda: not node.run(left).stdout.strip(), within=timedelta(minutes=1), what="the end of every child")
