"""Cases of file systems and disks."""

from __future__ import annotations

from tests.independent.facts import DAY, HOUR, MINUTE
from tests.independent.kinds import database, edge, google, gpu_node, metal, small
from tests.independent.label import Label, corrected, near, sick
from tests.independent.machine import Machine

_RO = "filesystem-read-only"
_EXT4_SHUT = (
    "EXT4-fs error (device nvme2n1): ext4_journal_check_start:84: comm kubelet: Detected aborted journal",
    "EXT4-fs (nvme2n1): Remounting filesystem read-only",
)
READ_ONLY: list[Label] = [
    sick(
        _RO,
        "the root went read-only yesterday",
        small(up=9 * DAY)
        .mount("nvme0n1p1 ext4 ro,relatime,errors=remount-ro /", "LABEL=root / ext4 defaults,errors=remount-ro 0 1")
        .log(
            (
                25 * HOUR,
                "EXT4-fs error (device nvme0n1p1): ext4_lookup:1785: inode #131: comm find: deleted inode referenced",
            )
        )
        .log((25 * HOUR, "EXT4-fs (nvme0n1p1): Remounting filesystem read-only")),
        "state does not age",
    ),
    sick(
        _RO,
        "the root is read-only and the log has been rotated",
        Machine().mount("nvme0n1p1 xfs ro,attr2,inode64 /", "UUID=6a1e / xfs defaults,noatime 1 1"),
        "fstab wants it writable",
    ),
    sick(
        _RO,
        "XFS shut the data disk down; its options still say rw",
        database()
        .mount("nvme1n1 xfs rw,attr2,inode64 /var/lib/pgsql", "UUID=77aa /var/lib/pgsql xfs defaults 0 0")
        .log(
            (
                40 * MINUTE,
                (
                    "XFS (nvme1n1): Metadata I/O Error (0x4) detected at xfs_trans_read_buf_map+0x1f3/0x320 [xfs] "
                    "(fs/xfs/xfs_trans_buf.c:296).  Shutting down filesystem."
                ),
            )
        )
        .log((40 * MINUTE, "XFS (nvme1n1): Please unmount the filesystem and rectify the problem(s)")),
        "an XFS shutdown never sets ro",
    ),
    sick(
        _RO,
        "ext4 of a new kernel keeps rw and refuses writes",
        Machine(kernel="6.12.8-30.amzn2023.x86_64").mount(
            "nvme2n1 ext4 rw,emergency_ro,relatime /var/lib/kubelet", "LABEL=k /var/lib/kubelet ext4 defaults 0 2"
        ),
        "emergency_ro",
    ),
    sick(
        _RO,
        "an aborted journal on a mounted data disk, options unchanged",
        Machine(kernel="6.12.8-30.amzn2023.x86_64")
        .mount("nvme2n1 ext4 rw,relatime /data", "LABEL=d /data ext4 defaults 0 2")
        .log(*((3 * HOUR, line) for line in _EXT4_SHUT)),
        "the log's words decide where the options do not",
    ),
    near(
        _RO,
        "a boot partition that is meant so",
        Machine().mount("nvme0n1p15 ext4 ro,relatime /boot", "LABEL=boot /boot ext4 ro,noatime 0 2"),
    ),
    corrected(
        near(
            _RO,
            "an immutable system",
            Machine(system="Bottlerocket OS 1.26.1 (aws-k8s-1.30)", kernel="6.1.109")
            .mount("dm-0 ext4 ro,seclabel,relatime /")
            .mount("nvme1n1p1 xfs rw,seclabel,attr2,inode64 /local")
            .fstab(),
            "a root on dm-verity is built so, and fstab does not name it",
        ),
        "the recording kept the fstab of another system, which wants the root writable",
    ),
    near(
        _RO,
        "a disk image mounted to look into",
        metal().mount("loop3 ext4 ro,relatime /mnt/image"),
        "nobody asked for writes",
    ),
    near(
        _RO,
        "a stick with errors that is not mounted any more",
        metal()
        .log(
            (
                5 * DAY,
                "EXT4-fs error (device sdb1): ext4_find_entry:1455: inode #2: comm ls: reading directory lblock 0",
            )
        )
        .log((5 * DAY, "EXT4-fs (sdb1): Remounting filesystem read-only")),
        "what is not mounted refuses nobody",
    ),
    near(
        _RO,
        "reference data by intention",
        database().mount("nvme3n1 xfs ro,norecovery /srv/reference", "UUID=9 /srv/reference xfs ro,norecovery 0 0"),
    ),
    near(
        _RO,
        "a sealed /usr on Flatcar",
        Machine(system="Flatcar Container Linux by Kinvolk 3975.2.2")
        .mount("dm-0 ext4 ro,seclabel /usr")
        .mount("nvme0n1p9 ext4 rw,seclabel /"),
    ),
]

_FULL = "disk-full"
FULL: list[Label] = [
    sick(_FULL, "the root has half a percent left", database().room("/", 100, 0.4)),
    sick(
        _FULL,
        "images have six percent left on a node with the kubelet's own limits",
        Machine().room("/var/lib/containerd", 500, 6),
        "below 15 %",
    ),
    sick(
        _FULL,
        "no inode is left for small files",
        Machine().room("/", 80, 45, inodes=5_000_000, free_inodes=0.8),
        "blocks are free, inodes are not",
    ),
    sick(
        _FULL,
        "the kubelet's volume is down to eight percent",
        google().room("/var/lib/kubelet", 200, 8),
        "below nodefs.available of 10 %",
    ),
    sick(_FULL, "a log volume is full to the last block", metal().room("/var/log", 50, 0)),
    near(
        _FULL,
        "a K3s node at seven percent",
        edge().room("/", 119, 7, inodes=7_800_000),
        "K3s evicts at 5 %, and eight GiB are free",
    ),
    near(
        _FULL,
        "the kubelet's configuration asks for five percent, six are free",
        Machine().room("/", 2000, 6, inodes=10**9).kubelet_limits("  nodefs.available: 5%", "  imagefs.available: 5%"),
        "120 GiB, by the node's own limit enough",
    ),
    near(_FULL, "a large archive at twelve percent", database().room("/", 20_000, 12, inodes=2 * 10**9), "2.4 TiB"),
    near(_FULL, "a file system that counts no inodes", metal().room("/", 800, 55, inodes=0, free_inodes=0)),
    near(_FULL, "images at forty percent", gpu_node().room("/var/lib/containerd", 3500, 40)),
    near(_FULL, "a small boot disk, half full", small().room("/", 8, 47, inodes=1_000_000, free_inodes=70)),
]

_STUCK = "io-stall"
STUCK: list[Label] = [
    sick(
        _STUCK,
        "a volume holds thirty requests and completes none",
        database()
        .waiting(24, "postgres", "xfs_log_force_seq")
        .disk("nvme1n1", 31, 32)
        .pressure(io_some=88, io_full=71)
        .log_every(20, 120, 3, "INFO: task postgres:71{n}2 blocked for more than 122 seconds."),
    ),
    sick(
        _STUCK,
        "an NFS server went silent; PSI sees nothing",
        Machine(kernel="5.15.0-1052-aws", cores=32)
        .waiting(12, "python3", "rpc_wait_bit_killable")
        .log((400, "nfs: server fs-0a1b2c3d.efs.us-east-1.amazonaws.com not responding, still trying")),
        "its waiters sleep by plain schedule()",
    ),
    sick(
        _STUCK,
        "forty tasks wait beside 96 busy cores",
        gpu_node()
        .all_cores(usr=92, sys=7)
        .waiting(40, "dataloader", "io_schedule")
        .disk("nvme3n1", 40, 40)
        .pressure(io_some=42, io_full=0.5),
        "full needs idle cores",
    ),
    sick(
        _STUCK,
        "an NVMe device times out and its journal waits",
        Machine()
        .waiting(3, "jbd2/nvme1n1-8", "wait_on_buffer")
        .waiting(6, "mysqld", "jbd2_log_wait_commit", 30000)
        .disk("nvme1n1", 8, 8)
        .pressure(io_some=95, io_full=90)
        .log_every(10, 30, 4, "nvme nvme1: I/O {n}12 QID 3 timeout, aborting"),
    ),
    sick(
        _STUCK,
        "all paths of a SAN volume are gone",
        metal()
        .waiting(17, "oracle_1423", "blk_mq_freeze_queue_wait")
        .disk("dm-0", 64, 64)
        .pressure(io_some=60, io_full=58)
        .log((300, "device-mapper: multipath: 253:0: Failing path 8:16.")),
    ),
    near(
        _STUCK,
        "an NFS server that answers again",
        Machine().log((300, "nfs: server 10.1.2.3 not responding, still trying"), (120, "nfs: server 10.1.2.3 OK")),
        "the OK line ends the episode",
    ),
    near(
        _STUCK,
        "a checkpoint is written",
        gpu_node()
        .waiting(16, "pt_main_thread", "balance_dirty_pages")
        .disk("nvme1n1", 180, 190, writes=41_000)
        .pressure(io_some=55, io_full=12),
        "forty thousand writes were completed",
    ),
    near(
        _STUCK,
        "the GPU driver's own threads",
        gpu_node().waiting(8, "nv_queue", "os_acquire_semaphore"),
        "no storage anywhere in it",
    ),
    near(
        _STUCK,
        "a late interrupt, and the request was done",
        Machine().log((200, "nvme nvme0: I/O 312 QID 5 timeout, completion polled")),
    ),
    near(
        _STUCK,
        "an error of an image file",
        metal().log((90, "I/O error, dev loop3, sector 0 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2")),
    ),
    near(
        _STUCK,
        "one writer alone on an idle machine",
        metal()
        .waiting(1, "dd", "folio_wait_bit_common")
        .disk("sda", 64, 60, writes=9_000)
        .pressure(io_some=97, io_full=96),
        "copying is what it does",
    ),
    near(
        _STUCK,
        "one hung task five days ago",
        database().log((5 * DAY, "INFO: task rsync:8812 blocked for more than 120 seconds.")),
    ),
    near(
        _STUCK,
        "a frozen cgroup of v1",
        Machine(kernel="5.4.0-1084-aws", v1=True).waiting(30, "java", "__refrigerator"),
        "frozen by hand",
    ),
]
