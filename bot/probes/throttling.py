"""Which cgroups the CPU quota throttled inside the window: cpu.stat of pods, containers and services, twice.

Defined in: Linux, Documentation/admin-guide/cgroup-v2.rst (cpu.stat) and scheduler/sched-bwc.rst (cgroup v1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.domain.safe_text import one_line
from bot.probes.formats.fragment import fragment
from bot.probes.formats.sections import sections


@dataclass(frozen=True, slots=True)
class ThrottledGroup:
    """A cgroup with a quota: its rises inside the window, and the raw lines of the second look."""

    path: str
    periods: int
    throttled: int
    throttled_for: timedelta
    source: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """Throttled periods as a share of all periods in the window."""
        return self.throttled / self.periods if self.periods else 0.0


@dataclass(frozen=True, slots=True)
class ThrottlingReading:
    """The cgroups with a CPU quota that ran in the window; `groups_seen` counts all that were looked at."""

    probe: ClassVar[str] = "throttling"

    groups: tuple[ThrottledGroup, ...]
    groups_seen: int = 0
    capped: bool = False  # there were more cgroups than the probe reads

    @property
    def worst_first(self) -> tuple[ThrottledGroup, ...]:
        """The cgroups, the most throttled first."""
        return tuple(sorted(self.groups, key=lambda group: (-group.ratio, -group.throttled, group.path)))

    @property
    def worst_ratio(self) -> float:
        """The highest throttled share of any cgroup."""
        return max((group.ratio for group in self.groups), default=0.0)


MOST_SUBDIRECTORIES = 500  # of a directory: more is a leak in itself, and listing it costs the node
MOST_GROUPS = 1500

_LINE = re.compile(r"(\w{1,40}) ([0-9]{1,20})", re.ASCII)
_NANOSECONDS, _MICROSECONDS = "throttled_time", "throttled_usec"  # cgroup v1, v2


def parse(outputs: Outputs) -> ThrottlingReading:
    """Read both looks; groups that came, went or were recreated meanwhile are left out.

    Unread when: an answer is incomplete, or a line of cpu.stat is malformed.
    """
    first, later = sections(outputs.text("cpu.stat", 0)), sections(outputs.text("cpu.stat", 1))
    before, _ = _groups(first), _groups_seen(first)
    groups = []
    for path, after in _groups(later).items():
        if path not in before:
            continue
        rises = [now - then for then, now in zip(before[path], after, strict=True)]
        if min(rises) < 0 or not rises[0]:
            continue
        held = timedelta(microseconds=min(rises[2] / 1000, 1e15))
        groups.append(ThrottledGroup(path, rises[0], min(rises[1], rises[0]), held, later[path]))
    return ThrottlingReading(tuple(groups), _groups_seen(later), capped="/capped" in first or "/capped" in later)


def _groups(files: dict[str, tuple[str, ...]]) -> dict[str, tuple[int, int, int]]:
    """Return periods, throttled periods and throttled nanoseconds of every group that has them."""
    groups = {}
    for path, lines in files.items():
        if path in ("/seen", "/capped"):
            continue
        found = [_LINE.fullmatch(line) for line in lines]
        values = {row.group(1): int(row.group(2)) for row in found if row}
        if len(values) != len(lines):
            raise CannotRead(f"throttling: cpu.stat of {one_line(path, 80)} is malformed")
        if "nr_periods" not in values:  # cgroup v2 without its cpu controller
            continue
        if "nr_throttled" not in values or (_NANOSECONDS in values) == (_MICROSECONDS in values):
            raise CannotRead(f"throttling: cpu.stat of {one_line(path, 80)} is malformed")
        nanoseconds = values.get(_NANOSECONDS, 1000 * values.get(_MICROSECONDS, 0))
        groups[path] = (values["nr_periods"], values["nr_throttled"], nanoseconds)
    return groups


def _groups_seen(files: dict[str, tuple[str, ...]]) -> int:
    lines = files.get("/seen", ())
    if len(lines) != 1 or not re.fullmatch(r"[0-9]{1,9}", lines[0]):
        raise CannotRead("throttling: the answer is incomplete")
    return int(lines[0])


# Never a walk: only the folders of pods, containers and services, two levels at most, and no directory whose hard links
# show more children than a node can have. The quota is read first because it costs nothing, while cpu.stat of cgroup v2
# makes the kernel sum the group's figures over all cores.
_SCRIPT = fragment(
    r"""
    command -v stat >/dev/null || { echo "stat is missing" >&2; exit 1; };
    cd /sys/fs/cgroup || exit; q=cpu.max;
    if ! [ -e cgroup.controllers ]; then q=cpu.cfs_quota_us;
        cd cpu,cpuacct 2>/dev/null || cd cpu 2>/dev/null || cd /cgroup/cpu 2>/dev/null ||
        { echo "no cpu controller is mounted" >&2; exit 1; }; fi;
    most=$1; groups=$2; set --;
    stat -c "%h %n" system.slice machine.slice docker kubepods kubepods/burstable kubepods/besteffort ecs ecstasks.slice
        kubepods.slice kubepods.slice/kubepods-burstable.slice kubepods.slice/kubepods-besteffort.slice 2>/dev/null | {
    while IFS=" " read -r h d; do
        if [ "$h" -gt "$most" ]; then echo capped; continue; fi;
        for k in "$d"/*/; do k=${k%/}; echo "$k"; case $k in kube*|ecs*) set -- "$@" "$k";; esac; done; done;
    [ $# = 0 ] || stat -c "%h %n" "$@" 2>/dev/null | while IFS=" " read -r h d; do
        if [ "$h" -gt "$most" ]; then echo capped; else for k in "$d"/*/; do echo "${k%/}"; done; fi; done; } |
    awk -v q="$q" -v most="$groups" '
        $0 == "capped" { capped = 1; next }
        $0 == "" || $0 in been { next }
        { been[$0]; f = $0 "/" q; got = (getline l < f); close(f); if (got < 1) next;
        if (++n > most) { capped = 1; n--; exit }
        if (l ~ /^(max|-1)/) next;
        f = $0 "/cpu.stat"; told = 0;
        while ((getline l < f) > 0) if (l ~ /^(nr_periods|nr_throttled|throttled_[a-z]+) /) {
            if (!told++) print "==> /" $0 " <=="; print l }
        close(f) }
        END { if (capped) print "==> /capped <=="; print "==> /seen <=="; print n + 0 }'
    """
)

PROBE = Probe(
    name="throttling",
    title="CPU quota of pods, containers and services",
    commands=(
        Command(
            "cpu.stat",
            ("sh", "-c", _SCRIPT, "sh", str(MOST_SUBDIRECTORIES + 2), str(MOST_GROUPS)),
            looks=SampleTimes.TWICE,
            output_limit_bytes=512 * 1024,
        ),
    ),
    parse=parse,
    reading=ThrottlingReading,
)
