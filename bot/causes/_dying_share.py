"""Where most dying cgroups are: on cgroup v2 the kernel counts them below each live cgroup."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.domain.safe_text import one_line
from bot.probes.cgroups import FEWEST_TOLD, MOST_TOLD, CgroupsReading

# What systemd allows in a unit's name (escaped names hold `\x2d` and the like). Anybody may name a cgroup.
_SERVICE = re.compile(r"[A-Za-z0-9:_.\\@-]{1,247}\.service")


@dataclass(frozen=True, slots=True)
class DyingShare:
    """The deepest cgroup that holds most of the dying cgroups.

    Shape: `unit` is the service that owns the cgroup, "" if none does; `is_no_units`: a pod, a container or a session
    owns it, where no service leaves any. If neither is set, it is a slice, where ended units leave theirs.
    """

    path: str
    dying: int
    of: int
    unit: str = ""
    is_no_units: bool = False
    growth: int | None = None
    line: str = ""

    @property
    def is_of_sessions(self) -> bool:
        """True below user.slice, where logins and cron's jobs have their sessions (pam_systemd(8)), and no service."""
        return not self.unit and self.path.split("/")[0] == "user.slice"

    @property
    def says(self) -> str:
        """Describe how many are where."""
        rose = f" ({self.growth:+,} between the looks)" if self.growth else ""
        where = f"{self.dying:,} of the {self.of:,} dying are under {self.unit or one_line(self.path, 120)}{rose}"
        if self.is_no_units:
            return f"{where}, which is not a unit that could be disabled: its processes leave them"
        return where


def find(cgroups: CgroupsReading, dying: int, share: float) -> DyingShare | None:
    """Return the cgroup with at least this share of the dying; None if unknown, or no cgroup has it."""
    below = cgroups.dying_below if cgroups.dying_later is None else cgroups.dying_below_later
    many = {path: figure for path, figure in below.items() if figure >= share * dying}
    deepest = [path for path in many if not any(other.startswith(f"{path}/") for other in many)]
    if len(deepest) != 1:
        return None
    path = deepest[0]
    parts = path.split("/")
    depth = next((at for at, part in enumerate(parts) if not part.endswith(".slice")), len(parts))
    unit = ""
    if depth < len(parts) and _SERVICE.fullmatch(parts[depth]):
        path, unit = "/".join(parts[: depth + 1]), parts[depth].removeprefix("_")  # systemd escapes some names with it
    pods = any(part.startswith("kubepods") for part in parts)
    figure = below.get(path, many[deepest[0]])
    first = None if cgroups.dying_later is None else cgroups.dying_below.get(path)
    return DyingShare(
        path=path,
        dying=figure,
        of=max(dying, figure),  # the two files are read in turn
        unit="" if pods else unit,
        is_no_units=pods or (not unit and len(parts) > 1 and not parts[-1].endswith(".slice")),
        growth=None if first is None else figure - first,
        line=cgroups.source_below.get(path, ""),
    )


def most_of(cgroups: CgroupsReading, control_group: str) -> int | None:
    """Return how many dying cgroups may be below the slice of that unit's cgroup at most; None without such counts.

    A unit between two runs has no cgroup: then it is taken to be in system.slice, where systemd puts services.
    """
    below = cgroups.dying_below if cgroups.dying_later is None else cgroups.dying_below_later
    if not below:
        return None
    top = control_group.strip("/").partition("/")[0] or "system.slice"
    told = [figure for path, figure in below.items() if path == top or path.startswith(f"{top}/")]
    # The places with most are told, down to the smallest that counts: what is not told has no more than those.
    return max(told, default=min(below.values()) if len(below) >= MOST_TOLD else FEWEST_TOLD)
