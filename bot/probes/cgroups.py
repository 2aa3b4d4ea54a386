"""How many memory cgroups are alive, and how many are removed but not freed.

Defined in: Linux, Documentation/admin-guide/cgroup-v1/cgroups.rst (/proc/cgroups) and cgroup-v2.rst (cgroup.stat since
4.14, `nr_dying_subsys_memory` since 6.12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from bot.domain.command import Command, Outputs, SampleTimes
from bot.domain.errors import CannotRead
from bot.domain.probe import Probe
from bot.probes.formats.cgroup_look import BELOW, END, CgroupLook, CgroupRow, parse_cgroup_counts
from bot.probes.formats.fragment import fragment


@dataclass(frozen=True, slots=True)
class CgroupsReading:
    """Memory cgroups alive and dying.

    Shape: `mode` is where the memory controller is: "v1", "v2" or "hybrid" (v1 controllers beside a unified tree).
    `counter` says how `dying` was counted; `siblings` are the other v1 controllers' counts, used without a walk.
    `dying_below` holds the few cgroups of the first two levels with most dying below them, by path from the root
    ("system.slice/ecs.service"), each with a raw line in `source_below`; a missing cgroup is unknown, not zero.
    """

    probe: ClassVar[str] = "cgroups"

    mode: str
    dying: int
    alive: int
    counter: str
    dying_later: int | None = None  # at the second look
    alive_later: int | None = None
    seconds_between: float | None = None
    alive_is_at_least: bool = False  # counting directories stopped at its limit
    siblings: Mapping[str, int] = field(default_factory=dict)
    source: tuple[str, ...] = ()
    source_later: tuple[str, ...] = ()
    dying_is_known: bool = True  # False: `dying` is 0 because too many are alive to count both
    dying_below: Mapping[str, int] = field(default_factory=dict)  # empty on v1, which has no count for each cgroup
    dying_below_later: Mapping[str, int] = field(default_factory=dict)
    source_below: Mapping[str, str] = field(default_factory=dict)  # by the same path, from the newest look that has it

    def traits(self) -> Mapping[str, str]:
        """Return the node's cgroup version, for people."""
        return {"cgroup": f"cgroup {self.mode}"}

    @property
    def growth(self) -> int | None:
        """How many more are dying at the second look; None without a second look."""
        return None if self.dying_later is None else self.dying_later - self.dying

    @property
    def growth_per_hour(self) -> float | None:
        """Growth between the looks, per hour."""
        if self.growth is None or not self.seconds_between:
            return None
        return self.growth * 3600 / self.seconds_between


# Larger trees are not walked: the walk takes kernfs locks that kubelet and systemd need. Ten thousand directories cost
# 0.05 s of CPU, because a directory with two hard links has no subdirectories and is not opened.
MOST_DIRECTORIES = 10_000
# On v2 each cgroup counts the dying cgroups below it. Two levels hold the slices and their units. A leak of any size
# shows among the five largest, because at most two places hold half of all, each below another.
MOST_ASKED, MOST_TOLD, FEWEST_TOLD = 2_000, 5, 100

# A single fragment, so that both figures of a difference are of the same moment.
_FRAGMENT = fragment(rf"""
    f=other; [ -e /sys/fs/cgroup/cgroup.controllers ] && f=cgroup2fs; echo filesystem $f;
    echo namespace $(readlink /proc/self/ns/cgroup);
    f= has=;
    for u in /sys/fs/cgroup /sys/fs/cgroup/unified; do
        [ -e $u/cgroup.controllers ] || continue;
        f="$f $u/cgroup.controllers $u/cgroup.stat"; read -r c <$u/cgroup.controllers;
        case " $c " in *" memory "*) has="$has $u";; esac; done;
    export f has;
    # The memory hierarchy that is mounted whole, or else any part of it; its path comes with octal escapes. Where
    # memory is on v2 /proc/cgroups tells nothing, and kernels since 6.17 log that somebody read it.
    m=$(awk '/ - cgroup/ {{ print;
        for (i = 7; i < NF; i++) if ($i == "-") break;
        if ($(i + 1) == "cgroup" && index("," $NF ",", ",memory,")) {{ if ($4 == "/") {{ w = w ? w : $5 }} p = $5 }} }}
        END {{ m = w ? w : p;
            n = split(ENVIRON["f"] (m ENVIRON["has"] == " /sys/fs/cgroup" ? "" : " /proc/cgroups"), f, " ");
            for (i = 1; i <= n; i++) {{ h = "==> " f[i] " <==\n";
                while ((getline l < f[i]) > 0) {{ print h l; h = "" }} }}
            print "memory at:" m }}' /proc/self/mountinfo);
    echo '==> /proc/self/mountinfo <=='; printf %s "${{m%memory at:*}}"; m=${{m##*memory at:}};
    case $m in *\\*) m=$(printf %b "$(printf %s "$m" | sed 's/\\\([0-7][0-7][0-7]\)/\\0\1/g')");; esac; export m;
    for u in $has; do
        echo '==> {BELOW} <==';
        # The root's own count comes first: where it is small, no other file is opened. No name holds a newline.
        printf '%s\n' $u/cgroup.stat $u/*/cgroup.stat $u/*/*/cgroup.stat | awk '
            few || NR > {MOST_ASKED} {{ next }}
            {{ m = d = -1;
                while ((getline l < $0) > 0) {{ split(l, w, " ");
                    if (w[1] == "nr_dying_subsys_memory") m = w[2] + 0;
                    if (w[1] == "nr_dying_descendants") d = w[2] + 0 }}
                close($0); n = m < 0 ? d : m;
                if (NR == 1) few = n < {FEWEST_TOLD};
                else if (n >= {FEWEST_TOLD}) {{ c[$0] = n; k[$0] = m < 0 ? "descendants" : "subsys_memory" }} }}
            END {{ for (i = 0; i < {MOST_TOLD}; i++) {{ b = "";
                for (f in c) if (b == "" || c[f] > c[b]) b = f;
                if (b != "") {{ print b ": nr_dying_" k[b], c[b]; delete c[b] }} }} }}'; done;
    if [ -n "$m" ]; then
        echo '==> /walk <==';
        # Hard links tell how many directories the first two levels hold, before anything is walked.
        t=$(stat -c %h "$m");
        [ "${{t:-0}}" -lt {MOST_DIRECTORIES} ] &&
            {{ t=1; for h in $(stat -c %h "$m"/*/); do t=$((t + h - 1)); done; }} 2>/dev/null;
        if [ "$t" -ge {MOST_DIRECTORIES} ]; then echo "directories at least $t in $m";
        else find "$m" -type d -links 2 -prune -print -o -type d -print 2>&1 | awk 'NR > {MOST_DIRECTORIES} {{ exit }}
            /^find: / {{ e += /denied/; next }}
            {{ n++ }}
            END {{ if (e || n >= {MOST_DIRECTORIES}) l = "at least ";
                if (n) print "directories", l n, "in", ENVIRON["m"] }}';
        fi; fi;
    echo '{END}'
""")


def parse(outputs: Outputs) -> CgroupsReading:
    """Count dying and live memory cgroups, at both looks if there are two.

    Unread when: the memory controller's counts are missing or cut short; counts of other controllers do not answer.
    """
    first = _reading_of_look(parse_cgroup_counts(outputs.text("look", 0)))
    again = outputs.text_or_none("look", 1)
    try:
        later = None if again is None else _reading_of_look(parse_cgroup_counts(again))
    except CannotRead:
        later = None
    # Of figures of different kinds the difference would not be growth.
    if later is None or (later.mode, later.counter) != (first.mode, first.counter):
        return first
    return replace(
        first,
        dying_later=later.dying,
        alive_later=later.alive,
        seconds_between=outputs.seconds_between("look"),
        source_later=later.source,
        dying_below_later=later.dying_below,
        source_below=later.source_below,
    )


def _reading_of_look(look: CgroupLook) -> CgroupsReading:
    row = look.rows.get("memory")
    if row is not None and not row.enabled:
        return CgroupsReading("v1", 0, 0, "the memory controller is switched off", source=(row.line,))
    if row is not None and row.hierarchy:
        return _reading_on_v1(look, row)
    for path, counters in look.counters.items():
        if "memory" in look.controllers.get(path, ()) or "nr_dying_subsys_memory" in counters:
            return _reading_on_v2(look, path, counters)
    here = look.controllers.get("/sys/fs/cgroup", ())
    if look.pure_v2 and here and row is None and not look.inside_namespace:
        line = f"/sys/fs/cgroup/cgroup.controllers: {' '.join(here)}"
        return CgroupsReading("v2", 0, 0, "the memory controller is switched off", source=(line,))
    raise CannotRead("cgroups: neither /proc/cgroups nor cgroup.stat counts memory cgroups here")


def _reading_on_v1(look: CgroupLook, row: CgroupRow) -> CgroupsReading:
    mode = "hybrid" if any(mount.kind == "cgroup2" for mount in look.mounts) else "v1"
    siblings = {name: other.cgroups for name, other in look.rows.items() if other.hierarchy not in (0, row.hierarchy)}
    source = tuple(line for line in (row.line, look.walked) if line)
    if look.directories is not None and not look.directories_are_at_least and not look.sees_a_part:
        dying = max(0, row.cgroups - look.directories)
        counter = "num_cgroups of memory less its directories"
        return CgroupsReading(mode, dying, look.directories, counter, siblings=siblings, source=source)
    # Other controllers have about as many directories, and only the memory controller accumulates dying cgroups.
    most = max(siblings.values(), default=0)
    if most > 1 and most >= (look.directories or 0):
        counter = "num_cgroups of memory less the most that another controller has"
        found = CgroupsReading(mode, max(0, row.cgroups - most), most, counter, siblings=siblings, source=source)
        return replace(found, alive_is_at_least=True)
    if look.directories is not None and not look.sees_a_part:
        counter = "none: there are more directories than are walked, and no controller to compare with"
        found = CgroupsReading(mode, 0, look.directories, counter, siblings=siblings, source=source)
        return replace(found, alive_is_at_least=True, dying_is_known=False)
    raise CannotRead("cgroups: the kernel counts cgroups that cannot be seen from here (a container?)")


def _reading_on_v2(look: CgroupLook, root: str, counters: Mapping[str, int]) -> CgroupsReading:
    path = f"{root}/cgroup.stat"
    dying, alive = "nr_dying_subsys_memory", "nr_subsys_memory"
    if dying not in counters and alive not in counters:
        dying, alive = "nr_dying_descendants", "nr_descendants"
    if dying not in counters or alive not in counters:
        raise CannotRead(f"cgroups: {path} is cut short, or the kernel is too old to count (before 4.14)")
    source = tuple(f"{path}: {name} {counters[name]}" for name in (alive, dying))
    # Figures of another kind than the root's are left out.
    below = {group.path.removeprefix(f"{root}/"): group for group in look.below if group.counter == dying}
    return CgroupsReading(
        "v2",
        counters[dying],
        counters[alive],
        dying,
        source=source,
        dying_below={path: group.dying for path, group in below.items()},
        source_below={path: group.line for path, group in below.items()},
    )


PROBE = Probe(
    name="cgroups",
    title="memory cgroups, alive and dying",
    commands=(Command("look", ("sh", "-c", _FRAGMENT), looks=SampleTimes.TWICE, output_limit_bytes=64 * 1024),),
    parse=parse,
    reading=CgroupsReading,
)
