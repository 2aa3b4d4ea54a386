"""Whole nodes whose disks, volumes, adapters or file servers are sick, in the words of many drivers."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.independent.facts import HOUR, MINUTE
from tests.independent.kinds import (
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
from tests.independent.machine import Machine

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

NODES = [*STORAGE]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_sick_storage_is_told(asked: Asked) -> None:
    check(asked)
