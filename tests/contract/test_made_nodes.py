"""Whole nodes, sick ones and ordinary ones that look sick: each is told as what it is, with the plan that it earned."""

from __future__ import annotations

import json

import pytest

from bot.probes import PROBES
from tests.contract.asked import LOOP, Asked, check, judged
from tests.contract.made_nodes import FOLDER, harmed, made
from tests.independent.facts import DAY, MINUTE, NOW
from tests.independent.kinds import database, founding, metal, nano, rhel7, rocky8
from tests.independent.machine import Machine

FILES = {path.stem: made(path.stem) for path in sorted(FOLDER.glob("*.txt"))}


def swapped(machine: Machine, probe: str, name: str, *pairs: tuple[str, str]) -> Machine:
    """Print one command's answers with some of its words replaced."""
    texts = []
    for run in machine.case().runs:
        if (run.probe, run.name) == (probe, name):
            text = run.stdout
            for old, new in pairs:
                assert old in text, (old, text)
                text = text.replace(old, new)
            texts.append(text)
    return machine.instead(probe, name, *texts)


def inside(virt: str) -> Machine:
    """A container: its /proc/uptime is its own (lxcfs), the kernel's log is its host's."""
    machine = rocky8().cgroups(60, 3_400)
    machine.facts.virt = virt
    return machine


def pod(name: str, image: str, attempt: int, age: float, state: str = "CONTAINER_EXITED") -> Machine:
    """Let a pod of the cluster's own be started again and again by the kubelet."""
    labels = {"container.name": name, "pod.name": f"{name}-x8k2p", "pod.namespace": "kube-system"}
    row: dict[str, object] = {"id": "f" * 64, "podSandboxId": "e" * 64, "imageRef": "sha256:1", "state": state}
    row |= {"metadata": {"name": name, "attempt": attempt}, "image": {"image": image}}
    row |= {"createdAt": str(int((NOW - age) * 1e9)), "labels": {f"io.kubernetes.{k}": v for k, v in labels.items()}}
    text = json.dumps({"containers": [row]}) + f"\n-- end {NOW} --\n"
    return Machine().instead("containers", "cri", text, text)


def proc_stat(up: float, core: tuple[int, ...]) -> str:
    """Print /proc/stat every second: user, nice, system, idle, iowait, irq, softirq, steal; in hundredths a second."""
    text = []
    for second in range(6):
        shares = " ".join(str(9000 + second * share) for share in core)
        text += [f"uptime {up + second:.2f}", f"cpu {shares} 0 0", f"cpu0 {shares} 0 0"]
    return "\n".join([*text, ""])


def up_again(failures: int) -> Machine:
    """Let a service have failed that often, a try each ten seconds, and run since fifty minutes."""
    machine = database().service("nginx.service", Restart="on-failure", NRestarts=failures, started_ago=50 * MINUTE)
    for n in reversed(range(min(failures, 60))):
        ago = 50 * MINUTE + 10 * n + 5
        again = f"Scheduled restart job, restart counter is at {failures - n}."
        machine.facts.restarts.append((ago, "systemd[1]: nginx.service: Failed with result 'exit-code'."))
        machine.facts.restarts.append((ago - 4, f"systemd[1]: nginx.service: {again}"))
    return machine


CNI = "602401143452.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.19.2"
REFUSED = [f"blk_update_request: I/O error, dev sdb, sector {n}808" for n in range(9)]
# What it takes a program to write.
WRITTEN = [
    Asked(
        "a kernel without MemAvailable",
        swapped(rhel7(), "reclaim", "memory", ("MemAvailable: ", "MemOther: ")),
        "healthy unknown",
    ),
    # nosmt: the tables keep a column for each
    Asked(
        "half of the threads are switched off",
        swapped(metal(cores=8), "host", "files", ("0-7", "0,2,4,6")),
        "healthy",
    ),
    # cgroup_namespaces(7): /proc/cgroups counts the whole machine, the mount is the container's.
    Asked(
        "a container of LXC counts the cgroups of all its neighbours",
        swapped(inside("lxc"), "cgroups", "look", (" / /sys/fs/cgroup/memory ", " /lxc/ct101 /sys/fs/cgroup/memory ")),
        "healthy unknown",
    ),
    Asked(
        "the same with a cgroup namespace of its own",
        swapped(inside("docker"), "cgroups", "look", ("cgroup:[4026531835]", "cgroup:[4026532588]")),
        "healthy unknown",
    ),
    Asked(
        "the API server of a control plane ends again and again",
        pod("kube-apiserver", "registry.k8s.io/kube-apiserver:v1.31.2", 141, 150),
        "degraded critical",
        f"{LOOP} -",
    ),
    Asked(
        "the pod that makes the node's network fails again and again", pod("aws-node", CNI, 312, 200), "degraded", LOOP
    ),
    Asked(
        "the same pod was started three times while the node came up",
        pod("aws-node", CNI, 3, 8 * DAY, "CONTAINER_RUNNING"),
        "healthy",
    ),
    Asked(
        "the smallest machine has its core stolen, and no mpstat",
        nano().instead("cpu", "mpstat", proc_stat(9 * DAY, (30, 0, 6, 2, 0, 0, 0, 62))),
        "critical",
        "cpu-steal",
    ),
    Asked(
        "a log without times, and a disk that holds its requests",
        rhel7()
        .instead("kernel_log", "log", "\n".join([*REFUSED, "-- dmesg: 812 lines, 0 left out --", ""]))
        .disk("sdb", 31, 31)
        .waiting(8, "rsyslogd", "wait_on_page_bit"),
        "critical",
        "io-stall",
    ),
    Asked("only cores and cgroups were read", Machine().without(*(PROBES.keys() - {"cpu", "cgroups"})), "unknown"),
    # What failed and is up again is history: the journal has lines about it, and the node works.
    Asked("a service failed four times an hour ago, and has run since", up_again(4), "healthy"),
    Asked("a service failed for an hour in the morning, and has run since", up_again(330), "healthy"),
]


@pytest.mark.parametrize(
    "asked",
    [pytest.param(asked, id=f"{name}: {asked.title}") for name, nodes in FILES.items() for asked in nodes],
)
def test_node_is_told_as_what_it_is(asked: Asked) -> None:
    check(asked)


@pytest.mark.parametrize("asked", WRITTEN, ids=lambda asked: str(asked.title))
def test_node_that_a_program_writes_is_told_as_what_it_is(asked: Asked) -> None:
    check(asked)


STOOD_ON = (
    "k3s-agent rke2-agent snap.microk8s.daemon-kubelite k0sworker cri-docker etcd teleport sssd tailscaled frr slurmd "
    "munge amazon-ssm-agent wg-quick@wg0 multipathd nvidia-fabricmanager ray"
)


@pytest.mark.parametrize("name", STOOD_ON.split())
def test_what_others_stand_on_is_never_offered(name: str) -> None:
    for machine in (founding(), harmed(founding())):
        assert judged(Asked(name, machine.loops(f"{name}.service", 68_300, 11.2), "")).plan is None


def test_files_hold_so_many_nodes_and_none_twice() -> None:
    titles = [asked.title for nodes in FILES.values() for asked in nodes]
    assert len(titles) >= 660
    assert all(len({asked.title for asked in nodes}) == len(nodes) for nodes in FILES.values())


def test_lines_of_a_repeated_failure_are_shown() -> None:
    multicast = "ib0: multicast join failed for ff12:401b:ffff:0000:0000:0000:ffff:ffff, status -22"
    told = Asked("shown", rocky8().log_every(40, 16, 18, multicast), "degraded critical", "nic-device-fault -")
    shown = [line for item in check(told).evidence for line in item.source]
    assert any(multicast in line for line in shown), shown
