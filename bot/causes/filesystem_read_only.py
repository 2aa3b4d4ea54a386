"""A file system that should be writable refuses writes, because the kernel shut it down after an error.

Confirms: mount options that say so (`emergency_ro`, `shutdown`); read-only although fstab wants it writable, or
read-only with an error of the device in the log, or with /var on it. After an error ext4 keeps `rw` in its options
since Linux 6.12, and XFS always does: then the log's line decides, unless the device was mounted again after it.
Refutes: file systems that are read-only by design, such as an image, `/boot`, or a mount that is read-only in fstab.
Remedy: no cure planned: the error is on the disk, and needs fsck or another disk. After a reboot it would come back. A
node of a Kubernetes cluster may be cordoned if the mount itself shows the fault, not only the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from bot.causes import _recent, _shut_filesystems
from bot.causes._finding import make_finding
from bot.domain.action import Step
from bot.domain.cause import Cause, CauseResult, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, HalfRead, RuledOut, Status, Undecided
from bot.probes.filesystems import FilesystemsReading, Mount
from bot.probes.kernel_log import KernelLogReading

NAME = "filesystem-read-only"


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether a file system was shut down after an error."""
    reading, log = snapshot.get(FilesystemsReading), snapshot.get(KernelLogReading)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"the file systems were not read ({reading.reason})")
    shut = [] if isinstance(log, Unread) else _shut_filesystems.events(log)
    mounts_since = timedelta(0) if isinstance(log, Unread) else log.lost_until("mounted")
    evidence: list[Evidence] = []
    sure, doubtful, unsure = False, [], ""
    for mount in reading.mounts:
        events = [event for event in shut if mount.device in _shut_filesystems.devices(event)]
        if _shut_filesystems.takes_no_writes(mount, events):
            sure = True
            why = ", and fstab wants it writable" if mount.meant == "rw" and not mount.is_shut else ""
            says = f"{mount.point} ({mount.type} on {mount.device}) takes no writes{why}"
            evidence.append(Evidence("read-only", "filesystems", says, (mount.source,)))
        elif events and not mount.is_read_only:
            if (events[-1].since_boot or mounts_since) < mounts_since:
                unsure = f"the kernel shut down {mount.point}, and whether it was mounted anew was not read"
                continue
            when = _recent.ago(snapshot, events[-1])
            says = f"the kernel shut down {mount.point} ({mount.type} on {mount.device}), {when}"
            evidence.append(Evidence("shut-by-log", "kernel_log", says, _recent.lines(events, 3)))
            continue
        elif mount.is_read_only and _holds_var(mount, reading):
            says = f"{mount.point} ({mount.type} on {mount.device}) takes no writes, and /var is on it"
            evidence.append(Evidence("read-only-var", "filesystems", says, (mount.source,)))
        elif mount.is_read_only:
            doubtful.append(mount)
            continue
        if events:
            evidence.append(
                Evidence(
                    "shut",
                    "kernel_log",
                    f"the log says why, {_recent.ago(snapshot, events[-1])}",
                    _recent.lines(events, 3),
                )
            )
    if not evidence:
        return HalfRead(NAME, unsure) if unsure else _ruled_out_or_undecided(snapshot, reading, doubtful)
    return make_finding(
        NAME,
        Status.CRITICAL,
        Confidence.CONFIRMED if sure else Confidence.LIKELY,
        evidence,
        remedy=(Step("cordon"),) if sure else (),
    )


def _holds_var(mount: Mount, reading: FilesystemsReading) -> bool:
    """True for a root with /var on it that fstab does not ask for read-only: what is so by design has another /var.

    A root on the device mapper may be verified (dm-verity), and is then read-only whatever else was seen.
    """
    points = {room.point for room in reading.rooms}
    is_plain = mount.point == "/" and not mount.meant and not mount.device.startswith("dm-")
    return is_plain and "/" in points and "/var" not in points


def _ruled_out_or_undecided(snapshot: Snapshot, reading: FilesystemsReading, doubtful: Sequence[Mount]) -> CauseResult:
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason}), and some errors show only there")
    if reading.mounts_left_out:
        return HalfRead(NAME, f"{counted(reading.mounts_left_out, 'further mount')} had no look")
    none = "every file system on a block device takes writes, and the log shows none that was shut down"
    if doubtful:
        points = ", ".join(mount.point for mount in doubtful[:3])
        none = f"{points} takes no writes, fstab does not want it writable, and the log shows no error"
    elif not _shut_filesystems.known_by_log_alone(reading):
        return RuledOut(NAME, none)
    return _recent.none_told(snapshot, NAME, none, ("disk-error",), errors=True)


CAUSE = Cause(
    name=NAME,
    title="File system read-only",
    probes=("filesystems", "kernel_log", "host"),
    settled_by="a line of the kernel that says why (`dmesg`), or a write there that is refused",
    thresholds={},
    signature=("filesystems", "kernel_log", "host"),
    evaluate=evaluate,
    eased_by=("cordon",),
    remedy=("cordon",),
    lasting_fix="Run fsck on the device, or replace the disk; a reboot alone mounts the same error.",
)
