"""More cases of file systems, disks and volumes."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import arm, azure, database, google, gpu_node, guest, metal, rancher, rocky8, small
from tests.independent.label import Label, near, sick
from tests.independent.machine import Machine

_RO = "filesystem-read-only"
READ_ONLY: list[Label] = [
    sick(
        _RO,
        "Btrfs forced the data disk read-only",
        metal()
        .mount("sdb1 btrfs ro,relatime,space_cache=v2 /srv/data", "UUID=b1 /srv/data btrfs defaults 0 0")
        .log((5 * HOUR, "BTRFS: error (device sdb1: state A) in __btrfs_free_extent:3071: errno=-5 IO failure"))
        .log((5 * HOUR, "BTRFS info (device sdb1: state EA): forced readonly")),
        "fstab wants it writable",
    ),
    sick(
        _RO,
        "images lie on an XFS that shut down, in the words of an old kernel",
        Machine(kernel="4.18.0-553.16.1.el8_10.x86_64", system="Red Hat Enterprise Linux 8.10 (Ootpa)", v1=True)
        .mount("dm-2 xfs rw,seclabel,attr2 /var/lib/containerd", "/dev/vg/c /var/lib/containerd xfs defaults 0 0")
        .log((9 * MINUTE, "XFS (dm-2): I/O Error Detected. Shutting down filesystem"))
        .log((9 * MINUTE, "XFS (dm-2): Please unmount the filesystem and rectify the problem(s)")),
        "its options never say it",
    ),
    near(
        _RO,
        "a maintenance that is over: made read-only and writable again",
        database()
        .mount("nvme2n1 ext4 rw,relatime /srv/archive", "LABEL=a /srv/archive ext4 defaults 0 2")
        .log(
            (6 * HOUR, "EXT4-fs (nvme2n1): re-mounted 6f1e2a55-1c1b-4f0e-9d6d-2f8c5a7e1b11 ro. Quota mode: none."),
            (5 * HOUR, "EXT4-fs (nvme2n1): re-mounted 6f1e2a55-1c1b-4f0e-9d6d-2f8c5a7e1b11 r/w. Quota mode: none."),
        ),
        "writable now, and no error",
    ),
    near(
        _RO,
        "an image-based system keeps its base sealed",
        Machine(system="Fedora CoreOS 41.20250117.3.0", kernel="6.12.9-200.fc41.x86_64")
        .mount("nvme0n1p4 xfs rw,seclabel,attr2 /")
        .mount("nvme0n1p3 ext4 ro,seclabel,nosuid /boot")
        .fstab(),
        "nobody wants it writable",
    ),
    near(
        _RO,
        "a snapshot volume that fstab mounts read-only",
        rocky8().mount(
            "dm-7 xfs ro,nouuid,norecovery /srv/snapshot", "/dev/vg/snap /srv/snapshot xfs ro,nouuid,norecovery 0 0"
        ),
    ),
    near(
        _RO,
        "a disk was mounted after a crash and replayed its journal",
        guest()
        .mount("vdb ext4 rw,relatime /srv/shop", "LABEL=s /srv/shop ext4 defaults 0 2")
        .log((75 * DAY - 4, "EXT4-fs (vdb): recovery complete"))
        .log((75 * DAY - 4.1, "EXT4-fs (vdb): mounted filesystem with ordered data mode. Quota mode: none.")),
        "that is what a journal is for",
    ),
]

_FULL = "disk-full"
FULL: list[Label] = [
    sick(
        _FULL,
        "a build host has no inode left for layers",
        guest().room("/var/lib/docker", 300, 31, inodes=19_600_000, free_inodes=0.4),
        "blocks are free, inodes are not",
    ),
    sick(_FULL, "docker's disk has four tenths of a percent left", rocky8().room("/var/lib/docker", 200, 0.4)),
    near(
        _FULL,
        "images at seventeen percent, above the kubelet's own limit",
        rancher().room("/var/lib/containerd", 300, 17),
        "nothing is evicted until 15 %",
    ),
    near(_FULL, "a spool of many TiB at nine percent", rocky8().room("/var", 20_000, 9, inodes=10**9), "1.8 TiB free"),
    near(_FULL, "a temporary file system that is two thirds full", azure().room("/tmp", 32, 33, device="tmpfs")),
    near(
        _FULL,
        "inodes at twelve percent on a mail host",
        guest().room("/var", 500, 60, inodes=32_000_000, free_inodes=12),
        "four million are left",
    ),
]

_STUCK = "io-stall"
STUCK: list[Label] = [
    sick(
        _STUCK,
        "an iSCSI target is gone and its disk holds sixteen writes",
        guest()
        .waiting(9, "mariadbd", "folio_wait_bit_common")
        .disk("sdb", 16, 16)
        .pressure(io_some=84, io_full=80)
        .log_every(15, 20, 6, " connection1:0: detected conn error (1020)"),
    ),
    sick(
        _STUCK,
        "a Ceph image answers no more",
        rancher()
        .waiting(8, "postgres", "wait_on_page_bit_common")
        .disk("rbd0", 12, 13)
        .pressure(io_some=91, io_full=77)
        .log_every(12, 30, 5, "libceph: osd12 (1)10.0.0.5:6801 socket closed (con state OPEN)"),
    ),
    near(
        _STUCK,
        "an array checks itself",
        metal()
        .waiting(1, "md127_resync", "md_do_sync")
        .disk("sdb", 2, 3, reads=9_400)
        .disk("sdc", 3, 2, reads=9_400)
        .pressure(io_some=9, io_full=2),
        "it reads, and nobody waits",
    ),
    near(
        _STUCK,
        "tasks hung three days ago, and the kernel has counted none since",
        azure()
        .hung_count(4, 4)
        .log_every(3 * DAY, 120, 4, "INFO: task java:88{n}2 blocked for more than 120 seconds."),
    ),
    near(
        _STUCK,
        "a volume is slow for a moment and works its queue off",
        arm().disk("nvme1n1", 22, 3, reads=1_900, writes=4_200).pressure(io_some=22, io_full=6),
        "six thousand requests were completed",
    ),
]

_EBS = "ebs-throttled"
EBS: list[Label] = [
    sick(
        _EBS,
        "an io2 volume stands at its IOPS for almost half of the window",
        arm().ebs("nvme1", {"volume_iops": 77_000_000}, {"volume_iops": 2_200_000}, 120),
    ),
    sick(
        _EBS,
        "two volumes share the instance's throughput, and it is all used",
        Machine(product="c5.xlarge", cores=4, memory_gib=8)
        .ebs("nvme0", {}, {"instance_throughput": 4_200_000}, 8)
        .ebs("nvme1", {"instance_throughput": 310_000_000}, {"instance_throughput": 4_200_000}, 70),
    ),
    sick(
        _EBS,
        "a volume at both of its limits, one after the other",
        gpu_node(product="p3.2xlarge").ebs(
            "nvme1", {"volume_iops": 1_000}, {"volume_iops": 1_500_000, "volume_throughput": 2_900_000}, 55
        ),
    ),
    near(
        _EBS,
        "a long queue, and no limit in the way",
        database().ebs("nvme1", {"volume_iops": 400_000}, {}, 64),
        "the volume takes what it is given",
    ),
    near(
        _EBS,
        "a boot that read as fast as it could",
        small(up=5 * MINUTE).ebs("nvme0", {"volume_throughput": 31_000_000, "instance_throughput": 4_000_000}, {}, 0),
        "over since",
    ),
    near(
        _EBS,
        "three volumes, each held for fifty milliseconds",
        Machine(cores=32)
        .ebs("nvme0", {"volume_iops": 9_000_000}, {"volume_iops": 50_000}, 2)
        .ebs("nvme1", {"volume_iops": 8_000_000}, {"volume_iops": 52_000}, 3)
        .ebs("nvme2", {"volume_iops": 7_000_000}, {"volume_iops": 48_000}, 1),
        "one percent of the window",
    ),
    near(
        _EBS,
        "a disk of the instance itself works hard",
        Machine(product="i3en.6xlarge", cores=24, memory_gib=192).disk("nvme1n1", 44, 51, reads=61_000, writes=20_000),
        "no EBS there",
    ),
    near(_EBS, "a disk of another cloud", google().disk("sda", 3, 2, reads=500, writes=900)),
]
