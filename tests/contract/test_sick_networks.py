"""Whole nodes whose network or services went away, that answer by halves, and that only sound sick."""

from __future__ import annotations

import pytest

from tests.contract.asked import LOOP, STOPPED, Asked, check
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kernel import in_pod, kills
from tests.independent.kinds import (
    azure,
    database,
    edge,
    gpu_node,
    guest,
    metal,
    rancher,
    rhel7,
    small,
)
from tests.independent.machine import KUBELET, Machine

STALL, SHUT, NIC, MEMORY, GPU = "io-stall", "filesystem-read-only", "nic-device-fault", "memory-errors", "gpu-fault"
RECLAIM, OOM, LOCK, FULL = "memory-reclaim", "oom-kills", "lockup", "disk-full"
CARD, OTHER = "0000:3b:00.0", "0000:af:00.0"
ILL, BAD = "degraded critical", "degraded critical unknown"


def waits(machine: Machine, count: int, name: str, wchan: str, some: float = 60, full: float = 42) -> Machine:
    return machine.waiting(count, name, wchan).pressure(io_some=some, io_full=full)


NETWORKS = [
    Asked(
        "a Broadcom card stands still every few minutes",
        rhel7()
        .log_every(40, 150, 6, "NETDEV WATCHDOG: eno1 (tg3): transmit queue 0 timed out")
        .log_every(39.9, 150, 6, "tg3 0000:02:00.0 eno1: transmit timed out, resetting"),
        ILL,
        NIC,
    ),
    Asked(
        "the cable of a server's only card is loose",
        metal()
        .log_every(21, 40, 14, "mlx5_core 0000:3b:00.0 ens3f0np0: Link down")
        .log_every(18, 40, 14, "mlx5_core 0000:3b:00.0 ens3f0np0: Link up"),
        ILL,
        NIC,
    ),
    Asked(
        "frames arrive damaged, two hundred a second",
        metal().nic(rx_crc_errors=(48_112, 49_121), rx_errors=(48_112, 49_121)),
        ILL,
        NIC,
    ),
    Asked(
        "the card's commands time out in a guest of Azure",
        azure().log_every(
            9,
            61,
            7,
            "mlx5_core 3b50:00:02.0: wait_func:1158:(pid 81{n}): CREATE_CQ(0x400) timeout. Will cause a leak of a "
            "command resource",
        ),
        ILL,
        NIC,
    ),
    Asked(
        "routes of IPv6 find no room",
        Machine(kernel="5.4.0-1084-aws").log_every(
            3, 5, 100, "Route cache is full: consider increasing sysctl net.ipv6.route.max_size."
        ),
        ILL,
    ),
    Asked(
        "the table of a pod's own namespace is full",
        Machine(kernel="6.17.4-arch1").log_every(
            2, 0.5, 60, "nf_conntrack: nf_conntrack: table full in netns 4026532631, dropping packet"
        ),
        "degraded",
        "conntrack-full",
    ),
    Asked(
        "every name server answers that it failed",
        rancher().dns(("10.43.0.10", "SERVFAIL SERVFAIL SERVFAIL"), ("10.1.0.2", "SERVFAIL SERVFAIL SERVFAIL")),
        "degraded",
        "dns-failing",
    ),
    Asked(
        "a loop in the switched network",
        guest().log_every(
            1,
            0.2,
            400,
            "br0: received packet on eth1 with own address as source address (addr:52:54:00:12:34:56, vlan:0)",
        ),
        ILL,
    ),
]

SERVICES = [
    Asked(
        "the journal is ended by its watchdog every three minutes",
        database().loops(
            "systemd-journald.service", 40, 180, Result="watchdog", ExecMainCode=3, ExecMainStatus=6, Restart="always"
        ),
        "degraded",
        LOOP,
    ),
    Asked(
        "the resolver gave up, and names go through it",
        guest()
        .failed("systemd-resolved.service", Result="start-limit-hit")
        .essential(
            "systemd-resolved.service",
            changed_ago=900,
            ActiveState="failed",
            SubState="failed",
            Result="start-limit-hit",
        )
        .dns(("127.0.0.53", "")),
        ILL,
        f"{STOPPED} dns-failing failed-units",
        "start",
    ),
    Asked(
        "the kubelet itself is killed at the limit of its slice",
        kills(
            Machine()
            .loops(KUBELET, 22, 50, Result="oom-kill", ExecMainCode=2, ExecMainStatus=9, Restart="always")
            .essential(KUBELET, ActiveState="activating", SubState="auto-restart")
            .health("000 7", "000 7"),
            9,
            50,
            12,
            in_pod("/runtime.slice/kubelet.service", "kubelet"),
        ),
        "critical degraded",
        f"{OOM} {LOOP} {STOPPED}",
    ),
    Asked(
        "K3s's certificate ended yesterday and it goes on as if nothing was",
        edge().certificate("/var/lib/rancher/k3s/agent/client-kubelet.crt", -366 * DAY, -1 * DAY, "k3s-client-ca"),
        "critical",
        "certificate-expiry",
    ),
    Asked(
        "the services of the system may start no task any more",
        Machine().limits(system=(4915, "4915")),
        ILL,
        "pid-or-fd-exhaustion",
    ),
    Asked(
        "no file can be opened",
        rhel7()
        .limits(open_files=1_048_570, most_open=1_048_576)
        .log_every(1, 1, 30, "VFS: file-max limit 1048576 reached"),
        ILL,
        "pid-or-fd-exhaustion",
    ),
    Asked(
        "huge pages have taken the memory of everybody else",
        database()
        .memory(MemAvailable=400_000, MemFree=310_000)
        .vmstat(pgscan_direct=(0, 1_900_000), allocstall_normal=(0, 4_100), pgscan_kswapd=(0, 5_000_000))
        .pressure(memory_some=88, memory_full=70)
        .process("kswapd0", sys=450, core=0, pid=212, kernel=True, state="R"),
        ILL,
        RECLAIM,
    ),
]

UNREAD = [
    Asked(
        "df hangs on a file server that is gone, and nothing else waits",
        Machine()
        .instead("filesystems", "look", None)
        .log((15 * MINUTE, "nfs: server 10.0.4.20 not responding, still trying")),
        BAD,
        f"{STALL} -",
    ),
    Asked(
        "the disks' counters are refused, and twelve wait",
        waits(Machine(), 12, "mysqld", "io_schedule", 71, 66).without("storage"),
        BAD,
        f"{STALL} -",
    ),
    Asked(
        "the log is refused, and a GPU does not answer",
        gpu_node().without("kernel_log").gpus(CARD, OTHER, listed=(OTHER,)),
        "critical",
        GPU,
        "cordon",
    ),
    Asked(
        "the kubelet is asked, and neither look was printed",
        Machine().instead("essential_units", "look", "", ""),
        "unknown",
    ),
]

# What is printed in the same words on machines that nothing ails.
HEALTHY = [
    Asked(
        "corrected errors of a PCIe link, which the kernel prints as errors",
        metal()
        .log_every(40, 300, 12, "pcieport 0000:00:1d.0: AER: Corrected error received: 0000:00:1d.0 (Physical Layer)")
        .log_every(40, 300, 12, "pcieport 0000:00:1d.0: AER: Correctable error message received from 0000:00:1d.0")
        .log_every(40, 300, 12, "pcieport 0000:00:1d.0:   device [8086:a298] error status/mask=00001000/00002000")
        .log_every(40, 300, 12, "pcieport 0000:00:1d.0:    [12] Timeout"),
        "healthy",
    ),
    Asked(
        "the chip that draws the console complains all day",
        metal().log_every(40, 60, 50, "ast 0000:04:00.0: [drm] *ERROR* Failed to read EDID, timed out"),
        "healthy",
    ),
    Asked(
        "volumes are taken from the slots of a bare machine all day",
        metal().log_every(40, 400, 20, "pcieport 0000:00:1c.0: pciehp: Slot(16): Link Down"),
        "healthy",
    ),
    Asked(
        "a zone of heat cannot be read",
        metal().log_every(40, 60, 50, "thermal thermal_zone0: failed to read out thermal zone (-61)"),
        "healthy",
    ),
    Asked(
        "somebody asks a disk of Hyper-V for what it has not",
        azure().log_every(
            10,
            60,
            50,
            "hv_storvsc f8b3781b-1e82-4818-a1c3-63d806ec15bb: tag#11 cmd 0x85 status: scsi 0x2 srb 0x6 hv 0xc0000001",
        ),
        "healthy",
    ),
    Asked(
        "a program crashes every minute",
        Machine().log_every(
            30, 60, 40, "traps: node[44{n}] general protection fault ip:7f21 sp:7ffc error:0 in libc.so.6[7f2100000000]"
        ),
        "healthy",
    ),
    Asked(
        "a switch was restarted twice this hour",
        metal().log(
            (50 * MINUTE, "mlx5_core 0000:3b:00.0 ens3f0np0: Link down"),
            (9 * MINUTE, "mlx5_core 0000:3b:00.0 ens3f0np0: Link down"),
        ),
        "healthy",
    ),
    Asked("three damaged frames", metal().nic(rx_crc_errors=(48_112, 48_115)), "healthy"),
    Asked(
        "one reset of an adapter, with thirty lines about it",
        metal().log_every(8 * MINUTE, 0.01, 30, "ice 0000:18:00.0: VSI {n} rebuild failed, err -5"),
        "healthy",
    ),
    Asked(
        "a disk is encrypted by an unbound worker",
        small().core(1, sys=99).process("kworker/u4:3-kcryptd/253:0", sys=490, core=1, pid=71, kernel=True, state="R"),
        "healthy",
    ),
    Asked(
        "a driver that failed for a minute yesterday",
        metal().log_every(
            20 * HOUR, 2, 40, "bnxt_en 0000:ca:00.0 eth0: Error (timeout: 500015) msg {0x23 0x9812} len:0"
        ),
        "healthy",
    ),
    Asked(
        "a loaded array with long queues that moves",
        waits(metal(), 11, "postgres", "folio_wait_bit_common", 97, 91).disk("sda", 32, 32, 400, 300),
        "healthy",
    ),
]

NODES = [*NETWORKS, *SERVICES, *UNREAD, *HEALTHY]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_incident_is_told_as_what_it_was(asked: Asked) -> None:
    check(asked)
