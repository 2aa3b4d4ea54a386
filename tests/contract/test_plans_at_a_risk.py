"""Whole nodes that are sick and whose usual remedy would do harm: it cannot work, does not last, or takes others."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.asked import LEAK, LOOP, OFF, STOPPED, Asked, check, hold_to_their_advice, judged
from tests.contract.test_ordinary_figures import inside
from tests.contract.test_plans_not_earned import CURE, FELL, XID, one_gpu_silent
from tests.contract.test_verdicts_once_wrong import harmed
from tests.independent.cgroups import ecs_loops
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import database, founding, gpu_node, guest, metal
from tests.independent.machine import KUBELET, Machine

GPU, FILES, STALL, MEMORY, LOCK, FULL = (
    *("gpu-fault", "filesystem-read-only", "io-stall", "memory-errors", "lockup", "disk-full"),
)
UE = "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x8a2b3c)"
ASKS = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
STUCK = "watchdog: BUG: soft lockup - CPU#{} stuck for 22s! [{}:4411]"
BROKE = "EXT4-fs error (device nvme0n1p1): ext4_journal_check_start:84: comm kubelet: Detected aborted journal"
NEXT = ("file vmlinuz-6.1.0-28-amd64", "file initrd.img-6.1.0-28-amd64")
PAIR = ("0000:3b:00.0", "0000:af:00.0")
SHUT = "EXT4-fs (nvme0n1p1): Remounting filesystem read-only"


def leaks() -> Machine:
    """The founding node: it leaks, is harmed, and its leaker is known."""
    return ecs_loops(harmed(founding()), 68_300, 11.2)


def broken_root(machine: Machine) -> Machine:
    machine.fstab("UUID=6a1e / ext4 defaults 0 1").mount("nvme0n1p1 ext4 ro,relatime /")
    return machine.log((900, BROKE), (899.9, SHUT))


def dead_disk(machine: Machine) -> Machine:
    machine.disk("nvme1n1", 31, 31).waiting(12, "dataloader", "io_schedule")
    return machine.log_every(20, 30, 9, "nvme nvme1: I/O {n} QID 4 timeout, aborting").pressure(io_some=60, io_full=44)


def silent_server(machine: Machine) -> Machine:
    machine.waiting(14, "python3", "rpc_wait_bit_killable").disk("nvme0n1", 0, 0)
    return machine.log((900, "nfs: server 10.0.4.20 not responding, still trying"))


def forgetful(machine: Machine, *types: str) -> Machine:
    """Set what `stat -fc %T` says of /etc, and of an overlay's upper layer."""
    machine.facts.etc = [*types]
    return machine


def gone_gpu(machine: Machine, ago: float = 600) -> Machine:
    """Let a GPU have fallen off, and ask for a reboot by the driver's own word (Xid 154)."""
    machine.gpus("0000:3b:00.0", "0000:af:00.0", listed=("0000:af:00.0",))
    return machine.log((ago, FELL), (ago - 1, XID.format(154, ASKS)))


def stalls(machine: Machine, core: int = 5, who: str = "python3") -> Machine:
    return machine.log(*((ago, STUCK.format(core, who)) for ago in (420, 210, 12))).core(core, sys=100)


def flood() -> Machine:
    """Let an attack's packets fill the cores that serve the card: a reboot does not stop who sends."""
    machine = Machine(cores=8)
    for core in (1, 2, 3):
        machine.core(core, soft=98).packets(core, 1_400_000, 9_000, 900)
    return machine.log(*((ago, STUCK.format(2, "ksoftirqd/2")) for ago in (420, 210, 12)))


def printing() -> Machine:
    """Let the core be stuck in the serial console's driver, while a firewall logs each packet (serial-console.rst)."""
    machine = guest().consoles("ttyS0                -W- (EC p a)    4:64", 7).core(3, sys=100)
    for ago in (420, 210, 12):
        machine.log((ago, STUCK.format(3, "systemd-journal"))).log(
            (ago - 0.01, "CPU: 3 PID: 311 Comm: systemd-journal Not tainted")
        )
        machine.log((ago - 0.02, "RIP: 0010:io_serial_in+0x14/0x20")).log(
            (ago - 0.03, " serial8250_console_write+0x1a2/0x2b0")
        )
        machine.log((ago - 0.04, " console_unlock+0x2f1/0x510"))
    return machine


HARMED = [
    # systemctl(1): disable removes links below /etc; on a root that takes no writes it cannot.
    Asked(
        "the root of the leaking node takes no writes", broken_root(leaks()), "critical", f"{FILES} {LEAK}", "cordon"
    ),
    Asked("its disk does not answer", dead_disk(leaks()), "critical", f"{STALL} {LEAK}", "disable mask"),
    Asked(
        "a file server does not answer, and a shutdown would wait for it",
        silent_server(leaks()),
        "critical",
        f"{STALL} {LEAK}",
        "disable mask",
    ),
    Asked(
        "its memory errs",
        leaks().edac("mc0", 1, 3, 60 * DAY).log((500, UE)),
        "critical",
        f"{MEMORY} {LEAK}",
        "disable mask",
    ),
    Asked("there is no byte left on its root", leaks().room("/", 100, 0), "critical", f"{FULL} {LEAK}", "disable"),
    Asked(
        "it is a container, whose kernel is its host's",
        inside(leaks()),
        "critical degraded unknown",
        f"- {LEAK}",
        "disable mask",
    ),
    Asked(
        "somebody needs the agent: a machine of ECS Anywhere beside a kubelet",
        leaks().ecs("prod", exits=68_300, every=11.2, code=5, registered=True),
        "critical",
        LEAK,
    ),
    Asked(
        "the log tells of a broken root, and the playbook does not read file systems",
        broken_root(leaks()),
        "critical",
        LEAK,
        "disable mask",
        playbook="zombie-cgroups",
    ),
    Asked(
        "the log tells of a dead disk, and the playbook does not read disks",
        dead_disk(leaks()),
        "critical",
        LEAK,
        "disable mask",
        playbook="zombie-cgroups",
    ),
    # Documentation/admin-guide/sysctl/vm.rst: drop_caches goes through every file system, a dead one too.
    Asked(
        "caches are not dropped beside a dead disk",
        dead_disk(leaks()),
        "critical",
        LEAK,
        "disable mask",
        playbook="zombie-cgroups-no-reboot",
    ),
    Asked(
        "caches are not dropped beside a silent file server",
        silent_server(leaks()),
        "critical",
        LEAK,
        "disable mask",
        playbook="zombie-cgroups-no-reboot",
    ),
    Asked(
        "caches are not dropped where everything waits for the disk already",
        leaks()
        .pressure(io_some=91, io_full=70)
        .waiting(30, "postgres", "io_schedule")
        .disk("nvme1n1", 60, 64, 900, 900),
        "critical",
        LEAK,
        "disable mask",
        playbook="zombie-cgroups-no-reboot",
    ),
    # Warewulf, dracut's overlayfs and COS keep /etc in memory: the next boot has the unit enabled again.
    Asked("its root is in memory, from an image", forgetful(leaks(), "tmpfs"), "critical", LEAK, "disable mask"),
    Asked("its /etc is a layer in memory", forgetful(leaks(), "overlayfs", "tmpfs"), "critical", LEAK, "disable mask"),
    Asked(
        "its /etc is a layer on its disk",
        forgetful(leaks(), "overlayfs", "ext2/ext3"),
        "critical",
        LEAK,
        CURE,
        needs="reboot",
    ),
    # What fills another disk is no risk to the boot.
    Asked(
        "the disk of its data is full",
        leaks().mount("nvme2n1 xfs rw /data").room("/data", 2000, 0),
        "critical",
        LEAK,
        CURE,
        needs="reboot",
    ),
    Asked(
        "a package is being installed on it",
        leaks().process("dpkg", usr=40, sys=30, core=3, pid=7001, state="R"),
        "critical",
        LEAK,
        "disable mask",
    ),
]

STALLED = [
    Asked(
        "two write a checkpoint to a file server while a core is stuck",
        stalls(metal()).waiting(2, "python3", "nfs_wait_bit_killable"),
        "critical",
        LOCK,
        CURE,
        needs="reboot",
    ),
    Asked("an attack fills the cores that are stuck", flood(), "critical", f"softirq-storm {LOCK}"),
    Asked(
        "a slow console holds the core that is stuck", printing(), "degraded critical", f"serial-console-printk {LOCK}"
    ),
    Asked(
        "stalls of the host, seen from a container", inside(stalls(guest())), "critical degraded unknown", f"- {LOCK}"
    ),
    Asked(
        "a container of systemd-nspawn",
        inside(stalls(metal()), "systemd-nspawn"),
        "critical degraded unknown",
        f"- {LOCK}",
    ),
    Asked(
        "the first minutes of a boot, in which its disks are looked for",
        metal(up=6 * MINUTE).log((330, STUCK.format(3, "kworker/3:1")), (250, STUCK.format(7, "kworker/7:1"))),
        "degraded healthy",
        f"- {LOCK}",
    ),
    Asked(
        "a root that takes no writes, and cores that are stuck",
        broken_root(stalls(database())),
        "critical",
        f"{FILES} {LOCK}",
        "cordon",
    ),
    Asked(
        "a root without a byte, and cores that are stuck",
        stalls(database()).room("/", 100, 0),
        "critical",
        f"{FULL} {LOCK}",
    ),
]

DEVICES = [
    Asked(
        "a GPU that fell off, in a container",
        inside(gone_gpu(gpu_node())),
        "critical degraded unknown",
        f"- {GPU}",
        "cordon",
    ),
    Asked(
        "a GPU fell off minutes after a boot", gone_gpu(gpu_node(up=9 * MINUTE), 8 * MINUTE), "critical", GPU, "cordon"
    ),
    Asked(
        "a GPU fell off a node whose disk is dead",
        dead_disk(gone_gpu(gpu_node())),
        "critical",
        f"{GPU} {STALL}",
        "cordon",
    ),
    Asked(
        "a GPU fell off a node whose root takes no writes",
        broken_root(gone_gpu(gpu_node())),
        "critical",
        f"{GPU} {FILES}",
        "cordon",
    ),
    Asked(
        "a GPU fell off a node whose memory errs",
        gone_gpu(metal()).edac("mc0", 1, 3, 60 * DAY).log((500, UE)),
        "critical",
        f"{GPU} {MEMORY}",
        "cordon",
    ),
    Asked(
        "a GPU fell off, and its program waits in the driver",
        gone_gpu(gpu_node()).waiting(9, "python3", "nv_wait_event"),
        "critical",
        GPU,
        CURE,
        needs="reboot",
    ),
]

ONESHOT: dict[str, Any] = {"Type": "oneshot", "ActiveState": "activating", "SubState": "start"}
NEWER = ("file vmlinuz-6.1.0-9", "file initrd.img-6.1.0-9", "file vmlinuz-6.1.0-28")
# What must not be cut off, and what the next boot would trip over: a title, the node's lines, the words of the verdict.
CUT_OFF: list[tuple[str, Machine, str]] = [
    (f"{title}, {sick}", machine.unfinished(*lines, boot=boot), says)
    for sick, made in (("leaking", leaks), ("stuck", lambda: stalls(metal())))
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
    for machine in (made(),)
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
# Siblings that stand in no reboot's way.
HARMLESS = [
    Asked(title, machine, "critical", LEAK, CURE, needs="reboot")
    for title, machine in (
        ("an array is only checked", leaks().unfinished("md md0/md/sync_action check 12 / 99")),
        ("an array is at rest", leaks().unfinished("md md0/md/sync_action idle none")),
        ("btrfs is at rest", leaks().unfinished("btrfs 6a1e-0c none", "btrfs 6a1e-0d balance paused")),
        ("ZFS is only scrubbed", leaks().unfinished("scan: scrub in progress since Mon Nov 23")),
        ("ZFS has resilvered", leaks().unfinished("scan: resilvered 81G in 01:02:11 with 0 errors on Sun Nov 22")),
        (
            "an older kernel has lost its initrd",
            leaks().unfinished(boot=("file vmlinuz-6.1.0-9", "file vmlinuz-6.1.0-28", "file initrd.img-6.1.0-28")),
        ),
        ("kernels that need no initrd", leaks().unfinished(boot=("file vmlinuz-6.8.0-kvm", "file vmlinuz-6.5.0-kvm"))),
        (
            "a kernel for rescue, and one set aside",
            leaks().unfinished(boot=(*NEXT, "file vmlinuz-0-rescue-cc43", "file vmlinuz-6.9.0.old")),
        ),
        ("a oneshot that began between the looks", leaks().service("x.service", ONESHOT, ActiveState="inactive")),
        (
            "a service that is starting",
            leaks().service("db.service", **{**ONESHOT, "Type": "notify"}),
        ),
    )
]

# NVIDIA's Xid catalog, and nvidia-smi's "GPU Recovery Action": the plan is what they ask for, or there is none.
BY_PEOPLE = [
    Asked(
        "a GPU needs a power cycle, which a reboot is not",
        one_gpu_silent(600, FELL),
        "critical",
        GPU,
        "cordon",
        says="a reboot over SSH is none",
    ),
    Asked(
        "one GPU asks for a reboot, and another still has work to end first",
        gpu_node()
        .gpus(*PAIR, actions={PAIR[0]: "Reboot", PAIR[1]: "Drain and Reset"})
        .log((600, XID.format(154, ASKS))),
        "critical",
        GPU,
        "cordon",
        says="its work ends first",
    ),
    Asked(
        "one GPU asks for a reboot, and another fell off",
        gpu_node()
        .gpus(*PAIR, "0000:d8:00.0", listed=PAIR, actions={PAIR[1]: "Reboot"})
        .log((600, "NVRM: Xid (PCI:0000:d8:00): 79, GPU has fallen off the bus.")),
        "critical",
        GPU,
        "cordon",
        says="power cycle",
    ),
    Asked(
        "a GPU that did not come up again after its reset needs another reset",
        one_gpu_silent(600, XID.format(143, "GPU Init Error 0x5b")),
        "critical",
        GPU,
        "cordon",
    ),
    Asked(
        "NVIDIA asks for a reset or a reboot of the GPU that is silent",
        one_gpu_silent(600, XID.format(74, "NVLink: fatal error detected on link 3")),
        "critical",
        GPU,
        CURE,
        needs="reboot",
    ),
    *(
        Asked(
            f"a GPU asks for {action}",
            gpu_node().gpus(*PAIR, actions={PAIR[1]: action}),
            "critical",
            GPU,
            "cordon",
            says="its work ends first",
        )
        for action in ("Drain and Reset", "Drain P2P")
    ),
]

STARTS = [
    Asked(
        "the kubelet is being upgraded, and has been off for six minutes",
        Machine()
        .process("dpkg", usr=40, sys=30, core=3, pid=7001, state="R")
        .essential(KUBELET, changed_ago=6 * MINUTE, ActiveState="inactive", SubState="dead")
        .health("000 7", "000 7"),
        "critical unknown degraded",
        f"- {STOPPED}",
    ),
    Asked(
        "the kubelet failed as its root took no writes",
        broken_root(Machine()).failed(KUBELET).essential(KUBELET, changed_ago=HOUR, **OFF).health("000 7", "000 7"),
        "critical",
        f"{FILES} {STOPPED}",
        "cordon",
    ),
    Asked(
        "the kubelet failed as its disk died",
        dead_disk(Machine()).failed(KUBELET).essential(KUBELET, changed_ago=HOUR, **OFF).health("000 7", "000 7"),
        "critical",
        f"{STALL} {STOPPED}",
    ),
    Asked(
        "containerd failed, and there is no byte left for it",
        Machine()
        .room("/var/lib/containerd", 200, 0, device="/dev/nvme1n1")
        .failed("containerd.service")
        .essential("containerd.service", changed_ago=HOUR, **OFF)
        .health("500 0", "500 0"),
        "critical",
        f"{FULL} {STOPPED}",
    ),
    Asked(
        "the kubelet failed, and its certificate has ended",
        Machine()
        .certificate("/var/lib/kubelet/pki/kubelet-client-current.pem", -366 * DAY, -2 * HOUR)
        .failed(KUBELET)
        .essential(KUBELET, changed_ago=HOUR, **OFF)
        .health("000 7", "000 7"),
        "critical",
        f"certificate-expiry {STOPPED}",
    ),
]

LOOPS = [
    Asked(
        "a service loops as the root takes no writes",
        broken_root(database().loops("api.service", 300, 11)),
        "critical",
        FILES,
        "cordon",
    ),
    Asked(
        "a service loops as there is no byte left",
        database().loops("api.service", 300, 11).room("/", 100, 0),
        "critical",
        FULL,
    ),
    *(
        Asked(
            f"what guards or carries others, {name}", database().loops(f"{name}.service", 8_000, 11), "degraded", LOOP
        )
        for name in ("wazuh-agent", "rsyslog", "snapd")
    ),
    *(
        # Some fence a node that falls silent; the others carry storage, batch jobs, names, ways in or audit.
        Asked(
            f"what others stand on, {name}", database().loops(f"{name}.service", 8_000, 11), "degraded critical", LOOP
        )
        for name in (
            *("corosync", "pacemaker", "pve-cluster", "watchdog-mux", "auditd", "falcon-sensor", "autofs", "opensm"),
            *("pbs", "lsfd", "gpfs", "beegfs-client", "neutron-openvswitch-agent", "cloudflared", "named", "haproxy"),
        )
    ),
]
NODES = [*HARMLESS, *HARMED, *STALLED, *DEVICES, *BY_PEOPLE, *STARTS, *LOOPS]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_remedy_that_would_do_harm_is_not_offered(asked: Asked) -> None:
    check(asked)


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
    asked = (*NODES, *BY_PEOPLE, *HARMLESS, *(Asked(title, machine, "") for title, machine, _ in CUT_OFF))
    hold_to_their_advice([(each.title, judged(each)) for each in asked], advised=15, acted=50)
