"""Whole nodes whose kernel broke, or whose memory, GPU or bus fails."""

from __future__ import annotations

import pytest

from tests.contract.asked import STOPPED, Asked, check
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import (
    amazon2,
    arm,
    database,
    google,
    gpu_node,
    metal,
    rhel7,
    rocky8,
    small,
)
from tests.independent.machine import Machine

STALL, SHUT, NIC, MEMORY, GPU = "io-stall", "filesystem-read-only", "nic-device-fault", "memory-errors", "gpu-fault"
RECLAIM, OOM, LOCK, FULL = "memory-reclaim", "oom-kills", "lockup", "disk-full"
CARD, OTHER = "0000:3b:00.0", "0000:af:00.0"
ILL, BAD = "degraded critical", "degraded critical unknown"


def waits(machine: Machine, count: int, name: str, wchan: str, some: float = 60, full: float = 42) -> Machine:
    return machine.waiting(count, name, wchan).pressure(io_some=some, io_full=full)


KERNELS = [
    Asked(
        "the kernel hit its own assertion, and the kubelet hangs over a lock",
        Machine(kernel="5.15.0-1052-aws")
        .log((11 * MINUTE, "kernel BUG at fs/overlayfs/super.c:812!"))
        .log((11 * MINUTE - 0.1, "invalid opcode: 0000 [#1] SMP NOPTI"))
        .waiting(6, "kubelet", "rwsem_down_write_slowpath")
        .health("000 28", "000 28"),
        BAD,
        f"{STOPPED} {STALL} {LOCK} -",
    ),
    Asked(
        "an Oops a quarter of an hour ago, and the node goes on",
        google()
        .log((15 * MINUTE, "BUG: kernel NULL pointer dereference, address: 0000000000000010"))
        .log((15 * MINUTE - 0.1, "Oops: 0000 [#1] PREEMPT SMP NOPTI")),
        ILL,
        f"{LOCK} -",
    ),
    Asked(
        "page tables are corrupted, again and again",
        metal()
        .log_every(30, 50, 14, "BUG: Bad page state in process kworker/u128:2  pfn:2f1b{n}2")
        .log_every(29, 50, 14, "BUG: Bad rss-counter state mm:00000000c8a1 type:MM_ANONPAGES val:{n}"),
        ILL,
        f"{MEMORY} -",
    ),
    Asked(
        "a general protection fault in the network code of an arm's sibling",
        amazon2().log(
            (6 * MINUTE, "general protection fault, probably for non-canonical address 0xdead000000000122: 0000 [#1]")
        ),
        ILL,
        f"{LOCK} -",
    ),
    Asked(
        "the workers of a core have been stuck for minutes",
        arm()
        .log_every(20, 30, 8, "BUG: workqueue lockup - pool cpus=12 node=0 flags=0x0 nice=0 stuck for {n}53s!")
        .core(12, sys=100),
        ILL,
        f"{LOCK} -",
    ),
    Asked(
        "a network namespace is never freed, and containers cannot be started",
        Machine(kernel="4.14.336-257.562.amzn2.x86_64", v1=True)
        .log_every(4, 10.2, 100, "unregister_netdevice: waiting for eth0 to become free. Usage count = 1")
        .waiting(3, "containerd", "copy_net_ns"),
        ILL,
        f"{STALL} {LOCK} -",
    ),
    Asked(
        "everybody waits for the lock of the network's configuration",
        Machine()
        .waiting(9, "calico-node", "rtnetlink_rcv_msg")
        .waiting(4, "kworker/u32:1+netns", "rtnl_lock", 30000)
        .log_every(30, 122, 3, "INFO: task calico-node:44{n}1 blocked for more than 122 seconds."),
        ILL,
        f"{LOCK} -",
    ),
    Asked(
        "the audit daemon is gone and its queue holds up every call",
        rhel7()
        .log_every(3, 0.6, 300, "audit: audit_backlog=8193 > audit_backlog_limit=8192")
        .log_every(2.9, 0.6, 300, "audit: backlog limit exceeded"),
        ILL,
    ),
    Asked(
        "an interrupt that nobody wants was switched off",
        metal(cores=8).log(
            (40 * MINUTE, 'irq 16: nobody cared (try booting with the "irqpoll" option)'),
            (40 * MINUTE - 0.1, "Disabling IRQ #16"),
        ),
        ILL,
    ),
    Asked(
        "the IOMMU of a host does not finish its commands",
        metal().log_every(1, 1.1, 200, "AMD-Vi: Completion-Wait loop timed out"),
        ILL,
    ),
    Asked(
        "PID 1 crashed: nothing is started or stopped any more",
        rocky8()
        .log((3 * HOUR, "systemd[1]: Caught <SEGV>, dumped core as pid 4411."))
        .log((3 * HOUR - 1, "systemd[1]: Freezing execution."))
        .instead("units", "show", None, None)
        .instead("units", "failed", None)
        .instead("agents", "units", None)
        .instead("essential_units", "look", None, None),
        BAD,
        f"{STOPPED} -",
    ),
    Asked(
        "64 cores spin in the kernel",
        metal().all_cores(usr=5, sys=93),
        BAD,
    ),
    Asked(
        "a kernel worker has one of two cores for itself",
        small().core(1, sys=99).process("kworker/1:2+kacpid", sys=496, core=1, pid=71, kernel=True, state="R"),
        ILL,
        f"{LOCK} -",
    ),
    Asked(
        "a realtime thread holds the core that serves the card",
        Machine(kernel="5.10.225-213.878.amzn2.x86_64")
        .core(3, usr=100)
        .process("dpdk-stats", usr=498, core=3, pid=881, policy=1, state="R", working=((3, 498, 0),))
        .log_every(
            50,
            120,
            6,
            "ena 0000:00:05.0 eth0: TX q 3 is paused for too long. Time since last napi 6596000 usec. "
            "napi scheduled: 1",
        )
        .log_every(
            49,
            120,
            6,
            "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA)",
        )
        .nic(total_resets=(11, 11), suspected_poll_starvation=(11, 11)),
        ILL,
        "queue-starved",
        says="held in realtime by dpdk-stats",
    ),
]

HARDWARE = [
    Asked(
        "an Arm server reports memory by its firmware",
        arm()
        .log((900, "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1"))
        .log((899.9, "{1}[Hardware Error]: event severity: recoverable"))
        .log((899.8, "{1}[Hardware Error]:   section_type: memory error"))
        .log((899.7, "{1}[Hardware Error]:   error_type: 3, multi-bit ECC")),
        ILL,
        MEMORY,
    ),
    Asked(
        "an EPYC found data that it cannot correct",
        metal()
        .log((300, "mce: [Hardware Error]: Machine check events logged"))
        .log((299.9, "[Hardware Error]: Uncorrected, software restartable error."))
        .log(
            (
                299.8,
                "[Hardware Error]: CPU:12 (19:1:1) MC0_STATUS[-|UE|MiscV|AddrV|-|-|UECC|-|Poison|-]: 0xbc000800",
            )
        ),
        ILL,
        MEMORY,
    ),
    Asked(
        "a huge page of a database cannot be given up",
        database()
        .log((700, "Memory failure: 0x91a200: recovery action for huge page: Failed"))
        .edac("mc0", 1, 4, 120 * DAY, given_up_kib=2048),
        ILL,
        MEMORY,
    ),
    Asked(
        "a PCIe link ends with a fatal error",
        metal()
        .log((200, "pcieport 0000:00:01.1: AER: Uncorrectable (Fatal) error message received from 0000:41:00.0"))
        .log((199, "pcieport 0000:00:01.1: AER: device recovery failed")),
        ILL,
    ),
    Asked(
        "a MI300 hangs, and its reset fails",
        metal().log(
            (
                90,
                "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring comp_1.0.0 timeout, signaled seq=412, emitted seq=414",
            ),
            (89, "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!"),
            (60, "amdgpu 0000:c1:00.0: amdgpu: GPU reset(2) failed"),
        ),
        ILL,
        f"{GPU} -",
    ),
    Asked(
        "a Gaudi does not answer its driver",
        metal().log((100, "habanalabs 0000:33:00.0: Device heartbeat failed!")),
        ILL,
        f"{GPU} -",
    ),
    Asked(
        "a link of a Blackwell GPU failed for good",
        gpu_node(kernel="6.8.0-1021-nvidia-64k", product="p6e-gb200.36xlarge")
        .gpus(CARD, OTHER)
        .log((500, "NVRM: Xid (PCI:0000:3b:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 11 (0x004505c6 0x00000000)")),
        ILL,
        GPU,
        "cordon",
    ),
    Asked(
        "a V100 retires pages after a double-bit error",
        gpu_node(product="p3dn.24xlarge", kernel="4.14.336-257.562.amzn2.x86_64")
        .gpus(CARD, OTHER, rows={CARD: "[N/A], [N/A]", OTHER: "[N/A], [N/A]"}, ecc={CARD: 1})
        .log(
            (800, "NVRM: Xid (PCI:0000:3b:00): 48, pid=91, An uncorrectable double bit error (DBE) has been detected"),
            (799, "NVRM: Xid (PCI:0000:3b:00): 63, Dynamic Page Retirement: New page retired, reboot to activate"),
        ),
        ILL,
        GPU,
        "cordon",
    ),
    Asked(
        "one of two GPUs cannot be initialised",
        gpu_node()
        .gpus(CARD, OTHER, listed=(OTHER,))
        .log_every(20, 30, 12, "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x62:0x40:2477)"),
        "critical",
        GPU,
        "cordon",
    ),
    Asked(
        "an upgrade changed the driver's library under the running module",
        gpu_node()
        .gpus(
            CARD,
            OTHER,
            smi="==> /gpus <==\nFailed to initialize NVML: Driver/library version mismatch\n"
            "NVML library version: 550.54\nstatus 18\n==> /rows <==\n==> /actions <==\n-- end --\n",
        )
        .log_every(
            30,
            60,
            5,
            "NVRM: API mismatch: the client has the version 550.54.15, but\nNVRM: this kernel module has the version "
            "535.183.01.".replace("\n", " "),
        ),
        BAD,
        f"{GPU} -",
        "cordon",
    ),
]

NODES = [*KERNELS, *HARDWARE]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_broken_kernel_or_hardware_is_told(asked: Asked) -> None:
    check(asked)
