"""Whole nodes whose memory or services are sick, or whose cgroups leak, on old and new systems."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.asked import LEAK, LOOP, STOPPED, Asked, check, uncounted
from tests.independent.facts import DAY, HOUR, NOW
from tests.independent.kernel import BOUND, in_pod, kills
from tests.independent.kinds import (
    amazon2,
    database,
    edge,
    flatcar,
    google,
    gpu_node,
    guest,
    metal,
    rhel7,
    rocky8,
    small,
)
from tests.independent.machine import KUBELET, Machine

OOM, RECLAIM = "oom-kills", "memory-reclaim"


def build(names: tuple[str, ...], cgroups: tuple[str, ...], every: float) -> Machine:
    """Let a process of each name be killed at the limit of each cgroup, in turn."""
    machine = google()
    for at, name in enumerate(names):
        kills(machine, 60 + every * at, 1, 1, in_pod(cgroups[at % len(cgroups)], name))
    return machine


POD = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod91.slice"
OLD_KILL = (
    "Task in /kubepods/burstable/pod7c1/9a killed as a result of limit of /kubepods/burstable/pod7c1",
    "Memory cgroup out of memory: Kill process 63{n}1 (java) score 1014 or sacrifice child",
)


def swaps(machine: Machine) -> Machine:
    """Let kswapd and the swap device do nothing else than change places, on a kernel without PSI (RHEL: psi=0)."""
    machine.memory(MemAvailable=machine.facts.memory["MemTotal"] // 90, MemFree=machine.facts.memory["MemTotal"] // 120)
    machine.vmstat(pswpin=(81_000, 261_000), pswpout=(92_000, 252_000), pgscan_kswapd=(10, 2_500_000))
    machine.vmstat(allocstall_normal=(40, 46), pgscan_direct=(900, 1_700)).all_cores(usr=6, sys=12, iowait=48)
    machine.facts.psi = {}
    return machine.process("kswapd0", sys=310, core=0, pid=212, kernel=True, state="R")


MEMORY = [
    Asked(
        "a build is killed at its pod's limit, each time another of its programs",
        build(("cc1plus", "ld", "rustc", "cc1plus"), (POD,), 120),
        "degraded",
        OOM,
    ),
    Asked(
        "three jobs of a batch system, each killed once at its own limit",
        build(("python3",) * 3, tuple(f"/slurm/uid_1000/job_{n}" for n in range(3)), 150),
        "healthy",
    ),
    Asked(
        "a pod is killed again and again, in the words of an old kernel",
        kills(rhel7(kubernetes=True), 40, 90, 5, OLD_KILL),
        "degraded",
        OOM,
    ),
    Asked(
        "a database bound to one memory node, which is used up while the other has room",
        metal().log((300, BOUND[0]), (299.9, BOUND[1])).vmstat(oom_kill=(1, 1)),
        "degraded",
        OOM,
        says="memory nodes",
    ),
    Asked(
        "a database swaps itself to death, and the kernel tells no pressure",
        swaps(rocky8()),
        "degraded critical",
        RECLAIM,
    ),
    Asked("a small box swaps to its own memory", swaps(edge()), "degraded critical", RECLAIM),
]


def docker_loop(status: str) -> Machine:
    image = "registry.example/acme/api:4"
    rows = [f"{'b' * 64}|{image}|api|2026-11-19 08:10:00 +0000 UTC|{status}"]
    return Machine(kubernetes=False).docker(rows, rows, {image: 48})


def in_kube_system(attempt: int, age: float, state: str = "CONTAINER_EXITED", space: str = "kube-system") -> Machine:
    """Let the pod that gives the others their network be started again and again by the kubelet."""
    row: dict[str, object] = {
        "id": "f" * 64,
        "podSandboxId": "e" * 64,
        "metadata": {"name": "aws-node", "attempt": attempt},
        "image": {"image": "602401143452.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.19.2"},
        "imageRef": "sha256:1",
        "state": state,
        "createdAt": str(int((NOW - age) * 1e9)),
        "labels": {
            "io.kubernetes.container.name": "aws-node",
            "io.kubernetes.pod.name": "aws-node-x8k2p",
            "io.kubernetes.pod.namespace": space,
        },
    }
    text = json.dumps({"containers": [row]}) + f"\n-- end {NOW} --\n"
    return Machine().instead("containers", "cri", text, text)


LIMIT: dict[str, Any] = {"ActiveState": "failed", "SubState": "failed", "Result": "start-limit"}
SERVICES = [
    Asked(
        "docker itself says that it restarts a container", docker_loop("Restarting (1) 4 seconds ago"), "degraded", LOOP
    ),
    Asked("a container that ends well and is started again", docker_loop("Restarting (0) 4 seconds ago"), "healthy"),
    Asked("the pod that makes the node's network fails again and again", in_kube_system(312, 200), "degraded", LOOP),
    Asked(
        "the same pod was started three times while the node came up",
        in_kube_system(3, 8 * DAY, "CONTAINER_RUNNING"),
        "healthy",
    ),
    Asked(
        "an old systemd gave the kubelet up",
        uncounted(
            rhel7(kubernetes=True).failed(KUBELET, Result="start-limit").essential(KUBELET, changed_ago=HOUR, **LIMIT),
            KUBELET,
        ).health("000 7", "000 7"),
        "critical",
        STOPPED,
    ),
    Asked(
        "Flatcar's kubelet cannot start",
        flatcar()
        .loops(KUBELET, 811, 11, Restart="always")
        .essential(KUBELET, ActiveState="activating", SubState="auto-restart")
        .health("000 7", "000 7"),
        "critical",
        LOOP,
    ),
    Asked(
        "the fabric manager of eight GPUs failed",
        gpu_node().failed("nvidia-fabricmanager.service"),
        "degraded",
        "failed-units",
    ),
    Asked(
        "the watchdog ends a service every minute",
        database().loops("ingest.service", 45, 62, Result="watchdog", ExecMainCode=3, ExecMainStatus=6),
        "degraded",
        LOOP,
        needs="disable",
    ),
    Asked(
        "a service that is killed at its limit each time it starts",
        kills(
            guest().loops("indexer.service", 240, 35, Result="oom-kill", ExecMainCode=2, ExecMainStatus=9),
            20,
            35,
            12,
            in_pod("/system.slice/indexer.service", "indexer"),
        ),
        "degraded",
        f"{OOM} {LOOP}",
    ),
    Asked(
        "containerd was stopped two hours ago",
        Machine()
        .essential("containerd.service", changed_ago=2 * HOUR, ActiveState="inactive", SubState="dead")
        .health("500 0", "500 0"),
        "critical",
        STOPPED,
        needs="start",
    ),
]


def walked(machine: Machine, name: str) -> Machine:
    """Let a program that reads every cgroup's statistics hold a core."""
    return machine.core(5, sys=100).process(name, usr=4, sys=446, core=5, pid=3111, threads=30, working=((5, 0, 29),))


LEAKS = [
    Asked(
        "dockerd walks over what a tracer left",
        walked(amazon2(up=21 * DAY), "dockerd").cgroups(260, 62_000, 62_001).loops("tracer.service", 61_400, 29),
        "critical",
        LEAK,
        needs="disable reboot",
    ),
    Asked(
        "Nomad walks over what a tracer left",
        walked(amazon2(up=21 * DAY), "nomad").cgroups(260, 62_000, 62_001).loops("tracer.service", 61_400, 29),
        "critical",
        LEAK,
        needs="disable reboot",
    ),
    Asked(
        "a small box has lost a quarter of its memory to dead cgroups",
        small(memory_gib=8, up=40 * DAY, kernel="5.15.0-1081-aws")
        .cgroups(120, 90_000, 90_002)
        .loops("poll.service", 88_000, 39)
        .memory(SUnreclaim=2_300_000, Percpu=400_000, MemAvailable=900_000),
        "critical",
        LEAK,
        needs="disable reboot",
    ),
]


NODES = [*MEMORY, *SERVICES, *LEAKS]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_sick_service_is_told_as_what_it_is(asked: Asked) -> None:
    check(asked)
