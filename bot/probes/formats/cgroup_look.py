"""A look at a node's cgroups: where they are mounted, what the kernel counts, how many directories there are.

Defined in: proc(5) (mountinfo), Linux, Documentation/admin-guide/cgroup-v1/cgroups.rst and cgroup-v2.rst.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import is_whole
from bot.probes.formats.sections import sections

END = "-- end of look --"
INITIAL_NAMESPACE = "cgroup:[4026531835]"  # PROC_CGROUP_INIT_INO: the same number on every Linux
MOUNTINFO, PROC_CGROUPS, WALK, BELOW = "/proc/self/mountinfo", "/proc/cgroups", "/walk", "/below"

_MOUNT = re.compile(r"\S+ \S+ \S+ (?P<root>\S+) (?P<point>\S+) .*?- (?P<kind>cgroup2?) \S+ (?P<options>\S+)")
_ROW = re.compile(r"(\S+)\s+([0-9]{1,10})\s+([0-9]{1,10})\s+([01])\s*")
_COUNTER = re.compile(r"([a-z_][a-z0-9_]{0,80}) ([0-9]{1,10})\s*")
_WALKED = re.compile(r"directories (at least )?([0-9]{1,10}) in /.*")
_BELOW = re.compile(r"(/.*)/cgroup\.stat: (nr_dying_descendants|nr_dying_subsys_memory) ([0-9]{1,10})")
_CGROUP2 = ("cgroup2fs", "63677270")  # the second is the magic number, printed by coreutils that do not know the name


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted cgroup hierarchy, with octal escapes resolved; `root` is the mounted part of it."""

    root: str
    point: str
    kind: str  # "cgroup" or "cgroup2"
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CgroupRow:
    """A controller's row of /proc/cgroups; hierarchy 0: it is on no v1 hierarchy."""

    hierarchy: int
    cgroups: int
    enabled: bool
    line: str


@dataclass(frozen=True, slots=True)
class Below:
    """How many are dying below a v2 cgroup, by its own cgroup.stat."""

    path: str
    counter: str
    dying: int
    line: str


@dataclass(frozen=True, slots=True)
class CgroupLook:
    """The result of a look. `directories` None: the memory hierarchy is not mounted for us."""

    pure_v2: bool
    namespace: str
    mounts: tuple[Mount, ...]
    rows: Mapping[str, CgroupRow]
    controllers: Mapping[str, tuple[str, ...]]  # of each cgroup2 root, by its path
    counters: Mapping[str, Mapping[str, int]]  # cgroup.stat of each cgroup2 root, by its path
    directories: int | None = None
    directories_are_at_least: bool = False
    walked: str = ""
    below: tuple[Below, ...] = ()  # most first; empty if none was asked, or none has many

    @property
    def inside_namespace(self) -> bool:
        """True inside a container, where the visible root is not the machine's."""
        return self.namespace not in ("", INITIAL_NAMESPACE)

    @property
    def sees_a_part(self) -> bool:
        """True when the visible directories are not all that the kernel counts."""
        memory = [mount for mount in self.mounts if mount.kind == "cgroup" and "memory" in mount.options]
        return self.inside_namespace or not any(mount.root == "/" for mount in memory)


def parse_cgroup_counts(text: str) -> CgroupLook:
    """Read the answer of the cgroups fragment.

    Raises: CannotRead when it is cut short or has a malformed row.
    """
    if not is_whole(text, END):
        raise CannotRead("cgroups: the look is cut short")
    files = sections(text.replace(END, ""))
    said = dict(line.split(" ", 1) for line in text.split("\n")[:2] if " " in line)
    walked = next((found for line in files.get(WALK, ()) if (found := _WALKED.fullmatch(line))), None)
    return CgroupLook(
        pure_v2=any(name in said.get("filesystem", "") for name in _CGROUP2),
        namespace=said.get("namespace", "").strip(),
        mounts=tuple(_mounts(files.get(MOUNTINFO, ()))),
        rows=dict(
            _parse_row(line) for line in files.get(PROC_CGROUPS, ()) if line.strip() and not line.startswith("#")
        ),
        controllers={
            path.removesuffix("/cgroup.controllers"): tuple(" ".join(lines).split())
            for path, lines in files.items()
            if path.endswith("/cgroup.controllers")
        },
        counters={
            path.removesuffix("/cgroup.stat"): dict(_counter(line) for line in lines if line.strip())
            for path, lines in files.items()
            if path.endswith("/cgroup.stat")
        },
        directories=int(walked.group(2)) if walked else None,
        directories_are_at_least=walked is not None and walked.group(1) is not None,
        walked=walked.group() if walked else "",
        below=tuple(below for line in files.get(BELOW, ()) if (below := _parse_below(line)) is not None),
    )


def _parse_below(line: str) -> Below | None:
    """Skip malformed lines: anybody may choose the names in them, and the total does not depend on them."""
    found = _BELOW.fullmatch(line)
    return Below(found.group(1), found.group(2), int(found.group(3)), one_line(line, 300)) if found else None


def _mounts(lines: tuple[str, ...]) -> list[Mount]:
    mounts = [_MOUNT.fullmatch(line) for line in lines]
    return [
        Mount(unescaped(mount["root"]), unescaped(mount["point"]), mount["kind"], tuple(mount["options"].split(",")))
        for mount in mounts
        if mount is not None
    ]


def unescaped(path: str) -> str:
    r"""Return a path of mountinfo with its octal escapes resolved.

    Example:
    >>> unescaped(r"/mnt/with\040blank")
    '/mnt/with blank'
    """
    return re.sub(r"\\([0-3][0-7]{2})", lambda found: chr(int(found.group(1), 8)), path)


def _parse_row(line: str) -> tuple[str, CgroupRow]:
    found = _ROW.fullmatch(line)
    if found is None:
        raise CannotRead(f"cgroups: a row of {PROC_CGROUPS} is cut short ({one_line(line, 60)})")
    name, hierarchy, cgroups, enabled = found.groups()
    return name, CgroupRow(int(hierarchy), int(cgroups), enabled == "1", line)


def _counter(line: str) -> tuple[str, int]:
    found = _COUNTER.fullmatch(line)
    if found is None:
        raise CannotRead(f"cgroups: a row of cgroup.stat is cut short ({one_line(line, 60)})")
    return found.group(1), int(found.group(2))
