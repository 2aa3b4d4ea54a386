"""Whole nodes that are sick and whose usual remedy would do harm: it cannot work, does not last, or takes others."""

from __future__ import annotations

from typing import Any

import pytest

from bot.domain.action import KEEPS
from tests.contract.asked import CURE, LEAK, Asked, check, hold_to_their_advice, judged
from tests.contract.made_nodes import STUCK, gone_gpu, harmed, made, stalls
from tests.independent.cgroups import ecs_loops
from tests.independent.facts import DAY
from tests.independent.kinds import founding, gpu_node, metal
from tests.independent.machine import Machine

GPU, LOCK = "gpu-fault", "lockup"
NEXT = ("file vmlinuz-6.1.0-28-amd64", "file initrd.img-6.1.0-28-amd64")


def leaks() -> Machine:
    """The founding node: it leaks, is harmed, and its leaker is known."""
    return ecs_loops(harmed(founding()), 68_300, 11.2)


ONESHOT: dict[str, Any] = {"Type": "oneshot", "ActiveState": "activating", "SubState": "start"}
SHORT = "-- dmesg: 2880 lines, 0 left out, from 777000 s, errors from 777000 s --\n"
NEWER = ("file vmlinuz-6.1.0-9", "file initrd.img-6.1.0-9", "file vmlinuz-6.1.0-28")
# What must not be cut off, and what the next boot would trip over: a title, the node's lines, the words of the verdict.
CUT_OFF: list[tuple[str, Machine, str]] = [
    (f"{title}, {sick}", machine.unfinished(*lines, boot=boot), says)
    for sick, node in (("leaking", leaks), ("stuck", lambda: stalls(metal())))
    for title, lines, boot, says in (
        ("an array is rebuilt", ("md md0/md/sync_action recover 81920 / 976630464",), NEXT, "md0 is in recover"),
        ("an array is grown", ("md md127/md/sync_action reshape 12 / 99",), NEXT, "md127 is in reshape"),
        ("an array is brought into step", ("md md1/md/sync_action resync delayed",), NEXT, "md1 is in resync"),
        ("a RAID of LVM is rebuilt", ("program storage mdX_resync",), NEXT, "RAID of LVM"),
        ("LVM moves a volume", ("program storage pvmove",), NEXT, "pvmove moves or mends storage"),
        ("btrfs replaces a disk", ("btrfs 6a1e-0c device replace",), NEXT, "btrfs is at work: device replace"),
        ("btrfs balances", ("btrfs 6a1e-0c balance",), NEXT, "btrfs is at work: balance"),
        ("ZFS resilvers", (" scan: resilver in progress since Mon Nov 23 10:00:01 2026",), NEXT, "ZFS is at work"),
        ("ZFS moves a disk's data", ("remove: Evacuation of sdb in progress since Mon",), NEXT, "ZFS is at work"),
        ("a firmware is written", ("program firmware flashrom",), NEXT, "flashrom writes firmware now"),
        ("packages are installed", ("program packages apt-get",), NEXT, "apt-get installs or removes packages"),
        (
            "a package is half configured",
            ("Package: grub-efi-amd64", "Version: 2.06", "Status: install ok half-configured"),
            NEXT,
            "packages are not configured to the end: grub-efi-amd64",
        ),
        ("dpkg was interrupted", ("dpkg journal 0003",), NEXT, "its journal is not empty"),
        ("the newest kernel has no initrd", (), NEWER, "the newest kernel, 6.1.0-28, has no initrd"),
        (
            "the newest initrd is empty",
            (),
            ("file vmlinuz-6.1.0-28", "empty initrd.img-6.1.0-28"),
            "initrd.img-6.1.0-28, of the newest kernel, is empty",
        ),
        (
            "the newest kernel is empty",
            (),
            ("empty vmlinuz-5.14.0-503.el9.x86_64", "file initramfs-5.14.0-503.el9.x86_64.img"),
            "vmlinuz-5.14.0-503.el9.x86_64, the newest kernel, is empty",
        ),
    )
    for machine in (node(),)
]
CUT_OFF += [
    ("a oneshot is at work", leaks().service("backup.service", **ONESHOT), "backup.service is at work"),
    ("of a systemd that hides types", leaks().service("x.service", **{**ONESHOT, "Type": ""}), "x.service is at work"),
    (
        "an array of a node whose GPU asks for a reboot",
        gone_gpu(gpu_node()).unfinished("md md0/md/sync_action recover none"),
        "md0 is in recover",
    ),
]


@pytest.mark.parametrize(("title", "machine", "says"), CUT_OFF, ids=[title for title, _, _ in CUT_OFF])
def test_what_must_not_be_cut_off_stands_before_every_reboot(title: str, machine: Machine, says: str) -> None:
    verdict = check(Asked(title, machine, "critical", f"{LEAK} {LOCK} {GPU}", "disable mask cordon"))
    assert "No reboot is offered" in verdict.summary
    assert says in verdict.summary


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (leaks().without("unfinished"), "rebuilds, firmware, packages and the next boot's files"),
        (leaks().unfinished("hidden programs"), "which programs of others run"),
        (leaks().unfinished("hidden dpkg"), "the state of packages"),
        (leaks().unfinished("hidden zfs"), "what ZFS is rebuilding"),
        (leaks().unfinished("hidden boot", boot=()), "the next boot's kernel and initrd (/boot)"),
        (leaks().unfinished(boot=()), "the next boot's kernel and initrd (none lie in /boot)"),
        (leaks().unfinished("btrfs 6a1e-0c"), "what btrfs is doing"),
        (leaks().unfinished("md md0/md/sync_action"), "what md0 is doing"),
        (leaks().instead("kernel_log", "log", SHORT), "the kernel log reaches back only"),
    ],
)
def test_what_was_not_read_before_a_reboot_is_told_with_the_plan(machine: Machine, says: str) -> None:
    plan = check(Asked("not read", machine, "critical", f"{LEAK} {LOCK}", CURE, needs="reboot")).plan
    assert plan is not None
    (note,) = [note for note in plan.notes if note.startswith("Not read before the reboot: ")]
    assert says in note


def test_whether_a_database_runs_here_is_told_as_what_ends() -> None:
    machine = stalls(metal()).without("containers")
    plan = check(Asked("not read", machine, "critical", f"{LEAK} {LOCK}", CURE, needs="reboot")).plan
    assert plan is not None
    assert plan.ends is not None
    assert "containers" in [unread.probe for unread in plan.ends.unread]


def test_nothing_is_told_of_what_was_read() -> None:
    plan = check(Asked("all read", leaks(), "critical", LEAK, CURE, needs="reboot")).plan
    assert plan is not None
    assert not [note for note in plan.notes if "Not read" in note]


def test_sibling_without_the_risk_is_offered_its_cure() -> None:
    check(Asked("the leaking node itself", leaks(), "critical", LEAK, CURE, needs="reboot"))
    check(Asked("a GPU asks for a reboot", gone_gpu(gpu_node()), "critical", GPU, CURE, needs="reboot"))
    check(Asked("cores that are stuck", stalls(metal()), "critical", LOCK, CURE, needs="reboot"))
    check(
        Asked(
            "dropping is what is left",
            leaks(),
            "critical",
            LEAK,
            "disable mask drop",
            needs="drop",
            playbook="zombie-cgroups-no-reboot",
        )
    )


def test_guests_that_a_reboot_would_take_are_named() -> None:
    machine = leaks().process("qemu-system-x86", usr=6_000, sys=200, core=3, pid=3311, threads=40)
    machine.process("qemu-ga", usr=3, sys=5, core=1, pid=812)  # runs in guests, and runs none
    plan = check(Asked("guests run here", machine, "critical", LEAK, CURE)).plan
    assert plan is not None
    assert plan.ends is not None
    assert [(end.what, end.count) for end in plan.ends.rows if end.kind == "guest"] == [("qemu-system-x86", 1)]


def test_no_plan_does_what_its_advice_leaves_to_people() -> None:
    asked = [asked for name in ("plans-at-a-risk", "plans-in-doubt", "plans-again") for asked in made(name)]
    asked += [Asked(title, machine, "") for title, machine, _ in CUT_OFF]
    hold_to_their_advice([(each.title, judged(each)) for each in asked], advised=15, acted=50)


def test_what_a_reboot_takes_from_others_is_told_with_it() -> None:
    def kept(*services: str, pods: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        machine = ecs_loops(harmed(founding()), 68_300, 11.2)
        for name in services:
            machine.service(name)
        if pods:
            machine.pods(3, *((image, image, "CONTAINER_RUNNING", 0, DAY) for image in pods))
        plan = check(Asked("a leak", machine, "critical", LEAK, CURE)).plan
        assert plan is not None
        assert plan.ends is not None
        return [(end.what, end.kind) for end in plan.ends.rows if end.kind in (KEEPS, "jobs")]

    quiet = ("crond.service", "qemu-guest-agent.service")
    assert kept(*quiet, pods=("registry.example/app:1", "rayproject/ray-ml:2.9")) == []
    assert kept("slurmd.service", "etcd.service", "ceph-osd@3.service") == [
        ("etcd.service", KEEPS),
        ("ceph-osd@3.service", KEEPS),
        ("slurmd.service", "jobs"),
    ]
    pods = kept(
        pods=("registry.k8s.io/etcd:3.5.9-0", "registry.k8s.io/kube-apiserver@sha256:1", "bitnami/postgresql:15")
    )
    assert pods == [("etcd", KEEPS), ("kube-apiserver", KEEPS), ("postgresql", KEEPS)]


@pytest.mark.parametrize("playbook", ["node-health", "zombie-cgroups", "network-resets", "packet-waits"])
def test_playbook_that_does_not_look_at_memory_reboots_nothing_over_it(playbook: str) -> None:
    def steps(*lines: tuple[float, str]) -> list[str]:
        machine = metal().log((480, STUCK.format(9, "python3")), (190, STUCK.format(9, "python3")), *lines)
        plan = judged(Asked("stuck", machine, "", playbook=playbook)).plan
        return [step.action for step in plan.steps] if plan else []

    assert steps() == ["reboot"]
    assert steps((500, "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)")) == []
