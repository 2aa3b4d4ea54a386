"""A file system that the node needs has no room left: no blocks, or no inodes.

Confirms: less room than the limit at which the kubelet evicts pods, from its own configuration if it has a limit;
hardly any room in /run, or on another disk, such as a database's: many are filled on purpose up to there.
Refutes: room on all file systems that can be written; an image is always full. Room reserved for root counts as used,
as the kubelet and df count it.
Remedy: none planned: whatever fills the disk is still there after a reboot.
"""

from __future__ import annotations

from bot.causes._figures import percent
from bot.causes._finding import make_finding
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import services
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, HalfRead, RuledOut, Status, Undecided
from bot.probes.essential_units import EssentialUnitsReading
from bot.probes.filesystems import FilesystemsReading, Room

NAME = "disk-full"
_STATE = "/run"  # in memory: sockets, the state of units and of containers
_K3S = services("eviction-at-5-percent")


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether a file system is full, or nearly full."""
    reading = snapshot.get(FilesystemsReading)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"the file systems were not read ({reading.reason})")
    if not reading.rooms:
        return Undecided(NAME, "`df` listed no file system")
    units = snapshot.get(EssentialUnitsReading)
    is_k3s = not isinstance(units, Unread) and any(unit.name in _K3S for unit in units.units)
    evidence = []
    gone = False
    rooms = [room for room in reading.rooms if _can_be_filled(room, reading)]
    for room in rooms:
        for what, free, least in _limits(room, reading, is_k3s, tuning):
            if free < least:
                gone = gone or (free <= tuning["gone_percent"] and not room.is_data)
                says = f"{room.point} has {percent(free)} of its {what} left; {percent(least)} is the least"
                evidence.append(Evidence(f"{what}-low", "filesystems", says, room.lines))
    if evidence:
        return make_finding(NAME, Status.CRITICAL if gone else Status.DEGRADED, Confidence.CONFIRMED, evidence)
    if not rooms:
        return RuledOut(NAME, "every file system that was looked at is an image, which nobody can fill", applies=False)
    if reading.rooms_left_out:
        return HalfRead(NAME, f"the room on {counted(reading.rooms_left_out, 'further file system')} was not read")
    fullest = min(rooms, key=lambda room: room.free_percent)
    return RuledOut(NAME, f"the fullest file system, {fullest.point}, has {percent(fullest.free_percent)} free")


def _can_be_filled(room: Room, reading: FilesystemsReading) -> bool:
    """False for what is read-only by design and always full: composefs, or a root whose own image has no room."""
    if room.is_image:
        return False
    mount = next((mount for mount in reading.mounts if mount.point == room.point), None)
    return mount is None or not mount.is_read_only or mount.is_shut or mount.meant == "rw"


def _limits(room: Room, reading: FilesystemsReading, is_k3s: bool, tuning: Tuning) -> list[tuple[str, float, float]]:
    """What is counted, how much of it is left, and the least that should be left: the kubelet's limit if it has one."""
    # What is on a disk of data stops, and the node does not. No kubelet has a limit for /run.
    if room.is_data or room.point == _STATE:
        least = tuning["gone_percent"]
        return [("blocks", room.free_percent, least)] + (
            [] if room.free_inodes_percent is None else [("inodes", room.free_inodes_percent, least)]
        )
    filesystem = "imagefs" if room.has_images and room.point != "/" else "nodefs"
    own = dict(reading.limits)
    if not reading.has_kubelet:
        blocks, inodes = tuning["free_percent"], tuning["free_percent"]
    else:
        blocks = own.get(f"{filesystem}.available", tuning["k3s_percent" if is_k3s else f"{filesystem}_percent"])
        inodes = own.get(f"{filesystem}.inodesFree", tuning["inodes_percent"])
    counted = [("blocks", room.free_percent, blocks)]
    if room.free_inodes_percent is not None:
        counted.append(("inodes", room.free_inodes_percent, inodes))
    return counted


CAUSE = Cause(
    name=NAME,
    title="Disk full",
    probes=("filesystems", "essential_units"),
    thresholds={
        "free_percent": Threshold(
            5,
            "Used if no kubelet runs. ext4 reserves 5 % for root, which counts as used here; a twentieth besides that "
            "is ours.",
        ),
        "nodefs_percent": Threshold(10, "The kubelet's default for nodefs.available; below it pods are evicted."),
        "imagefs_percent": Threshold(15, "The kubelet's default for imagefs.available."),
        "k3s_percent": Threshold(
            5, "What K3s and RKE2 tell their kubelet for nodefs.available and imagefs.available (pkg/daemons/agent)."
        ),
        "inodes_percent": Threshold(
            5, "The kubelet's default for nodefs.inodesFree, and since 1.30 for imagefs.inodesFree."
        ),
        "gone_percent": Threshold(
            1,
            "Ours. Logs and databases stop before the last block is taken. On a disk that the node itself does not "
            "need this is the only limit: data stores are filled to a few percent on purpose.",
        ),
    },
    signature=("filesystems", "essential_units"),
    evaluate=evaluate,
    lasting_fix=(
        "Free room or enlarge the disk; find what fills it with `du -x`, `lsof +L1` (deleted, and still open) and "
        "`ctr images ls` or `docker system df`."
    ),
)
