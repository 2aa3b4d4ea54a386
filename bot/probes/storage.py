"""What each disk did between two looks, and which disks the arrays of md lack.

Defined in: Linux, Documentation/admin-guide/iostats.rst (/proc/diskstats), Documentation/admin-guide/sysctl/kernel.rst
(hung_task_detect_count, since 6.13), Documentation/admin-guide/md.rst; drivers/md/md.c (array_state `broken`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import END, fragment, is_whole
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class Disk:
    """A whole disk. Units: requests; `read_ms` is the mean time of a read within the window, None without a read."""

    name: str
    waiting: int  # requests in the disk at the first look
    waiting_later: int
    completed: int  # within the window: reads, writes, discards and flushes
    read_ms: float | None = None
    lines: tuple[str, ...] = ()

    @property
    def is_stuck(self) -> bool:
        """True if requests wait in it at both looks, and it completed none between them."""
        return bool(self.waiting and self.waiting_later and not self.completed)

    @property
    def is_crawling(self) -> bool:
        """True if it completed some, but fewer than it held at either look: each takes longer than the window."""
        return 0 < self.completed < min(self.waiting, self.waiting_later)


@dataclass(frozen=True, slots=True)
class Array:
    """An array of md. Shape: `degraded` is how many of its `members` hold no data yet, or no more; None: unknown."""

    name: str
    level: str = ""
    state: str = ""  # array_state
    members: int = 0
    degraded: int | None = None
    faulty: tuple[str, ...] = ()
    is_rebuilding: bool = False
    done_percent: float | None = None  # of what runs on it: a rebuild, a check
    lines: tuple[str, ...] = ()

    @property
    def left(self) -> int | None:
        """How many members hold its data."""
        return None if self.degraded is None else self.members - self.degraded

    @property
    def is_failed(self) -> bool:
        """True if it lacks more than its level can: the kernel refuses what is written to it."""
        most = {"raid1": self.members - 1, "raid4": 1, "raid5": 1, "raid6": 2}.get(self.level, self.members)
        return self.state == "broken" or (self.degraded or 0) > most


@dataclass(frozen=True, slots=True)
class StorageReading:
    """The disks. Units: `hung_tasks_rise` is how many tasks the kernel found hung within the window; None: no count."""

    probe: ClassVar[str] = "storage"

    disks: tuple[Disk, ...] = ()
    hung_tasks_rise: int | None = None
    arrays: tuple[Array, ...] = ()  # every one among the disks; of one that was not read nothing but its name

    @property
    def faulty(self) -> tuple[str, ...]:
        """The members of arrays that the kernel gave up."""
        return tuple(name for array in self.arrays for name in array.faulty)

    @property
    def stuck(self) -> tuple[Disk, ...]:
        """The disks that held requests and completed none."""
        return tuple(disk for disk in self.disks if disk.is_stuck)

    @property
    def crawling(self) -> tuple[Disk, ...]:
        """The disks that hold more requests than they completed."""
        return tuple(disk for disk in self.disks if disk.is_crawling)

    @property
    def stuck_count(self) -> int:
        """How many disks held requests and completed none."""
        return len(self.stuck)

    @property
    def completed_count(self) -> int:
        """How many requests all disks completed within the window."""
        return sum(disk.completed for disk in self.disks)

    @property
    def slowest_read_ms(self) -> float:
        """The longest mean time of a read; 0 if nothing was read."""
        return max((disk.read_ms for disk in self.disks if disk.read_ms is not None), default=0.0)


_DISKS, _HUNG = "/proc/diskstats", "/proc/sys/kernel/hung_task_detect_count"
_ROW = re.compile(r"\s*[0-9]{1,6}\s+[0-9]{1,7}\s+(\S{1,64})((?:\s+[0-9]{1,20}){11,30})\s*", re.ASCII)
_NO_DISK = re.compile(r"(?:loop|ram|zram|sr|fd|nbd)[0-9]+")
_PART = re.compile(r"(.*[0-9])p[0-9]+|(.*[a-z])[0-9]+")
# Fields of a row after the name.
_READS, _READ_MS, _WRITES, _WAITING, _DISCARDS, _FLUSHES = 0, 3, 4, 8, 11, 15
_ARRAY = re.compile(r"md(?:[0-9]|_).*")
_CONTAINER = re.compile(r"external:[^/-].*")  # it holds arrays, and is none (IMSM, DDF)
_FILES = "array_state level raid_disks degraded sync_action sync_completed metadata_version"
# Nothing but the shell's own words; a lane of its own, since before 4.0 these files wait for the array's lock.
_LOOK = fragment(f"""
    {{ n=0; for d in /sys/block/md*/md; do [ -d "$d" ] || continue; n=$((n + 1)); [ $n -gt 64 ] && break;
        a=${{d#/sys/block/}}; echo "==> /${{a%/md}} <==";
        for f in {_FILES}; do v=; [ -e "$d/$f" ] && read -r v <"$d/$f" && echo "$f $v"; done;
        for f in "$d"/dev-*/state; do v=; read -r v <"$f";
            case $v in *faulty*) f=${{f%/state}}; echo "faulty ${{f##*/dev-}}";; esac; done; done; }} 2>/dev/null;
    echo '{END}'
""")


def parse(outputs: Outputs) -> StorageReading:
    """Read both looks.

    Unread when: the file is missing or has a malformed row. A node without disks has an empty reading.
    """
    first, later = (sections(outputs.text("disks", look)) for look in (0, 1))
    if _DISKS not in first or _DISKS not in later:
        raise CannotRead(f"storage: {_DISKS} could not be read")
    before, after = dict(_disk_rows(first[_DISKS])), dict(_disk_rows(later[_DISKS]))
    names = [name for name in after if name in before and not _is_partition(name, after)]
    disks = tuple(_disk(name, *before[name], *after[name]) for name in names)
    hung = [_number_or_none(files.get(_HUNG, ())) for files in (first, later)]
    rise = None if hung[0] is None or hung[1] is None else max(0, hung[1] - hung[0])
    return StorageReading(disks, rise, tuple(_arrays(outputs.text_or_none("arrays") or "", names)))


def _disk_rows(lines: tuple[str, ...]) -> Iterator[tuple[str, tuple[list[int], str]]]:
    for line in lines:
        found = _ROW.fullmatch(line)
        if found is None:
            raise CannotRead(f"storage: a row of {_DISKS} is malformed ({one_line(line, 60)})")
        if not _NO_DISK.fullmatch(found.group(1)):
            name = one_line(found.group(1), 64)
            yield name, ([int(field) for field in found.group(2).split()], one_line(" ".join(line.split()), 300))


def _is_partition(name: str, disks: dict[str, tuple[list[int], str]]) -> bool:
    found = _PART.fullmatch(name)
    return found is not None and (found.group(1) or found.group(2)) in disks


def _disk(name: str, before: list[int], row: str, after: list[int], row_later: str) -> Disk:
    def rise(field: int) -> int:
        return max(0, after[field] - before[field]) if field < min(len(before), len(after)) else 0

    reads = rise(_READS)
    return Disk(
        name=name,
        waiting=before[_WAITING],
        waiting_later=after[_WAITING],
        completed=sum(rise(field) for field in (_READS, _WRITES, _DISCARDS, _FLUSHES)),
        read_ms=rise(_READ_MS) / reads if reads else None,
        lines=(row, row_later),
    )


def _arrays(text: str, disks: Iterable[str]) -> Iterator[Array]:
    blocks = sections(text) if is_whole(text) else {}
    for name in filter(_ARRAY.fullmatch, disks):
        lines = tuple(one_line(line, 80) for line in blocks.get(f"/{name}", ()) if line != END)
        told = dict(line.partition(" ")[::2] for line in lines)
        if told.get("array_state") != "clear" and not _CONTAINER.fullmatch(told.get("metadata_version", "")):
            yield _array(name, told, lines)


def _array(name: str, told: dict[str, str], lines: tuple[str, ...]) -> Array:
    level, state = told.get("level", ""), told.get("array_state", "")
    members = re.match(r"[0-9]{1,5}", told.get("raid_disks", ""))  # `4 (3)` while it is given a fourth
    done = re.fullmatch(r"([0-9]{1,20}) / ([1-9][0-9]{0,19})", told.get("sync_completed", ""))
    most, degraded = int(members[0]) if members else 0, _number_or_none((told.get("degraded", ""),))
    if level in ("raid0", "linear") and state not in ("", "inactive", "broken"):
        degraded = 0  # they have no such file, and run with all or not at all
    return Array(
        name,
        level,
        state,
        most,
        None if degraded is None or degraded > most else degraded,
        tuple(line.removeprefix("faulty ") for line in lines if line.startswith("faulty ")),
        told.get("sync_action") == "recover",
        100 * int(done[1]) / int(done[2]) if done else None,
        lines,
    )


def _number_or_none(lines: tuple[str, ...]) -> int | None:
    return int(lines[0]) if len(lines) == 1 and re.fullmatch(r"[0-9]{1,18}", lines[0]) else None


PROBE = Probe(
    name="storage",
    title="disks: what waits in them, what they complete, and which the arrays of md lack",
    commands=(
        Command(
            "disks", ("tail", "-v", "-n", "+1", _DISKS, _HUNG), looks=SampleTimes.TWICE, output_limit_bytes=512 * 1024
        ),
        Command("arrays", ("sh", "-c", _LOOK), lane="devices", output_limit_bytes=64 * 1024),
    ),
    parse=parse,
    reading=StorageReading,
)
