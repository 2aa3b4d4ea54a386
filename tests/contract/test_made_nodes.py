"""Whole nodes, sick ones and ordinary ones that look sick: each is told as what it is, with the plan that it earned."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from bot.domain.evaluation import evaluate_playbook
from bot.domain.probe import Unread
from bot.domain.verdict import Status
from bot.probes import PROBES
from bot.view.words import open_points
from tests.contract.asked import LOOP, Asked, check, judged
from tests.contract.made_nodes import FOLDER, harmed, made
from tests.independent.facts import DAY, MINUTE, NOW
from tests.independent.kinds import (
    amazon2,
    arm,
    azure,
    database,
    founding,
    google,
    guest,
    metal,
    nano,
    rhel7,
    rocky8,
    small,
)
from tests.independent.machine import Machine
from tests.shipped import shipped

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


DECISIVE = ("host", "cpu", "units", "kernel_log")
STOOD_ON = (
    "k3s-agent rke2-agent snap.microk8s.daemon-kubelite k0sworker cri-docker etcd teleport sssd tailscaled frr slurmd "
    "munge amazon-ssm-agent wg-quick@wg0 multipathd nvidia-fabricmanager ray"
)


@pytest.mark.parametrize("name", STOOD_ON.split())
def test_what_others_stand_on_is_never_offered(name: str) -> None:
    for machine in (founding(), harmed(founding())):
        assert judged(Asked(name, machine.loops(f"{name}.service", 68_300, 11.2), "")).plan is None


def test_no_sick_node_is_healthy_without_one_of_its_answers() -> None:
    """Another one for each node; where only that shows the fault, the node is healthy as far as read."""
    nodes = [asked for name in FILES if name.startswith("sick-") for asked in FILES[name]]
    ill = [asked for asked in nodes if judged(asked).status in (Status.DEGRADED, Status.CRITICAL)]
    assert len(ill) > 200
    for number, asked in enumerate(ill):
        whole = judged(asked)
        assert whole.snapshot is not None
        read = sorted(whole.snapshot.readings.keys() - {unread.probe for unread in whole.unread})
        for probe in {read[number % len(read)], DECISIVE[number % len(DECISIVE)]} & set(read):
            readings = {**whole.snapshot.readings, probe: Unread(probe, "late")}
            less = evaluate_playbook(replace(whole.snapshot, readings=readings), shipped().get(asked.playbook))
            assert less.status is not Status.HEALTHY or (
                probe not in DECISIVE and probe in {unread.probe for unread in less.unread}
            ), (asked.title, probe)


def test_who_holds_the_core_is_the_only_suspect_and_beside_a_leak_the_card_is_ruled_out() -> None:
    told = {asked.title: judged(asked) for asked in FILES["who-holds"]}
    held = told["java holds the core of a starved queue"]
    assert (held.suspects, held.lasting_fix != "") == (("java",), True)
    leak = told["a leak of 5.4 whose old driver knows of a pace alone"]
    assert "nic-device-fault" in {out.cause for out in leak.ruled_out}


HOSTS = (database, amazon2, azure, google, arm, metal, guest, rocky8, small)
BESIDE: dict[str, Callable[[Machine], Machine]] = {
    "nothing": lambda machine: machine,
    "no counts of memory errors": lambda machine: machine.without("memory_errors"),
    "a busy core": lambda machine: machine.core(1, usr=97),
    "name servers that could not be asked": lambda machine: machine.without("dns"),
    "a failed unit": lambda machine: machine.failed("certbot.service"),
}


@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize("host", [amazon2, google], ids=lambda host: str(host.__name__))
def test_what_a_virtual_machine_cannot_see_does_not_apply_and_is_not_ruled_out(
    host: Callable[[], Machine], beside: str
) -> None:
    verdict = judged(Asked(beside, BESIDE[beside](host()), ""))
    answers = {out.cause: out.applies for out in verdict.ruled_out}
    assert (answers["memory-errors"], answers["thermal-throttling"]) == (False, False)
    assert "memory-errors" not in {each.cause for each in verdict.undecided}, "no litany"
    said = dict(open_points(verdict))
    assert {"memory-errors", "gpu-fault"} <= {name for name, _ in said["Does not apply here"]}
    assert all(out.applies for out in verdict.ruled_out if out.cause in dict(said["Ruled out"]))
    if beside != "a failed unit":
        assert (verdict.status, verdict.summary.partition(" ")[0]) == (Status.HEALTHY, "Healthy")
    if beside == "name servers that could not be asked":
        assert verdict.summary == "Healthy", "it is not in the headline"


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: str(host.__name__))
def test_heat_is_ruled_out_only_where_it_is_counted_and_the_machine_is_no_guest(host: Callable[[], Machine]) -> None:
    machine = host()
    verdict = judged(Asked("heat", machine, ""))
    assert verdict.snapshot is not None
    is_counted = verdict.snapshot.readings["interrupts"].hot is not None
    answers = {out.cause: out.applies for out in verdict.ruled_out}
    assert answers["thermal-throttling"] is (is_counted and machine.facts.virt == "none")


def test_errors_that_were_counted_and_are_none_are_ruled_out() -> None:
    counted = judged(Asked("counted", metal().edac("mc0", 0, 3, 9 * DAY), ""))
    assert {out.cause: out.applies for out in counted.ruled_out}["memory-errors"]


def test_files_hold_so_many_nodes_and_none_twice() -> None:
    titles = [asked.title for nodes in FILES.values() for asked in nodes]
    assert len(titles) >= 690
    assert all(len({asked.title for asked in nodes}) == len(nodes) for nodes in FILES.values())


def test_lines_of_a_repeated_failure_are_shown() -> None:
    multicast = "ib0: multicast join failed for ff12:401b:ffff:0000:0000:0000:ffff:ffff, status -22"
    told = Asked("shown", rocky8().log_every(40, 16, 18, multicast), "degraded critical", "nic-device-fault -")
    shown = [line for item in check(told).evidence for line in item.source]
    assert any(multicast in line for line in shown), shown
