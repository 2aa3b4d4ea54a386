"""Whole nodes that are sick and whose usual remedy would do harm: it cannot work, does not last, or takes others.

Longer than 300 lines: one node after another, with the fact that decides it beside each.
"""

from __future__ import annotations

import pytest

from tests.contract.asked import LEAK, LOOP, OFF, STOPPED, Asked, check
from tests.contract.test_ordinary_figures import inside
from tests.contract.test_plans_not_earned import CURE, FELL
from tests.contract.test_verdicts_once_wrong import harmed
from tests.independent.cgroups import ecs_loops
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import database, founding, gpu_node, guest, metal
from tests.independent.machine import KUBELET, Machine

GPU, FILES, STALL, MEMORY, LOCK, FULL = (
    *("gpu-fault", "filesystem-read-only", "io-stall", "memory-errors", "lockup", "disk-full"),
)
UE = "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x8a2b3c)"
STUCK = "watchdog: BUG: soft lockup - CPU#{} stuck for 22s! [{}:4411]"
BROKE = "EXT4-fs error (device nvme0n1p1): ext4_journal_check_start:84: comm kubelet: Detected aborted journal"
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
    machine.gpus("0000:3b:00.0", "0000:af:00.0", listed=("0000:af:00.0",))
    return machine.log((ago, FELL))


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
    # A raid goes on where it was (md.rst), and what fills another disk is no risk to the boot.
    Asked(
        "its raid is rebuilt meanwhile",
        leaks().waiting(1, "md0_resync", "md_do_sync"),
        "critical",
        LEAK,
        CURE,
        needs="reboot",
    ),
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
NODES = [*HARMED, *STALLED, *DEVICES, *STARTS, *LOOPS]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_remedy_that_would_do_harm_is_not_offered(asked: Asked) -> None:
    check(asked)


def test_sibling_without_the_risk_is_offered_its_cure() -> None:
    check(Asked("the leaking node itself", leaks(), "critical", LEAK, CURE, needs="reboot"))
    check(Asked("a GPU fell off", gone_gpu(gpu_node()), "critical", GPU, CURE, needs="reboot"))
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
    assert [note for note in plan.notes if note.startswith("qemu-system-x86 runs here: before the reboot")]
