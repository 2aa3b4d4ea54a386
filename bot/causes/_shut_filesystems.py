"""File systems that the kernel shut after an error, by their mounts and by the log.

Source: ext4 (fs/ext4/super.c), XFS (fs/xfs/xfs_fsops.c) and btrfs tell of it in the words below.
"""

from __future__ import annotations

import re

from bot.domain.probe import Snapshot, Unread
from bot.probes.filesystems import FilesystemsReading, Mount
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.kernel_log import KernelLogReading

RING = "shut"  # of the rows that tell of it
_SHUT = re.compile(
    r"Remounting filesystem read-only|Detected aborted journal|[Aa]borting journal on device|"
    r"[Ss]hutting down filesystem|forced readonly|Filesystem has been shut down"
)


def events(log: KernelLogReading) -> list[KernelEvent]:
    """The lines about a shut file system since its device was mounted last: a device's name is given away again."""
    shut: list[KernelEvent] = []
    for event in log.of("disk-error", "mounted"):
        if event.kind == "mounted":
            shut = [earlier for earlier in shut if event.device not in devices(earlier)]
        elif _SHUT.search(event.text):
            shut.append(event)
    return shut


def devices(event: KernelEvent) -> set[str]:
    """The devices that the line may mean: JBD2 appends the journal's inode (`sda1-8`), LVM's name is `dm-2`."""
    name = event.device.rstrip(".:")
    return {name, re.sub(r"-[0-9]{1,6}\Z", "", name)} - {""}


def known_by_log_alone(reading: FilesystemsReading) -> bool:
    """True where a mount's options may keep `rw` after an error: XFS, and ext4 since Linux 6.12 and its backports."""
    return any(mount.type in ("xfs", "ext4") and not mount.is_read_only for mount in reading.mounts)


def takes_no_writes(mount: Mount, told: list[KernelEvent]) -> bool:
    """True for a mount that shows itself that it refuses writes and should not; `told` are its own lines of the log."""
    return mount.is_shut or (mount.is_read_only and (bool(told) or mount.meant == "rw"))


def shut_mounts(snapshot: Snapshot) -> tuple[Mount, ...]:
    """The mounts that refuse writes after an error; empty where the file systems were not read."""
    reading, log = snapshot.get(FilesystemsReading), snapshot.get(KernelLogReading)
    if isinstance(reading, Unread):
        return ()
    told = [] if isinstance(log, Unread) else events(log)
    return tuple(
        mount
        for mount in reading.mounts
        if takes_no_writes(mount, [event for event in told if mount.device in devices(event)])
    )
