"""Whole nodes with a sick GPU, disk, file server, memory module or network card, in the words of many drivers."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import amazon2, azure, database, gpu_node, guest, metal, rocky8
from tests.independent.machine import Machine

GPU, STALL, NIC, MEMORY, SHUT = (
    *("gpu-fault", "io-stall", "nic-device-fault", "memory-errors"),
    "filesystem-read-only",
)
FOUR = ("0000:1b:00.0", "0000:43:00.0", "0000:9b:00.0", "0000:d1:00.0")
GONE = "NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def h100(lines: tuple[str, ...], status: str = "status 0") -> Machine:
    """Let nvidia-smi print these lines for the GPUs, and nothing about rows and actions."""
    told = ("==> /gpus <==", *lines, status, "==> /rows <==", "==> /actions <==", "-- end --", "")
    return gpu_node(kernel="6.8.0-1021-aws", product="p5.48xlarge").gpus(*FOUR, smi="\n".join(told))


def listed(*but: str) -> tuple[str, ...]:
    return tuple(f"0000{bus.upper()}, 0" for bus in FOUR if bus not in but)


def xid(code: int, says: str) -> str:
    return f"NVRM: Xid (PCI:0000:43:00): {code}, pid=4411, name=python3, {says}"


LOST = "Unable to determine the device handle for GPU2: 0000:9B:00.0: Unknown Error"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running."
)


def unbound() -> Machine:
    """Let a new kernel have started without the module that belongs to it: nothing drives the GPUs."""
    machine = h100((NO_DRIVER, ""), "status 9")
    machine.facts.gpus = [f"{bus} 0x030200 " for bus in FOUR]
    return machine


GPUS = [
    # Drivers since 5xx name the GPU by its number and then by its address; the others are listed.
    Asked(
        "nvidia-smi cannot reach one of four, in the words of new drivers",
        h100((LOST, *listed("0000:9b:00.0")), "status 6").log((2 * HOUR, GONE)),
        "critical",
        GPU,
        "cordon",
        says="power cycle",
    ),
    Asked(
        "the only GPU of a node was lost, and nvidia-smi stops at it",
        h100((LOST, "No devices were found"), "status 6").log((10 * MINUTE, GONE)),
        "critical",
        GPU,
        "cordon",
        says="power cycle",
    ),
    Asked(
        "the lost GPU is still listed, without its figures",
        h100((*listed("0000:9b:00.0"), "00000000:9B:00.0, [GPU is lost]")).log((3 * HOUR, GONE)),
        "critical",
        GPU,
        "cordon",
        says="power cycle",
    ),
    Asked(
        "the same after the log was cleaned up",
        h100((*listed("0000:9b:00.0"), "00000000:9B:00.0, [GPU is lost]")),
        "critical",
        GPU,
        "cordon",
    ),
    Asked(
        "a GPU that knows itself no more answers with errors",
        h100((*listed("0000:9b:00.0"), "00000000:9B:00.0, [Unknown Error]")),
        "critical degraded unknown",
        f"- {GPU}",
        "cordon",
    ),
    # NVIDIA's catalog: RESET_GPU for each of these.
    Asked(
        "its micro-controller halted",
        h100(listed()).log((20 * MINUTE, xid(62, "26b24c48 0000ca08 00000000"))),
        "degraded",
        GPU,
        says="Xid 62",
    ),
    Asked(
        "a GPU stopped processing twice",
        h100(listed()).log((50 * MINUTE, xid(46, "Ch 00000008")), (8 * MINUTE, xid(46, "Ch 00000010"))),
        "degraded",
        GPU,
        says="reset the GPU",
    ),
    Asked(
        "a link could not be trained",
        h100(listed()).log((4 * MINUTE, xid(136, "Link 07 Training in progress 0 Fail"))),
        "degraded",
        GPU,
    ),
    Asked(
        "a GPU that did not come up again after its reset",
        h100(listed("0000:43:00.0")).log((12 * MINUTE, xid(143, "GPU Init Error 0x5b"))),
        "critical",
        GPU,
        "drain uncordon reboot",
    ),
    # And RESTART_APP for each of these: the program's own.
    Asked(
        "a program sends what the GPU does not know",
        h100(listed()).log((5 * MINUTE, xid(69, "Class Error: ChId 0008, Class 0000c9c0")), (9, xid(32, "Channel 8"))),
        "healthy",
    ),
    Asked("a new kernel has no driver for the GPUs", unbound(), "unknown degraded critical", f"- {GPU}"),
    Asked(
        "the GPUs have to be drained and reset",
        gpu_node().gpus(*FOUR, actions={"0000:d1:00.0": "Drain and Reset"}),
        "critical",
        GPU,
        "cordon",
    ),
]


def path_lost(words: str) -> Machine:
    said = f"{words} error, dev sdc, sector {{n}}2048 op 0x1:(WRITE) flags 0x4000 phys_seg 3 prio class 0"
    return database().log_every(4, 9, 20, said).pressure(io_some=48, io_full=35).waiting(4, "postgres", "io_schedule")


ATA = (
    "ata4.00: exception Emask 0x0 SAct 0x7fc00 SErr 0x0 action 0x6 frozen",
    "ata4.00: failed command: READ FPDMA QUEUED",
    "ata4: hard resetting link",
)
POOL = "WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended."
OST = "Lustre: fs1-OST0003-osc-ffff9a7d: Connection to fs1-OST0003 (at 10.2.0.9@tcp) was lost; in progress operations"
OST_LOST, OST_BACK = (
    f"{OST} using this service will wait for recovery to complete",
    "Lustre: fs1-OST0003-osc-ffff9a7d: Connection restored to 10.2.0.9@tcp (at 10.2.0.9@tcp)",
)
CIFS = "CIFS: VFS: \\\\nas01.corp.example has not responded in 180 seconds. Reconnecting..."


def still(machine: Machine, count: int, name: str, wchan: str) -> Machine:
    """Let so many wait at both looks while the machine's own disks have nothing to do."""
    return machine.waiting(count, name, wchan).disk("nvme0n1", 0, 0)


STORAGE = [
    # block/blk-core.c, blk_errors: every name of an error that a lost path or a dead device has.
    Asked("a path of the storage network is lost", path_lost("recoverable transport"), "critical", STALL),
    Asked("the storage network does not answer in time", path_lost("blk_update_request: timeout"), "critical", STALL),
    Asked(
        "a disk was switched off by the kernel, and nobody waits for it now",
        metal().log_every(30, 60, 5, "device offline error, dev sdb, sector {n}0 op 0x0:(READ) flags 0x0 phys_seg 1"),
        "degraded",
        STALL,
    ),
    Asked(
        "checksums of a disk's blocks are wrong",
        metal().log_every(90, 60, 3, "protection error, dev nvme3n1, sector {n}88 op 0x0:(READ) flags 0x0 phys_seg 1"),
        "degraded",
        STALL,
    ),
    # libata-core.c: a disk that is reset every minute answers between, and no request fails.
    Asked(
        "a SATA disk is reset every minute",
        metal().log_every(20, 60, 15, ATA[0]).log_every(19.9, 60, 15, ATA[1]).log_every(19.8, 60, 15, ATA[2]),
        "degraded",
        STALL,
    ),
    Asked(
        "half of a mirror failed",
        metal().log((40 * MINUTE, "md/raid1:md0: Disk failure on sda1, disabling device.")),
        "degraded",
        STALL,
    ),
    # openzfs, module/zfs/zio.c (zio_suspend): all that write wait until somebody clears the pool.
    Asked(
        "a pool of ZFS was suspended, and all that write wait",
        still(metal(), 9, "txg_sync", "cv_wait_common").log((30 * MINUTE, POOL)),
        "critical",
        STALL,
    ),
    # lustre/ptlrpc/import.c: nobody's call comes back before the connection does.
    Asked(
        "a Lustre server went away and the training waits for it",
        still(gpu_node(), 24, "dataloader", "ptlrpc_set_wait").log((6 * MINUTE, OST_LOST)),
        "critical",
        STALL,
        says="fs1-OST0003",
    ),
    Asked(
        "the Lustre server came back",
        gpu_node().log((6 * MINUTE, OST_LOST), (5 * MINUTE, OST_BACK)),
        "healthy",
    ),
    Asked(
        "a Windows share went away",
        still(guest(), 6, "rsync", "wait_for_response").log_every(40, 180, 4, CIFS),
        "critical degraded",
        STALL,
        says="nas01.corp.example",
    ),
    # sunrpc says "not responding" after three minutes (timeo=600, retrans=2): until then the server is only slow.
    Asked(
        "a slow file server, and nothing else waits",
        still(gpu_node(), 40, "python3", "rpc_wait_bit_killable"),
        "degraded",
        STALL,
    ),
    Asked(
        "a bucket's file system hangs in its daemon",
        still(Machine(), 14, "cp", "request_wait_answer"),
        "degraded",
        STALL,
    ),
    Asked(
        "a Ceph image does not answer",
        still(guest(), 20, "mysqld", "io_schedule").disk("rbd0", 32, 32).log((90, "libceph: osd3 down")),
        "critical",
        STALL,
    ),
    Asked(
        "a multipath device has no path and keeps its requests",
        still(database(), 30, "postgres", "io_schedule").disk("dm-2", 64, 64).disk("sdd", 0, 0),
        "critical",
        STALL,
    ),
    Asked(
        "a write-back that never ends, on a kernel that says what it waits for",
        Machine(kernel="6.12.9")
        .waiting(2, "kworker/u128:3+flush-253:0", "io_schedule")
        .disk("dm-0", 12, 12)
        .log((30, "INFO: task kworker/u128:3:812 blocked in I/O wait for more than 122 seconds.")),
        "critical",
        STALL,
    ),
    # fs/xfs/xfs_error.c of 3.10: the error in capitals, then the shutdown; /proc/mounts keeps rw.
    Asked(
        "XFS of an old kernel found itself corrupted",
        rocky8()
        .mount("sdb1 xfs rw,attr2,inode64,noquota /srv/jobs")
        .log(
            (900, "XFS (sdb1): Internal error XFS_WANT_CORRUPTED_GOTO at line 1635 of file fs/xfs/libxfs/xfs_alloc.c."),
            (899, "XFS (sdb1): Corruption of in-memory data detected.  Shutting down filesystem"),
        ),
        "critical",
        SHUT,
    ),
    Asked(
        "a failing disk shut its file system, and the kubelet stopped over it",
        Machine()
        .mount("nvme1n1 xfs rw,attr2,inode64,noquota /var/lib/kubelet")
        .log_every(40, 20, 9, "I/O error, dev nvme1n1, sector {n}88 op 0x1:(WRITE) flags 0x9800 phys_seg 1")
        .log((50, "XFS (nvme1n1): log I/O error -5"))
        .log((49, "XFS (nvme1n1): Filesystem has been shut down due to log error (0x2)."))
        .waiting(6, "kubelet", "xlog_wait_on_iclog")
        .health("500 0", "500 0"),
        "critical",
        f"{STALL} {SHUT}",
        "cordon",
    ),
    Asked(
        "the database's own disk is full",
        database().mount("nvme1n1 xfs rw,noatime /var/lib/pgsql").room("/var/lib/pgsql", 2000, 0),
        "degraded",
        "disk-full",
    ),
    Asked(
        "the scratch space of a runner has no inode left",
        Machine(kubernetes=False).room("/var/lib/docker", 300, 41, 19_660_800, 0.2, "/dev/nvme1n1"),
        "critical",
        "disk-full",
    ),
]

CE = (
    "EDAC MC0: {} CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x2f1 offset:0x0 "
    "grain:32 syndrome:0x0 -  err_code:0001:0090 socket:0 ha:0 channel_mask:2 rank:0)"
)
MODULES = [
    # The counts are since boot: what came in the last hour is in the log.
    Asked(
        "a module that began to fail half an hour ago, after two hundred days",
        metal(up=200 * DAY).edac("mc0", 0, 52_000, 200 * DAY).log_every(20, 60, 30, CE.format(1700)),
        "degraded",
        MEMORY,
    ),
    Asked(
        "the same module months ago",
        metal(up=200 * DAY).edac("mc0", 0, 52_000, 200 * DAY).log_every(90 * DAY, 60, 30, CE.format(1700)),
        "healthy",
    ),
    # mm/memory-failure.c before 4.2: "MCE 0x...: PAGE page recovery: RESULT".
    Asked(
        "an old kernel could not correct a page",
        rocky8()
        .edac("mc0", 0, 12, 160 * DAY, given_up_kib=4)
        .log((20 * MINUTE, "MCE 0x2fd1b2a: dirty LRU page recovery: Failed")),
        "critical",
        MEMORY,
    ),
]

_MLX = "mlx5_core 0000:3b:00.0: poll_health:800:(pid 0): device's health compromised - reached miss count"
CARDS = [
    Asked(
        "ixgbe's queue hangs every minute",
        rocky8()
        .log_every(21, 60, 12, "ixgbe 0000:03:00.0 enp3s0: Detected Tx Unit Hang")
        .log_every(20.9, 60, 12, "ixgbe 0000:03:00.0 enp3s0: tx hang {n} detected on queue 3, resetting adapter")
        .log_every(20.8, 60, 12, "ixgbe 0000:03:00.0 enp3s0: Reset adapter"),
        "degraded critical",
        NIC,
    ),
    Asked(
        "e1000e stands still",
        metal(cores=4).log_every(3, 2, 60, "e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:"),
        "degraded critical",
        NIC,
    ),
    Asked("the firmware of a ConnectX died", metal().log((9 * MINUTE, _MLX)), "degraded critical", NIC),
    Asked(
        "i40e cannot be reset",
        metal().log_every(30, 45, 6, "i40e 0000:18:00.0: PF reset failed, -15"),
        "critical",
        NIC,
    ),
    Asked(
        "bnxt resets itself again and again",
        azure().log_every(25, 40, 8, "bnxt_en 0000:ca:00.0 eth0: TX timeout detected, starting reset task!"),
        "degraded critical",
        NIC,
    ),
    Asked(
        "one hang of a card, a week ago",
        amazon2().log((7 * DAY, "ixgbe 0000:03:00.0 enp3s0: Detected Tx Unit Hang")),
        "healthy",
    ),
]

NODES = [*GPUS, *STORAGE, *MODULES, *CARDS]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_sick_device_is_told_as_what_it_is(asked: Asked) -> None:
    check(asked)
