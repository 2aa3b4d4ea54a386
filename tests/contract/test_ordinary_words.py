"""Whole nodes with nothing wrong, or little, whose kernel says what frightens: words of ordinary machines."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.contract.test_reboots_not_earned import RCU
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import (
    azure,
    database,
    gpu_node,
    guest,
    metal,
    rancher,
    rocky8,
    small,
)
from tests.independent.machine import Machine

FOUR = ("0000:1b:00.0", "0000:43:00.0", "0000:9b:00.0", "0000:d1:00.0")


def xid(bus: str, code: int, says: str) -> str:
    return f"NVRM: Xid (PCI:{bus[:-2]}): {code}, pid=4411, name=python3, {says}"


WORDS = [
    # kernel/workqueue.c, wq_cpu_intensive_report (6.5): a hint for whoever writes a driver.
    Asked(
        "a worker of the kernel hogged a core for ten milliseconds",
        small().log_every(
            60,
            300,
            9,
            "workqueue: drm_fb_helper_damage_work hogged CPU for >10000us {n} times, consider switching to WQ_UNBOUND",
        ),
        "healthy",
    ),
    Asked(
        "the profiler of the kernel took too long",
        gpu_node()
        .log((900, "perf: interrupt took too long (2514 > 2500), lowering kernel.perf_event_max_sample_rate to 79500"))
        .log((400, "INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.204 msecs")),
        "healthy",
    ),
    # kernel/rcu/tasks.h: a grace period of tasks waits for a task that never sleeps, and no core is stuck.
    Asked(
        "RCU waits for a task that never sleeps, while a tracer is taken off",
        metal()
        .log_every(30, 600, 5, "INFO: rcu_tasks detected stalls on tasks:")
        .log_every(
            29, 10, 12, "rcu_tasks_wait_gp: rcu_tasks grace period number 41 (since boot) is 9{n}002 jiffies old."
        ),
        "healthy degraded",
        "- lockup",
    ),
    Asked(
        "the floppy that VMware emulates",
        rancher().log_every(
            600,
            3600,
            20,
            "blk_update_request: I/O error, dev fd0, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
        ),
        "healthy",
    ),
    Asked(
        "a drive without a readable disc",
        metal()
        .log_every(
            300, 20, 9, "blk_update_request: I/O error, dev sr0, sector 71{n} op 0x0:(READ) flags 0x80700 phys_seg 1"
        )
        .log((299, "Buffer I/O error on dev sr0, logical block 179, async page read")),
        "healthy",
    ),
    Asked(
        "a stick was pulled out ten hours ago",
        metal()
        .log_every(10 * HOUR, 1, 6, "I/O error, dev sdz, sector {n}2048 op 0x1:(WRITE) flags 0x100000 phys_seg 1")
        .log(
            (
                10 * HOUR - 2,
                "EXT4-fs error (device sdz1): ext4_find_entry:1683: inode #2: comm umount: reading directory lblock 0",
            )
        ),
        "healthy degraded",
        "- io-stall filesystem-read-only",
    ),
    # fs/ext4/super.c, print_daily_error_info: once a day, of errors long past.
    Asked(
        "ext4 reminds each day of an error of last year",
        guest()
        .log_every(3 * HOUR, DAY, 40, "EXT4-fs (vda1): error count since last fsck: 4")
        .log_every(
            3 * HOUR - 1, DAY, 40, "EXT4-fs (vda1): initial error at time 1731012881: ext4_validate_block_bitmap:420"
        ),
        "healthy degraded",
        "- filesystem-read-only io-stall",
    ),
    Asked(
        "every Debian mounts its root with errors=remount-ro",
        guest()
        .fstab("UUID=6a1e / ext4 errors=remount-ro 0 1")
        .mount("vda1 ext4 rw,relatime,errors=remount-ro /")
        .log(
            (75 * DAY - 5, "EXT4-fs (vda1): re-mounted 6a1e-11 r/w. Quota mode: none."),
            (75 * DAY - 4, "EXT4-fs (vda1): re-mounted. Opts: errors=remount-ro"),
        ),
        "healthy",
    ),
    Asked(
        "a volume was detached while it was mounted, and is gone since yesterday",
        Machine().log(
            (22 * HOUR, 'XFS (nvme3n1): metadata I/O error in "xlog_write_iclog" at daddr 0x1e0b len 64 error 5'),
            (22 * HOUR - 1, "XFS (nvme3n1): Filesystem has been shut down due to log error (0x2)."),
            (22 * HOUR - 9, "XFS (nvme3n1): Unmounting Filesystem 7c1f"),
        ),
        "healthy degraded",
        "- io-stall",
    ),
    # arch/x86/kernel/cpu/mce/therm_throt.c: the core was slowed down, and no memory is wrong.
    Asked(
        "cores were too warm for a second",
        metal().log(
            (5 * HOUR, "mce: CPU12: Core temperature above threshold, cpu clock throttled (total events = 3)"),
            (5 * HOUR - 1, "mce: CPU12: Core temperature/speed normal"),
            (5 * HOUR - 2, "mce: [Hardware Error]: Machine check events logged"),
        ),
        "healthy degraded",
        "-",
    ),
    # drivers/firmware/efi/cper.c: a section that is not of memory.
    Asked(
        "a link of the PCI bus corrected itself",
        metal().log(
            (900, "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 512"),
            (899.9, "{1}[Hardware Error]: It has been corrected by h/w and requires no further action"),
            (899.8, "{1}[Hardware Error]: event severity: corrected"),
            (899.7, "{1}[Hardware Error]:   section_type: PCIe error"),
        ),
        "healthy",
    ),
    Asked(
        "somebody scans every port, and the kernel sends cookies",
        azure().log_every(
            40,
            70,
            30,
            "TCP: request_sock_TCP: Possible SYN flooding on port 443. Sending cookies.  Check SNMP counters.",
        ),
        "healthy degraded",
    ),
    Asked(
        "one allocation of four pages in a row failed three hours ago",
        Machine().log(
            (
                3 * HOUR,
                "python3: page allocation failure: order:4, mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null)",
            )
        ),
        "healthy degraded",
    ),
    # net/netfilter/nf_conntrack_core.c since 6.17: another namespace's table.
    Asked(
        "the table of one pod's own namespace was full",
        Machine(kernel="6.17.8").log_every(30, 4, 9, "nf_conntrack: table full in netns 4026532840, dropping packet"),
        "healthy degraded",
        "- conntrack-full",
    ),
    Asked(
        "the BMC's network by USB hangs every ten minutes",
        metal().log_every(
            200,
            600,
            6,
            "cdc_ether 1-14.3:2.0 enp0s20f0u14u3c2: NETDEV WATCHDOG: CPU: 3: transmit queue 0 timed out 5{n}12 ms",
        ),
        "healthy degraded",
        "- nic-device-fault",
    ),
    Asked(
        "a GPU's row was replaced months ago and nothing is pending",
        gpu_node(up=200 * DAY)
        .gpus(*FOUR)
        .log(
            (
                90 * DAY,
                xid(FOUR[0], 63, "Row Remapper: New row (0x000000002c) marked for remapping, reset gpu to activate."),
            )
        ),
        "healthy",
    ),
    Asked(
        "a job was killed, and its channels were taken down with it",
        gpu_node().gpus(*FOUR).log(*((300 - n / 100, xid(FOUR[n % 4], 45, f"Ch 000000{n:02x}")) for n in range(32))),
        "healthy",
    ),
    Asked(
        "a GPU's firmware timed out twenty hours ago, was reset, and works",
        gpu_node()
        .gpus(*FOUR)
        .log(
            (20 * HOUR, xid(FOUR[1], 119, "Timeout after 6s of waiting for RPC response from GPU1 GSP!")),
            (
                20 * HOUR - 9,
                xid(FOUR[1], 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"),
            ),
            (19 * HOUR, xid(FOUR[1], 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")),
        ),
        "healthy degraded",
        "- gpu-fault",
    ),
    Asked(
        "a switch between GPUs had a link go down and come up, not fatally",
        gpu_node()
        .gpus(*FOUR)
        .log((4 * HOUR, "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Non-fatal, Link 30 LTSSM Fault Up")),
        "healthy degraded",
        "- gpu-fault",
    ),
    Asked(
        "RCU stalled for a minute while a slow console printed a list of tasks",
        guest().log((3 * HOUR, RCU), (3 * HOUR - 40, "sysrq: Show State")),
        "healthy degraded",
        "- lockup serial-console-printk",
    ),
    Asked(
        "neighbours found no room three hours ago",
        metal().table_fulls(420, 420).log((3 * HOUR, "neighbour: arp_cache: neighbor table overflow!")),
        "healthy",
    ),
    Asked(
        "a task hung for its file server, which answers again",
        rocky8().log(
            (12 * MINUTE, "nfs: server 10.0.4.20 not responding, still trying"),
            (9 * MINUTE, "INFO: task rsync:4411 blocked for more than 120 seconds."),
            (8 * MINUTE, "nfs: server 10.0.4.20 OK"),
        ),
        "healthy degraded",
        "- io-stall",
    ),
    Asked(
        "a backup's snapshot had no room any more, and was dropped",
        database().log(
            (5 * HOUR, "device-mapper: snapshots: Invalidating snapshot: Unable to allocate exception."),
            (5 * HOUR - 1, "Buffer I/O error on dev dm-9, logical block 0, async page read"),
        ),
        "healthy degraded",
        "- io-stall",
    ),
    Asked(
        "a machine came back from a snapshot of three days ago",
        guest()
        .log(*((60 - n / 1e4, f"watchdog: BUG: soft lockup - CPU#{n} stuck for 22s! [swapper/0:0]") for n in range(8)))
        .clock("chronyd", "Leap status     : Normal", "System time     : 259200.000000000 seconds slow of NTP time"),
        "degraded",
        "clock-unsynced lockup",
    ),
]


@pytest.mark.parametrize("asked", WORDS, ids=lambda asked: str(asked.title))
def test_words_of_an_ordinary_node_are_not_called_sick(asked: Asked) -> None:
    check(asked)
