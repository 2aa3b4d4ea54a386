"""File systems on block devices: how much room the node's own have, and which refuse writes.

Defined in: df(1p) (-P, -i), proc_pid_mountinfo(5), fstab(5); ext4's and XFS's options in the kernel's
Documentation/filesystems. The kubelet's limits:
https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from bot.domain.command import Command, Outputs
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import END, fragment, whole_text
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class Mount:
    """A file system on a block device, by its shortest mount point.

    Shape: `device` is the kernel's name (`nvme0n1p1`, `dm-0`), as in its log; `options` are the file system's, not the
    mount's: a read-only bind mount of a writable file system is not read-only. `meant` is what fstab says: `rw`, `ro`,
    or empty if fstab does not name it.
    """

    point: str
    device: str
    type: str
    options: tuple[str, ...]
    meant: str = ""
    source: str = ""

    @property
    def is_shut(self) -> bool:
        """True when its options show that an error made the file system refuse writes."""
        return "emergency_ro" in self.options or "shutdown" in self.options

    @property
    def is_read_only(self) -> bool:
        """True when it refuses writes, for any reason."""
        return self.is_shut or "ro" in self.options


@dataclass(frozen=True, slots=True)
class Room:
    """The free room on a file system. Units: percent of the whole; None if it does not count inodes."""

    point: str
    free_percent: float
    free_inodes_percent: float | None = None
    has_images: bool = False  # it holds container images
    is_image: bool = False  # it is composefs: read-only, and always full
    is_data: bool = False  # not a place that the node itself needs: a database's disk, for example
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FilesystemsReading:
    """The mounts, the room on those that the node needs, and the kubelet's own limits if it has any.

    Units: `limits` in percent, by the kubelet's names (`nodefs.available`).
    """

    probe: ClassVar[str] = "filesystems"

    mounts: tuple[Mount, ...] = ()
    rooms: tuple[Room, ...] = ()
    has_kubelet: bool = False
    limits: tuple[tuple[str, float], ...] = ()
    mounts_left_out: int = 0  # beyond those that were looked at
    rooms_left_out: int = 0  # beyond those of data whose room was read
    etc_type: str = ""  # of the file system that holds /etc, or of an overlay's upper layer, by stat(1)

    @property
    def forgets_etc(self) -> bool:
        """True when what is changed in /etc is gone after a boot: it is in memory, made anew from an image."""
        return self.etc_type in _IN_MEMORY

    @property
    def least_free_percent(self) -> float:
        """The room on the fullest file system that the node itself needs; 100 if there is none."""
        return min((room.free_percent for room in self.rooms if not room.is_data), default=100.0)

    @property
    def least_free_inodes_percent(self) -> float:
        """The same of inodes; 100 if no file system counts them."""
        counted = (room.free_inodes_percent for room in self.rooms if not room.is_data)
        return min((percent for percent in counted if percent is not None), default=100.0)

    @property
    def read_only_count(self) -> int:
        """How many refuse writes."""
        return sum(mount.is_read_only for mount in self.mounts)


_IMAGES = ("/var/lib/containerd", "/var/lib/docker", "/var/lib/containers")
_PLACES = ("/", "/var", "/var/lib/kubelet", *_IMAGES, "/var/log", "/tmp", "/run")
_TYPES = "ext2|ext3|ext4|xfs|btrfs|f2fs|jfs|reiserfs"
_IN_MEMORY = ("tmpfs", "ramfs", "rootfs")
_KUBELET_CONFIG = "/var/lib/kubelet/config.yaml"
# One line for each device, with its shortest mount point; with a thousand pods a device is mounted a thousand times.
# Btrfs has a number that belongs to no device, and its source may be a device-mapper link: the log says `dm-0`.
# After a dash: where else something is mounted, disks of databases and the like. Volumes of pods are their workloads'
# own; names with blanks come with octal escapes, and are left out.
_MOST_DATA, _MOST_MOUNTS = 200, 400  # a node of storage has a hundred disks
_MOUNTS = (
    '{ t = o = ""; for (i = 7; i < NF; i++) if ($i == "-") { t = $(i + 1); s = $(i + 2); o = $(i + 3) } '
    f'if (t !~ /^({_TYPES})$/ || o == "") next; k = $3 t; if (!(k in p) || length($5) < length(p[k])) '
    '{ p[k] = $5; r[k] = $3 " " t " " s " " o " " $5 } '
    "if (!($3 in q) || length($5) < length(q[$3])) q[$3] = $5 } "
    f"END {{ for (k in r) if (n++ < {_MOST_MOUNTS}) print r[k]; "
    'for (k in q) if (q[k] !~ /^.(boot|efi|snap|run|var.lib.kubelet)(.|$)/ && !index(q[k], "\\\\") && '
    f'!index(" {" ".join(_PLACES)} ", " " q[k] " ") && '
    f'm++ < {_MOST_DATA}) d = d " " q[k]; '
    f'print "-", (n > {_MOST_MOUNTS} ? n - {_MOST_MOUNTS} : 0), (m > {_MOST_DATA} ? m - {_MOST_DATA} : 0) d }}'
)
# The upper layer of the overlay that holds /etc: what is changed there is kept as long as that is.
_UPPER = (
    '($5 == "/" || $5 == "/etc") && length($5) >= n { n = length($5); u = ""; '
    'if ($0 ~ / - overlay /) { u = $NF; if (!sub(/.*,upperdir=/, "", u)) u = ""; sub(/,.*/, "", u) } } END { print u }'
)
_LOOK = fragment(f"""
    echo '==> /mounts <==';
    set -f; set -- $(awk '{_MOUNTS}' /proc/self/mountinfo);
    while [ $# -gt 4 ] && [ "$1" != - ]; do
        if cd -P "/sys/dev/block/$1" 2>/dev/null; then n=$PWD; else n=$(readlink -f "$3") || n=$3; fi;
        echo "${{n##*/}} $2 $4 $5"; shift 5; done;
    if [ "$1" = - ]; then echo '==> /left-out <=='; echo "$2 $3"; shift 3; fi; m=$*;
    echo '==> /fstab <=='; [ -r /etc/fstab ] && while read -r l || [ -n "$l" ]; do
        case $l in '#'*) ;; *) printf '%s\\n' "$l";; esac; done </etc/fstab;
    echo '==> /blocks <=='; df -Pk {" ".join(_PLACES)} 2>/dev/null;
    echo '==> /inodes <=='; df -Pi {" ".join(_PLACES)} 2>/dev/null;
    echo '==> /data-blocks <=='; [ -n "$m" ] && df -Pk $m 2>/dev/null;
    echo '==> /data-inodes <=='; [ -n "$m" ] && df -Pi $m 2>/dev/null;
    echo '==> /kubelet <=='; [ -d /var/lib/kubelet ] && echo here;
    [ -r {_KUBELET_CONFIG} ] && grep -aE '^ +(nodefs|imagefs)[.](available|inodesFree): ' {_KUBELET_CONFIG};
    echo '==> /etc <=='; {{ t=$(stat -fc %T /etc); }} 2>/dev/null; echo "$t";
    if [ "$t" = overlayfs ]; then u=$(awk '{_UPPER}' /proc/self/mountinfo); [ -d "$u" ] && stat -fc %T "$u"; fi;
    echo '{END}'
""")

_MOUNT = re.compile(r"(\S{1,80}) (\w{2,12}) (\S{1,400}) (/.*)")
_ROOM = re.compile(r".*?\s([0-9]{1,20})\s+[0-9]{1,20}\s+(-?[0-9]{1,20})\s+(?:[0-9]{1,3}%|-)\s+(/.*)")
_LEFT_OUT = re.compile(r"[0-9]{1,7} [0-9]{1,7}")
_LIMIT = re.compile(r" +((?:nodefs|imagefs)\.(?:available|inodesFree)): +[\"']?([0-9]{1,3}(?:\.[0-9]{1,3})?)%[\"']?")


def parse(outputs: Outputs) -> FilesystemsReading:
    """Read mounts, room and limits.

    Unread when: the answer is cut short, for example because a dead mount blocks `df`, or it has no mounts and no room.
    """
    text = whole_text(outputs, "look", "filesystems")
    files = sections(text)
    meant = dict(_mounts_of_fstab(files.get("/fstab", ())))
    mounts = tuple(_mounts(files.get("/mounts", ()), meant))
    rooms = tuple(_rooms(files.get("/blocks", ()), files.get("/inodes", ())))
    own = {room.point for room in rooms}
    others = _rooms(files.get("/data-blocks", ()), files.get("/data-inodes", ()))
    rooms += tuple(replace(room, is_data=True) for room in others if room.point not in own)
    if not mounts and not rooms:
        raise CannotRead("filesystems: no file system is named")
    kubelet = files.get("/kubelet", ())
    limits = ((found.group(1), float(found.group(2))) for line in kubelet if (found := _LIMIT.fullmatch(line.rstrip())))
    left_out = [line.split() for line in files.get("/left-out", ()) if _LEFT_OUT.fullmatch(line)] or [["0", "0"]]
    etc = [line for line in files.get("/etc", ()) if line not in ("", END)]
    return FilesystemsReading(
        mounts,
        rooms,
        "here" in kubelet,
        tuple(limits),
        int(left_out[0][0]),
        int(left_out[0][1]),
        one_line(etc[-1], 40) if etc else "",
    )


def _mounts_of_fstab(fstab: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in fstab:
        words = line.split()
        if len(words) > 3 and words[1].startswith("/"):
            options = words[3].split(",")
            if "noauto" not in options:  # that is mounted by hand, as a person wants it
                yield words[1], "ro" if "ro" in options else "rw"


def _mounts(lines: Iterable[str], meant: dict[str, str]) -> Iterable[Mount]:
    for line in lines:
        if found := _MOUNT.fullmatch(line):
            device, kind, options, point = found.groups()
            said = (one_line(point, 200), one_line(device, 80), kind, tuple(options.split(",")))
            yield Mount(*said, meant=meant.get(point, ""), source=one_line(line, 300))


def _rooms(blocks: Iterable[str], inodes: Iterable[str]) -> Iterable[Room]:
    """Yield each file system's room once, even if it holds several of the places."""
    nodes = {found.group(3): (found, line) for line in inodes if (found := _ROOM.fullmatch(line))}
    seen: set[str] = set()
    for line in blocks:
        found = _ROOM.fullmatch(line)
        if found is None or found.group(3) in seen or not int(found.group(1)):
            continue
        point = found.group(3)
        seen.add(point)
        inode, inode_line = nodes.get(point, (None, ""))
        counted = inode is not None and int(inode.group(1)) > 0
        yield Room(
            point=one_line(point, 200),
            free_percent=_free_percent(found),
            free_inodes_percent=_free_percent(inode) if counted and inode is not None else None,
            is_image=line.startswith("composefs "),
            has_images=any(place == point or place.startswith(point.rstrip("/") + "/") for place in _IMAGES),
            lines=tuple(one_line(text, 200) for text in (line, inode_line) if text),
        )


def _free_percent(row: re.Match[str]) -> float:
    """The free share in percent; room reserved for root counts as used."""
    return min(100.0, max(0.0, 100 * int(row.group(2)) / int(row.group(1))))


PROBE = Probe(
    name="filesystems",
    title="file systems: room, and whether they take writes",
    commands=(Command("look", ("sh", "-c", _LOOK), lane="devices", output_limit_bytes=256 * 1024),),
    parse=parse,
    reading=FilesystemsReading,
)
