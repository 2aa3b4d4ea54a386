"""Whole nodes as incidents left them: dying hardware, kernels that broke, file servers and networks that went away.

Longer than 300 lines: one node after another, with the source of its words beside each.
"""

from __future__ import annotations

import pytest

from tests.contract.asked import LOOP, STOPPED, Asked, check
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kernel import in_pod, kills
from tests.independent.kinds import (
    amazon2,
    arm,
    azure,
    database,
    edge,
    google,
    gpu_node,
    guest,
    metal,
    rancher,
    rhel7,
    rocky8,
    small,
)
from tests.independent.machine import KUBELET, Machine

STALL, SHUT, NIC, MEMORY, GPU = "io-stall", "filesystem-read-only", "nic-device-fault", "memory-errors", "gpu-fault"
RECLAIM, OOM, LOCK, FULL = "memory-reclaim", "oom-kills", "lockup", "disk-full"
CARD, OTHER = "0000:3b:00.0", "0000:af:00.0"
ILL, BAD = "degraded critical", "degraded critical unknown"


def waits(machine: Machine, count: int, name: str, wchan: str, some: float = 60, full: float = 42) -> Machine:
    return machine.waiting(count, name, wchan).pressure(io_some=some, io_full=full)


STORAGE = [
    Asked(
        "an NVMe disk left the bus under a mounted file system",
        metal().log(
            (420, "nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff"),
            (419, "nvme nvme2: Device not ready; aborting reset, CSTS=0x1"),
            (418, "nvme nvme2: Disabling device after reset failure: -19"),
        ),
        ILL,
        STALL,
    ),
    Asked(
        "btrfs reads blocks that are not what was written",
        Machine(kubernetes=False, system="openSUSE Leap 15.6", kernel="6.4.0-150600.23.33-default")
        .mount("sdb btrfs rw,relatime,space_cache=v2 /srv", "UUID=1 /srv btrfs defaults 0 0")
        .log_every(
            8,
            20,
            40,
            "BTRFS warning (device sdb): csum failed root 5 ino 257 off 81{n}2 csum 0x8941f998 "
            "expected csum 0x5f2c1a00 mirror 1",
        )
        .log_every(
            7.9, 20, 40, "BTRFS error (device sdb): bdev /dev/sdb errs: wr 0, rd 0, flush 0, corrupt 8{n}, gen 0"
        ),
        ILL,
        f"{STALL} {SHUT} -",
    ),
    Asked(
        "ext4 finds errors and goes on, as it was told to",
        guest()
        .mount("vdb ext4 rw,relatime,errors=continue /srv", "LABEL=srv /srv ext4 defaults,errors=continue 0 2")
        .log_every(
            30,
            45,
            12,
            "EXT4-fs error (device vdb): ext4_lookup:1785: inode #13{n}: comm find: deleted inode referenced: 2{n}1",
        ),
        ILL,
        f"{STALL} {SHUT} -",
    ),
    Asked(
        "dm-integrity finds wrong checksums",
        metal()
        .disk("dm-1", 0, 0, 40, 90)
        .log_every(40, 60, 6, "device-mapper: integrity: dm-1: Checksum failed at sector 0x2f1{n}8"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "the sealed root of a container host is corrupted",
        google().log_every(20, 30, 9, "device-mapper: verity: 254:0: data block 88{n}2 is corrupted"),
        ILL,
        f"{STALL} {SHUT} -",
    ),
    Asked(
        "CephFS: the metadata server hangs",
        waits(guest(), 8, "nginx", "ceph_mdsc_wait_request", 0, 0)
        .disk("vda", 0, 0)
        .log((300, "ceph: mds0 caps stale"), (240, "ceph: mds0 hung")),
        ILL,
        STALL,
    ),
    Asked(
        "GPFS waits for its manager",
        rocky8().waiting(24, "slurmstepd", "cxiWaitEventWait").disk("sda", 0, 0),
        ILL,
        STALL,
    ),
    Asked(
        "an NFS lease that cannot be renewed",
        gpu_node()
        .waiting(12, "python3", "nfs_wait_bit_killable")
        .disk("nvme0n1", 0, 0)
        .log_every(9, 5, 100, "NFS: state manager: lease expired failed on NFSv4 server 10.0.4.20 with error 13"),
        ILL,
        STALL,
    ),
    Asked(
        "the SD card of an edge node is dying",
        waits(edge(), 5, "k3s-agent", "wait_on_page_bit")
        .disk("mmcblk0", 9, 9)
        .log_every(12, 30, 8, "mmc0: Timeout waiting for hardware interrupt.")
        .log_every(
            11.9,
            30,
            8,
            "mmcblk0: error -110 transferring data, sector 81{n}2, nr 8, cmd response 0x900, card status 0xc00",
        ),
        "critical",
        STALL,
    ),
    Asked(
        "a host of Hyper-V refuses writes",
        azure().log_every(
            15,
            20,
            15,
            "hv_storvsc f8b3781b-1e82-4818-a1c3-63d806ec15bb: tag#11{n} cmd 0x2a status: scsi 0x0 srb 0x20 "
            "hv 0xc0000001",
        ),
        ILL,
        STALL,
    ),
    Asked(
        "a RAID controller's firmware faults and is reset",
        waits(metal(), 9, "ceph-osd", "blk_mq_get_tag")
        .disk("sda", 40, 40)
        .log(
            (90, "megaraid_sas 0000:65:00.0: FW in FAULT state Fault code:0x10000 subcode:0x0 func:megasas_wait"),
            (89, "megaraid_sas 0000:65:00.0: resetting fusion adapter scsi0."),
        ),
        "critical",
        STALL,
    ),
    Asked(
        "a Smart Array is locked up, and nobody writes at this moment",
        metal(cores=24).log(
            (25 * MINUTE, "hpsa 0000:03:00.0: controller lockup detected: 0x00130000 after 30"),
            (25 * MINUTE - 1, "hpsa 0000:03:00.0: failed 41 commands in fail_all"),
        ),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "two of four disks of an array are gone",
        rocky8()
        .log((50 * MINUTE, "md/raid:md127: Disk failure on sdc1, disabling device."))
        .log((12 * MINUTE, "md/raid:md127: Disk failure on sde1, disabling device."))
        .log((12 * MINUTE - 0.1, "md/raid:md127: Cannot continue operation (2/4 failed).")),
        ILL,
        STALL,
    ),
    Asked(
        "the metadata of a thin pool is full",
        guest().log(
            (700, "device-mapper: thin: 253:4: metadata operation 'dm_thin_insert_block' failed: error = -28"),
            (699, "device-mapper: thin: 253:4: aborting current metadata transaction"),
            (698, "device-mapper: thin: 253:4: switching pool to read-only mode"),
        ),
        ILL,
        f"{STALL} {SHUT}",
    ),
    Asked(
        "RKE2's own volume of images is full",
        rancher().room("/var/lib/rancher", 200, 0.3, device="/dev/sdb1"),
        ILL,
        FULL,
    ),
    Asked(
        "NVMe over TCP has lost its target",
        waits(database(), 22, "postgres", "xlog_wait_on_iclog")
        .disk("nvme3n1", 31, 31)
        .log_every(4, 10, 30, "nvme nvme3: failed to connect socket: -110")
        .log_every(3.9, 10, 30, "nvme nvme3: Reconnecting in 10 seconds..."),
        "critical",
        STALL,
    ),
    Asked(
        "pages cannot be read back from swap",
        small(memory_gib=8).log_every(6, 9, 30, "Read-error on swap-device (259:3:8123{n})"),
        ILL,
        STALL,
    ),
    Asked(
        "ext3 on an old kernel stopped its journal",
        rhel7()
        .mount("mapper/vg-data ext3 ro,relatime /data", "/dev/mapper/vg-data /data ext3 defaults 1 2")
        .log(
            (9 * HOUR, "EXT3-fs error (device dm-3): ext3_journal_start_sb: Detected aborted journal"),
            (9 * HOUR - 1, "EXT3-fs (dm-3): error: remounting filesystem read-only"),
        ),
        "critical",
        SHUT,
    ),
    Asked(
        "a fibre card aborts commands all the time",
        database().log_every(14, 33, 20, "qla2xxx [0000:41:00.0]-801c:1: Abort command issued nexus=1:0:{n} -- 2002."),
        ILL,
        STALL,
    ),
    Asked(
        "a vdev of ZFS returns errors",
        metal().log_every(
            12,
            15,
            25,
            "zio pool=tank vdev=/dev/disk/by-id/ata-ST12000NM0127_ZHZ1-part1 error=5 type=1 offset=27{n}0 "
            "size=8192 flags=180880",
        ),
        ILL,
        STALL,
    ),
    Asked(
        "a replicated disk has neither its own nor the other's data",
        guest().log(
            (80, "block drbd0: disk( UpToDate -> Failed )"),
            (79, "block drbd0: IO ERROR: neither local nor remote data, sector 81232+8"),
            (9, "block drbd0: IO ERROR: neither local nor remote data, sector 81240+8"),
        ),
        ILL,
        STALL,
    ),
    Asked(
        "a dying disk does one request a second, and all wait for it",
        waits(metal(), 11, "postgres", "folio_wait_bit_common", 97, 91).disk("sda", 32, 32, 3, 3),
        ILL,
        STALL,
    ),
    Asked(
        "XFS cannot get the memory for a fragmented file's map",
        rocky8().log_every(
            2, 2, 300, "XFS: ceph-osd(44{n}) possible memory allocation deadlock size 131088 in kmem_alloc (mode:0x250)"
        ),
        ILL,
        f"{RECLAIM} {STALL} -",
    ),
]

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
            "ena 0000:00:05.0: Device reset completed successfully, Driver info: Elastic Network Adapter (ENA) v2.13.2g",
        )
        .nic(total_resets=(11, 11), suspected_poll_starvation=(11, 11)),
        ILL,
        f"{NIC} irq-affinity -",
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
                "[Hardware Error]: CPU:12 (19:1:1) MC0_STATUS[-|UE|MiscV|AddrV|-|-|UECC|-|Poison|-]: 0xbc00080001010135",
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
        metal().log_every(
            40, 300, 12, "pcieport 0000:00:1d.0: AER: Corrected error received: 0000:00:1d.0 (Physical Layer)"
        ),
        "healthy",
    ),
    Asked(
        "the chip that draws the console complains all day",
        metal().log_every(40, 60, 50, "ast 0000:04:00.0: [drm] *ERROR* Failed to read EDID, timed out"),
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

NODES = [*STORAGE, *KERNELS, *HARDWARE, *NETWORKS, *SERVICES, *UNREAD, *HEALTHY]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_incident_is_told_as_what_it_was(asked: Asked) -> None:
    check(asked)
