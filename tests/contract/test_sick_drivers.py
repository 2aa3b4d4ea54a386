"""Whole nodes whose drivers tell of a fault in words that few machines print; made after test_sick_again.py."""

from __future__ import annotations

import pytest

from tests.contract.asked import Asked, check
from tests.independent.facts import HOUR, MINUTE
from tests.independent.kinds import database, gpu_node, guest, metal, rocky8
from tests.independent.machine import Machine

STALL, SHUT, NIC, GPU, LOCK = "io-stall", "filesystem-read-only", "nic-device-fault", "gpu-fault", "lockup"
ILL = "degraded critical"
NODES = [
    Asked(
        "a Solarflare card's queues stand still every other minute",
        metal().log_every(31, 120, 9, "sfc 0000:3b:00.0 eth2: TX stuck with port_enabled=1: resetting channels"),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "a Chelsio card stopped itself",
        metal().log((40 * MINUTE, "cxgb4 0000:02:00.4: encountered fatal error, adapter stopped")),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "a disk of NVMe asks to be reset",
        Machine().log((15 * MINUTE, "nvme nvme2: resetting controller due to persistent internal error")),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "files of NFS are lost after the server came back",
        gpu_node().log_every(12, 40, 12, "NFSv4: state recovery failed for open file data/shard-{n}.tar, error = -116"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "what was written on ext4 is lost",
        guest()
        .log_every(
            22,
            30,
            9,
            "EXT4-fs (vdb): Delayed block allocation failed for inode 131 with error 5",
        )
        .log_every(21.9, 30, 9, "EXT4-fs (vdb): This should not happen!! Data will be lost"),
        ILL,
        f"{STALL} {SHUT} -",
    ),
    Asked(
        "an XFS that was shut before the log begins",
        database()
        .mount("dm-2 xfs rw,attr2,inode64,noquota /var/lib/pgsql")
        .disk("dm-2", 0, 0)
        .log_every(14, 30, 60, "XFS (dm-2): xfs_log_force: error -5 returned."),
        ILL,
        f"{STALL} {SHUT}",
    ),
    Asked(
        "a virtual function does not come out of its reset",
        guest().log_every(50, 180, 7, "iavf 0000:00:06.0: Reset never finished (0)"),
        ILL,
        f"{NIC} -",
    ),
    Asked(
        "a host answers a virtual disk with what was not asked",
        guest().log_every(8, 20, 30, "virtio_scsi virtio1: request:id {n} is not a head!"),
        ILL,
        f"{STALL} -",
    ),
    Asked(
        "a block of a mirror cannot be read from either half",
        metal().log((9 * MINUTE, "md/raid1:md0: sda1: unrecoverable I/O read error for block 812344")),
        ILL,
        STALL,
    ),
    Asked(
        "a cache before the disks gave up",
        metal().log(
            (2 * HOUR, "device-mapper: cache: 253:7: unable to read needs_check flag, setting failure mode."),
            (2 * HOUR, "device-mapper: cache: 253:7: switching cache to fail mode"),
        ),
        ILL,
        STALL,
    ),
    Asked(
        "twelve containers hang on their way up",
        Machine().waiting(12, "runc:[2:INIT]", "wait_for_completion").disk("nvme0n1", 0, 0),
        ILL + " unknown",
        f"{STALL} {LOCK} -",
    ),
    Asked(
        "no thread may be started by the kernel's own limit",
        rocky8().limits(threads=126_900, threads_max=127_000),
        ILL,
        "pid-or-fd-exhaustion",
    ),
    Asked(
        "a ring of a Radeon times out again and again",
        metal().log_every(
            70, 300, 6, "amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1{n}, emitted seq=3{n}"
        ),
        ILL,
        f"{GPU} -",
    ),
    Asked(
        "GFS2 withdrew itself",
        rocky8().log(
            (30 * MINUTE, "GFS2: fsid=clu:data.0: fatal: filesystem consistency error"),
            (30 * MINUTE - 1, "GFS2: fsid=clu:data.0: about to withdraw this file system"),
        ),
        ILL,
        f"{STALL} {SHUT} -",
    ),
    Asked(
        "the other node of an OCFS2 is silent",
        guest().log_every(
            25, 60, 20, "o2net: Connection to node n2 (num 1) at 10.0.0.2:7777 has been idle for 30.{n} secs."
        ),
        ILL,
        f"{STALL} -",
    ),
]


@pytest.mark.parametrize("asked", NODES, ids=lambda asked: str(asked.title))
def test_rare_words_of_a_driver_are_heard(asked: Asked) -> None:
    check(asked)
