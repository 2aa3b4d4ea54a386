"""Whole sick nodes made after the rules for others were mended, to see whether these hold for them."""

from __future__ import annotations

import pytest

from tests.contract.asked import LOOP, STOPPED, Asked, check
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import arm, azure, database, edge, google, gpu_node, guest, metal, rhel7, rocky8, small
from tests.independent.machine import KUBELET, Machine

STALL, SHUT, NIC, GPU, LEAK = (
    *("io-stall", "filesystem-read-only", "nic-device-fault", "gpu-fault"),
    "leaked-memory-cgroups",
)
MEMORY, RECLAIM, LOCK = "memory-errors", "memory-reclaim", "lockup"
CARD, OTHER = "0000:3b:00.0", "0000:af:00.0"
ILL = "degraded critical"


def old_system() -> Machine:
    """RHEL 6, with Upstart and without systemd."""
    return Machine(
        kernel="2.6.32-754.35.1.el6.x86_64",
        system="Red Hat Enterprise Linux Server release 6.10 (Santiago)",
        v1=True,
        kubernetes=False,
        virt="none",
        maker="HP",
        product="ProLiant DL380 G7",
        driver="bnx2",
    )


def unprobed() -> Machine:
    machine = gpu_node().gpus(CARD, OTHER, listed=(OTHER,))
    machine.facts.gpus = [f"{CARD} 0x030200 ", f"{OTHER} 0x030200 nvidia"]
    return machine.log((7 * MINUTE, "nvidia: probe of 0000:3b:00.0 failed with error -1"))


SECOND = [
    Asked(
        "a queue of an E810 hangs every minute and a half",
        metal()
        .log_every(
            30,
            90,
            9,
            "ice 0000:18:00.0 ens1f0: tx_timeout: VSI_num: 12, Q 4, NTC: 0x1f, HW_HEAD: 0x2b, NTU: 0x33, INT: 0x1",
        )
        .log_every(29.9, 90, 9, "ice 0000:18:00.0 ens1f0: tx_timeout recovery level 1, txqueue 4"),
        ILL,
        NIC,
    ),
    Asked(
        "a POWER machine froze a card's slot three times within the hour",
        metal()
        .log_every(4 * MINUTE, 900, 3, "EEH: Recovering PHB#0-PE#2")
        .log_every(
            4 * MINUTE - 1,
            900,
            3,
            "EEH: This PCI device has failed {n} times in the last hour and will be permanently disabled.",
        ),
        ILL,
    ),
    Asked(
        "a SATA disk went away",
        metal().log(
            (31 * MINUTE, "ata3: SATA link down (SStatus 0 SControl 300)"),
            (31 * MINUTE - 10, "ata3.00: disable device"),
            (
                31 * MINUTE - 11,
                "sd 2:0:0:0: [sdb] Synchronize Cache(10) failed: Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK",
            ),
        ),
        ILL,
        STALL,
    ),
    Asked(
        "the IOMMU of an Arm server does not answer",
        arm().log_every(
            2, 3, 100, "arm-smmu-v3 arm-smmu-v3.0.auto: CMD_SYNC timeout at 0x0000{n} [hwprod 0x00001, hwcons 0x00000]"
        ),
        ILL,
    ),
    Asked(
        "the card of a GCE machine answers no command",
        google().log_every(20, 25, 12, "gve 0000:00:04.0: AQ command timed out, need to reset AQ"),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "a Lustre client was evicted",
        rocky8().log(
            (
                9 * MINUTE,
                "LustreError: 167-0: fs1-MDT0000-mdc-ffff9a7d: This client was evicted by fs1-MDT0000; in progress",
            )
        ),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "Azure takes the fast path of the card away every few minutes",
        azure()
        .log_every(
            60, 300, 9, "hv_netvsc 000d3a6c-1a2b-000d-3a6c-1a2b000d3a6c eth0: Data path switched from VF: enP15184s1"
        )
        .log_every(
            55, 300, 9, "hv_netvsc 000d3a6c-1a2b-000d-3a6c-1a2b000d3a6c eth0: Data path switched to VF: enP15184s1"
        ),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "ZFS found itself inconsistent and stopped",
        metal()
        .waiting(5, "txg_sync", "spl_panic")
        .log(
            (20 * MINUTE, "VERIFY3(rs_get_start(rs, rt) <= start) failed (812 <= 811)"),
            (20 * MINUTE - 0.1, "PANIC at range_tree.c:485:range_tree_remove_impl()"),
        )
        .log_every(40, 122, 8, "INFO: task txg_sync:18{n} blocked for more than 122 seconds."),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "a disk of a machine from 2011 fails",
        old_system()
        .log_every(9, 30, 40, "end_request: I/O error, dev sdb, sector 8123{n}")
        .log_every(8.9, 30, 40, "Buffer I/O error on device sdb1, logical block 101{n}"),
        ILL,
        STALL,
        systemd=False,
    ),
    Asked(
        "a board reports what no driver understands",
        metal()
        .log_every(50, 200, 8, "Uhhuh. NMI received for unknown reason 3d on CPU 12.")
        .log_every(49.9, 200, 8, "Dazed and confused, but trying to continue"),
        ILL,
    ),
    Asked(
        "the USB disk of an edge node is reset again and again",
        edge()
        .log_every(12, 31, 30, "sd 0:0:0:0: [sda] tag#0 uas_eh_abort_handler 0 uas-tag 1 inflight: CMD OUT")
        .log_every(11.5, 31, 30, "usb 2-1: reset SuperSpeed USB device number 2 using xhci_hcd"),
        ILL,
        STALL,
    ),
    Asked(
        "a mainframe's disk gave up",
        guest().log_every(30, 60, 6, "dasd-eckd 0.0.4711: default ERP has run out of retries and failed"),
        ILL,
        f"{STALL} -",
    ),
    Asked("the driver could not take one of two GPUs", unprobed(), "degraded critical unknown", f"{GPU} -", "cordon"),
    Asked(
        "the password of a Windows share has run out",
        guest().log_every(15, 60, 30, "CIFS: VFS: \\\\nas01.corp.example Send error in SessSetup = -13"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "a virtual card takes no packet any more",
        guest().log_every(1, 1, 80, "virtio_net virtio0 eth0: Unexpected TXQ (0) queue failure: -5"),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "sixty GiB are in counters for each core, and the cgroups cannot be counted",
        gpu_node().without("cgroups").memory(Percpu=60 * 1024 * 1024, SUnreclaim=40 * 1024 * 1024),
        "unknown degraded",
        f"{LEAK} -",
    ),
    Asked(
        "thirty wait, and the login may not see for what",
        guest().waiting(30, "python3").disk("nvme0n1", 0, 0),
        "degraded critical unknown",
        f"{STALL} -",
    ),
    Asked(
        "a dead disk beside a clock that was lost and a certbot that failed",
        database()
        .disk("nvme1n1", 12, 12)
        .waiting(9, "postgres", "xfs_buf_wait_unpin")
        .clock("ntpd", "leap=11, offset=0.000")
        .failed("certbot.service"),
        "critical",
        STALL,
    ),
    Asked(
        "XFS found a block corrupted and goes on",
        database()
        .log(
            (
                2 * HOUR,
                "XFS (nvme1n1): Metadata corruption detected at xfs_inode_buf_verify+0x14d/0x160 [xfs]",
            )
        )
        .mount("nvme1n1 xfs rw,noatime /var/lib/pgsql"),
        ILL,
        f"{STALL} {SHUT}",
    ),
]


# Made once those above were told rightly.
THIRD = [
    Asked(
        "EBS answers late, in the words of Linux 6.8",
        Machine(kernel="6.8.0-1021-aws").log_every(
            11,
            15,
            20,
            "nvme nvme1: I/O tag {n}2 (000c) opcode 0x1 (I/O Cmd) QID 3 timeout, aborting",
        ),
        ILL,
        STALL,
    ),
    Asked(
        "the firmware of a card reports an error of its own",
        metal().log(
            (
                6 * MINUTE,
                "mlx5_core 0000:3b:00.0: print_health_info:423:(pid 0): Health issue observed, firmware internal error",
            )
        ),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "a card has dropped off the bus",
        metal().log((20 * MINUTE, "igb 0000:02:00.0 eno1: PCIe link lost")),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "dockerd hangs over a mutex for minutes",
        guest()
        .waiting(6, "dockerd", "schedule_preempt_disabled")
        .log_every(20, 121, 3, "INFO: task dockerd:81{n} blocked for more than 241 seconds."),
        ILL,
        f"{STALL} {LOCK} -",
    ),
    Asked(
        "the kubelet has been stopping for twenty minutes",
        Machine()
        .essential(KUBELET, changed_ago=20 * MINUTE, ActiveState="deactivating", SubState="stop-sigterm")
        .health("000 7", "000 7"),
        ILL,
        STOPPED,
        "start",
    ),
    Asked(
        "containerd has been starting for a quarter of an hour",
        Machine()
        .essential("containerd.service", changed_ago=15 * MINUTE, ActiveState="activating", SubState="start")
        .health("500 0", "500 0"),
        ILL,
        f"{STOPPED} {LOOP}",
        "start",
    ),
    Asked(
        "a MI250 counts errors of its memory that it could not correct",
        metal().log(
            (30 * MINUTE, "amdgpu 0000:c1:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block")
        ),
        ILL,
        f"{GPU} -",
    ),
    Asked(
        "the cable of an InfiniBand port is short-circuited",
        gpu_node().log_every(
            30,
            120,
            10,
            "mlx5_core 0000:0c:00.0: Port module event[error]: module 3, Cable error, Bus stuck (I2C or data shorted)",
        ),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "a PERC tells that its array is degraded",
        metal().log((2 * HOUR, "megaraid_sas 0000:65:00.0: 4521 (612345678s/0x0001/CRIT) - VD 00/0 is now DEGRADED")),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "so many corrected machine checks that the kernel polls for them",
        metal()
        .log_every(60, 300, 8, "mce: CMCI storm detected: switching to poll mode")
        .log_every(20, 300, 8, "mce: CMCI storm subsided: switching to interrupt mode"),
        ILL,
        f"{MEMORY} -",
    ),
    Asked(
        "an OSD's connection breaks every half minute",
        guest().log_every(10, 30, 60, "libceph: osd12 (1)10.0.0.3:6801 socket error on write"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "tasks that trace programs are stalled, by RCU's word",
        Machine(kernel="6.1.127").log_every(100, 600, 5, "INFO: rcu_tasks detected stalls on tasks:"),
        ILL,
        f"{LOCK} -",
    ),
    Asked(
        "a core does nothing but hard interrupts",
        metal(cores=8).core(0, irq=98, usr=1),
        ILL + " unknown",
        "irq-affinity softirq-storm -",
    ),
    Asked(
        "all cores of an old machine wait for a disk that hardly moves",
        rhel7().all_cores(usr=3, sys=2, iowait=88).disk("sda", 30, 31, 2, 2).waiting(14, "mysqld", "wait_on_page_bit"),
        ILL,
        STALL,
    ),
    Asked(
        "the kubelet's own certificate for those who call it has ended",
        Machine().certificate("/var/lib/kubelet/pki/kubelet-server-current.pem", -366 * DAY, -HOUR),
        ILL,
        "certificate-expiry",
    ),
    Asked(
        "the page cache is thrashed, and nobody reclaims for himself",
        small(memory_gib=8)
        .memory(MemAvailable=150_000, MemFree=60_000)
        .vmstat(pgscan_kswapd=(0, 3_000_000), workingset_refault_file=(0, 900_000))
        .pressure(memory_some=81, memory_full=64, io_some=70, io_full=60),
        ILL,
        RECLAIM,
    ),
]

NODES = [*SECOND, *THIRD]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_another_sick_node_is_told_as_what_it_is(asked: Asked) -> None:
    check(asked)
