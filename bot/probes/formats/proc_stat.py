"""Several looks at the cpu rows of /proc/stat, each below the node's uptime.

Defined in: Linux, Documentation/filesystems/proc.rst, "/proc/stat"; ticks since boot, guests counted in user and nice.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line
from bot.probes.formats.core_second import CoreSecond, core_second

_UPTIME = re.compile(r"uptime ([0-9]{1,12}\.[0-9]{1,3})", re.ASCII)
_CORE = re.compile(r"cpu([0-9]{1,5})((?: [0-9]{1,20}){7,})", re.ASCII)
_ALL = re.compile(r"cpu +[0-9 ]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Look:
    uptime: float
    ticks: dict[int, tuple[int, ...]]
    lines: dict[int, str]


def proc_stat(text: str) -> tuple[tuple[CoreSecond, ...], ...]:
    """Return the samples between the looks, oldest first; a late look makes a sample longer than a second.

    Raises: CannotRead when there are fewer than two looks, or a row is malformed.
    """
    looks = _parse_looks(text)
    if len(looks) < 2:
        raise CannotRead("cpu: a single look at /proc/stat is not a sample")
    samples = tuple(_between(before, after) for before, after in itertools.pairwise(looks))
    if not any(samples):
        raise CannotRead("cpu: no core of /proc/stat moved between the looks")
    return samples


def _parse_looks(text: str) -> list[_Look]:
    looks: list[_Look] = []
    for line in text.split("\n"):
        if uptime := _UPTIME.fullmatch(line):
            looks.append(_Look(float(uptime.group(1)), {}, {}))
        elif line and not looks:
            raise CannotRead("cpu: a look at /proc/stat has no uptime")
        elif row := _CORE.fullmatch(line):
            core = int(row.group(1))
            if core in looks[-1].ticks:
                raise CannotRead(f"cpu: a look at /proc/stat shows core {core} twice")
            ticks = tuple(int(number) for number in row.group(2).split())[:10]
            looks[-1].ticks[core] = ticks + (0,) * (10 - len(ticks))
            looks[-1].lines[core] = line
        elif line and not _ALL.fullmatch(line):
            raise CannotRead(f"cpu: a row of /proc/stat is malformed ({one_line(line, 60)})")
    return looks


def _between(before: _Look, after: _Look) -> tuple[CoreSecond, ...]:
    span = round(after.uptime - before.uptime, 2)
    if not 0.2 <= span <= 60:
        raise CannotRead("cpu: the looks at /proc/stat are not about a second apart")
    cores = []
    for core in sorted(before.ticks.keys() & after.ticks.keys()):
        # idle and iowait may go back; negative time counts as zero
        rise = [max(0, now - then) for then, now in zip(before.ticks[core], after.ticks[core], strict=True)]
        user, nice, system, idle, iowait, irq, soft, steal, guest, guest_nice = rise
        spent = {"usr": max(0, user - guest), "nice": max(0, nice - guest_nice), "sys": system, "idle": idle}
        spent |= {"iowait": iowait, "irq": irq, "soft": soft, "steal": steal, "guest": guest, "gnice": guest_nice}
        total = sum(spent.values())
        if total == 0:
            continue  # offline meanwhile, or its ticks are not counted: it was not seen
        shares = {name: round(100 * ticks / total, 2) for name, ticks in spent.items()}
        second = core_second(core, shares, f"{before.lines[core]} -> {after.lines[core]}", span)
        if second is not None:
            cores.append(second)
    return tuple(cores)
