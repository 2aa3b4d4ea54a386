"""The harm of dying cgroups to a node: held cores, resets, lost memory, used-up ids; only where they cause it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.causes import _recent
from bot.causes._figures import memory, percent
from bot.causes._held_cores import STATISTICS_WALKERS, HeldCores, held_cores
from bot.causes._packet_waits import packet_wait_evidence
from bot.causes._starvation import Starvation, dying_cgroups_before, find_other_holder, paced_resets, recurs, starvation
from bot.domain.cause import Tuning
from bot.domain.growth import HarmThreshold
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence
from bot.probes.cgroups import CgroupsReading
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import LOCKUPS, KernelEvent
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.processes import ProcessesReading
from bot.probes.profile import MEMCG_WALK, ProfileReading
from bot.probes.reclaim import ReclaimReading

# Until 5.8 each read of v1 memory.numa_stat summed per-CPU counters over the whole tree, dying cgroups included.
CHEAP_WALK_SINCE = (5, 8)
# 73f576c04b94 ("mm: memcontrol: fix cgroup creation failure after many small jobs"): since then a cgroup that is
# removed gives its id back at once. Before, dying ones kept theirs.
GIVEN_BACK_SINCE = (4, 8)
_BYSTANDERS = ("swapper", "ksoftirqd", "migration", "watchdog")  # processes that a stall names as waiting


@dataclass(frozen=True, slots=True)
class Walk:
    """The cost of reading the memory statistics on this kernel; `is_costly` None: the kernel is not known."""

    is_costly: bool | None
    says: str
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Harm:
    """A harm that the cgroups cause, and how surely.

    Shape: `is_recent` False: its time is not known. `mechanism` tells it as the way in which other harm comes about; it
    is empty for what work on the node feels by itself.
    """

    short: str  # without a tense: it is told of a sick node, and after the cure
    confidence: Confidence
    evidence: Evidence
    is_recent: bool = True
    mechanism: str = ""  # said after how many they are


@dataclass(frozen=True, slots=True)
class Unproven:
    """A harm of now that is not proven to be theirs; `recurs`: it came back, and may come again."""

    short: str
    evidence: Evidence
    recurs: bool = False


@dataclass(frozen=True, slots=True)
class Harms:
    """All harm that they cause, what is not proven to be theirs, and what was not read.

    Shape: `waited` is who waited for the held cores, if that was measured.
    """

    seen: tuple[Harm, ...]
    not_theirs: tuple[Evidence, ...]
    walk: Walk
    unread: tuple[Unread, ...]
    waited: tuple[Evidence, ...] = ()
    unproven: tuple[Unproven, ...] = ()

    @property
    def confidence(self) -> Confidence:
        """The highest confidence among them; possible if there is none."""
        return max((harm.confidence for harm in self.seen), key=lambda c: c.rank, default=Confidence.POSSIBLE)

    @property
    def short(self) -> str:
        """All of it in a few words; what work on the node feels comes first."""
        return "; ".join(harm.short for harm in sorted(self.seen, key=lambda harm: bool(harm.mechanism)))

    @property
    def symptom_words(self) -> str:
        """What work on the node feels, in a few words; all of it, where none of it is felt.

        Shape: what work feels is measured, and only its cause may be likely; how it comes about is no surer than that.
        """
        likely = "" if self.confidence is Confidence.CONFIRMED else "likely "
        return "; ".join(harm.short for harm in self.seen if not harm.mechanism) or f"{likely}{self.short}"

    @property
    def mechanism_words(self) -> str:
        """How that comes about, beginning with a semicolon; empty where `symptom_words` says it already."""
        mechanisms = [harm.mechanism for harm in self.seen if harm.mechanism]
        return "; ".join(["", *mechanisms]) if len(mechanisms) < len(self.seen) else ""

    @property
    def is_recent(self) -> bool:
        """True when one of them is known to be recent."""
        return any(harm.is_recent for harm in self.seen)

    @property
    def is_walk_seen(self) -> bool:
        """True when a call trace or a profile names the walk."""
        return any(harm.evidence.finding in ("memcg-walk-stack", "memcg-walk-profile") for harm in self.seen)


def walk_of(snapshot: Snapshot, mode: str) -> Walk:
    """Return the cost of reading the memory statistics on this kernel."""
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or host.kernel_version == (0, 0):
        return Walk(None, "the kernel's version was not read, so the cost of a statistics walk is not known")
    where = f"kernel {host.kernel}, cgroup {mode}"
    if host.kernel_version >= CHEAP_WALK_SINCE:
        return Walk(False, f"{where}: since 5.8 reading the statistics does not walk dying cgroups", (host.kernel,))
    if mode == "v2":
        return Walk(False, f"{where}: only cgroup v1's memory.numa_stat is slow to read", (host.kernel,))
    says = f"{where}: each read of memory.numa_stat walks every cgroup, dying cgroups included; since 5.8 it does not"
    return Walk(True, says, (host.kernel,))


def harms_of_leak(snapshot: Snapshot, mode: str, dying: int, proven: bool, tuning: Tuning) -> Harms:
    """Return the harm done by dying cgroups in that mode; `proven`: the leak is proven and its leaker named."""
    walk = walk_of(snapshot, mode)
    held = snapshot.once(held_cores, tuning["core_held_percent"], tuning["core_held_seconds"], tuning["walker_share"])
    walks = _events(snapshot, tuning, "stack-memcg-walk")
    short = _too_short_words(dying, tuning)
    stacks = () if short else _perhaps_recent(snapshot, walks, tuning)
    caught = _is_recent(snapshot, stacks, tuning)
    cost = Walk(False, f"{walk.says}, but {short}") if walk.is_costly and short else walk
    profiled = walk_seen(snapshot)
    other = profile_of_other_function(snapshot, held)
    if other is not None:
        cost = Walk(False, other.says, other.source)
    judged = (
        _harm_by_profile(profiled, walk) if profiled is not None else None,
        _harm_by_stack(snapshot, stacks, tuning) if stacks else _harmless_walk(snapshot, walks, short),
        _harm_of_held_core(held, cost, caught),
        _harm_of_resets(snapshot, held, cost, caught, proven, tuning) or _harm_of_paced_resets(snapshot, cost, tuning),
        _memory_gone(snapshot, dying, proven, tuning),
        _ids_exhausted(snapshot, dying, tuning),
    )
    kinds = (CpuReading, ProcessesReading, KernelLogReading, ReclaimReading)
    return Harms(
        seen=tuple(harm for harm in judged if isinstance(harm, Harm)),
        not_theirs=tuple(
            seen.evidence if isinstance(seen, Unproven) else seen
            for seen in judged
            if isinstance(seen, (Evidence, Unproven))
        ),
        walk=walk,
        unread=tuple(reading for kind in kinds if isinstance(reading := snapshot.get(kind), Unread)),
        waited=packet_wait_evidence(snapshot, tuple(core.core for core in held.cores)),
        unproven=tuple(seen for seen in judged if isinstance(seen, Unproven)),
    )


def _events(snapshot: Snapshot, tuning: Tuning, *kinds: str) -> tuple[KernelEvent, ...]:
    return _recent.recent(snapshot, _recent.kernel_events(snapshot, *kinds), tuning["recent_hours"])


def _harm_by_stack(snapshot: Snapshot, stacks: tuple[KernelEvent, ...], tuning: Tuning) -> Harm:
    says = f"a call trace in the kernel log, {_recent.ago(snapshot, stacks[-1])}, is in the walk over memory cgroups"
    return Harm(
        "the kernel was caught walking memory cgroups",
        Confidence.CONFIRMED,
        Evidence("memcg-walk-stack", "kernel_log", says, _recent.lines(stacks)),
        _is_recent(snapshot, stacks, tuning),
        mechanism="the kernel was caught walking them",
    )


def _harm_by_profile(seen: ProfileReading, walk: Walk) -> Harm | Evidence:
    if walk.is_costly is False:
        says = f"{seen.says}; not attributed to the dying cgroups: {walk.says}"
        return Evidence("memcg-walk-profile-cheap", "profile", says, seen.source)
    caught, on = f"perf caught {seen.process} walking", "a core" if seen.core is None else f"core {seen.core}"
    return Harm(
        f"{caught} memory cgroups on {on}",
        Confidence.CONFIRMED,
        Evidence("memcg-walk-profile", "profile", seen.says, seen.source),
        mechanism=f"{caught} them on {on}",
    )


def _too_short_words(dying: int, tuning: Tuning) -> str:
    """Say why a walk over that many cgroups cannot hold a core, traced or not; empty if it can."""
    seconds = dying * tuning["walk_seconds_per_10000"] / 10_000
    if seconds >= tuning["walk_seconds_few"]:
        return ""
    return f"a walk over {dying:,} takes about {seconds:.2f} s, too little to hold a core"


def _perhaps_recent(snapshot: Snapshot, events: Iterable[KernelEvent], tuning: Tuning) -> tuple[KernelEvent, ...]:
    """Return the events recent enough to be present harm; an event without a time counts too."""
    return _recent.events_perhaps_within(snapshot, events, tuning["harm_minutes"])


def _is_recent(snapshot: Snapshot, events: Iterable[KernelEvent], tuning: Tuning) -> bool:
    """True if one of them is known to be recent enough: only that may justify a reboot."""
    return bool(_recent.events_surely_within(snapshot, events, tuning["harm_minutes"]))


def _harmless_walk(snapshot: Snapshot, walks: tuple[KernelEvent, ...], short: str) -> Evidence | None:
    if not walks:
        return None
    seen = f"a call trace in the walk over memory cgroups, {_recent.ago(snapshot, walks[-1])}"
    if short:
        return Evidence("memcg-walk-of-few", "kernel_log", f"{seen}; but {short}", _recent.lines(walks))
    says = f"{seen}: too old to be present harm"
    return Evidence("memcg-walk-earlier", "kernel_log", says, _recent.lines(walks))


def _harm_of_held_core(held: HeldCores, walk: Walk, stack: bool) -> Harm | Unproven | Evidence | None:
    if held.core is None or held.walker is None:
        return Evidence("core-held", "cpu", held.says, held.source) if held.cores else None
    if not (walk.is_costly or stack):
        says = f"{held.says}; not attributed to the dying cgroups: {walk.says}, and no call trace names the walk"
        short = f"core {held.core.core} is held in the kernel by {held.walker.name}"
        return Unproven(short, Evidence("core-held", "cpu", says, held.source))
    return Harm(
        f"core {held.core.core} held in the kernel by {held.walker.name}, walking dying cgroups",
        Confidence.CONFIRMED if stack else Confidence.LIKELY,
        Evidence("core-held-by-walker", "cpu", held.says, held.source),
        mechanism=f"{held.walker.name} walks them and holds core {held.core.core}",
    )


def _harm_of_resets(
    snapshot: Snapshot, held: HeldCores, walk: Walk, stack: bool, proven: bool, tuning: Tuning
) -> Harm | Unproven | Evidence | None:
    starved = snapshot.once(starvation, tuning["recent_hours"])
    if starved is None:
        return None
    probe, says, source = "kernel_log" if starved.events else "nic", starved.says, starved.source
    other, is_clear = find_other_holder(snapshot, held, starved, tuning)
    if (other or not walk.is_costly) and not stack:
        why = other or f"{walk.says}, and no call trace names the walk"
        evidence = Evidence("nic-starved", probe, f"{says}; not attributed to the dying cgroups: {why}", source)
        comes_back = recurs(snapshot, starved.events, tuning["recurs_few"])
        short = f"the network card was {_resets_words(starved, tuning)} for lack of CPU" + (
            f", and {other}" if other else ""
        )
        is_now = comes_back or starved.rose or bool(_perhaps_recent(snapshot, starved.events, tuning))
        return Unproven(short, evidence, comes_back) if is_now else evidence
    is_now = (
        _is_recent(snapshot, starved.events, tuning)
        or starved.rose
        or _may_hold_now(held)
        or recurs(snapshot, starved.events, tuning["recurs_few"])
    )
    if not (is_now or _perhaps_recent(snapshot, starved.events, tuning)):
        last = f"the last was {_recent.ago(snapshot, starved.events[-1])}, " if starved.events else ""
        says += f"; {last}too long ago, or at an unknown time, to be present harm"
        return Evidence("nic-starved-earlier", probe, says, source)
    lacks = "starved of CPU"
    for core in (held.core,) if held.core else held.cores:
        line = starved.interrupt_on(snapshot, core.core)
        if line is not None:
            says += f"; core {core.core}, held in the kernel, serves this queue ({line.name})"
            source = (*source, line.raw) if line.raw else source
            lacks = f"starved of CPU on core {core.core}"  # the others may be idle
            break
    sure = stack or (proven and starved.timed and not _others_lockup(snapshot, tuning))
    cut = _traffic_cut_words(len(starved.resets), f" in {tuning['recent_hours']:g} h")
    return Harm(
        f"{cut if starved.resets else 'network card waiting'}, {lacks}",
        Confidence.CONFIRMED if sure else Confidence.LIKELY,
        Evidence("nic-starved", probe, says, source),
        is_now and (is_clear or stack),
    )


def _traffic_cut_words(resets: int, within: str = "") -> str:
    """Say what resets of the network card do to whoever uses it."""
    return f"traffic cut {counted(resets, 'time')}{within} by resets of the network card"


def _resets_words(starved: Starvation, tuning: Tuning) -> str:
    resets = len(starved.resets)
    return f"reset {counted(resets, 'time')} in {tuning['recent_hours']:g} h" if resets else "waiting"


def _harm_of_paced_resets(snapshot: Snapshot, walk: Walk, tuning: Tuning) -> Harm | Unproven | None:
    """Judge resets that recur evenly, by a driver that does not say why, beside a leak that was before them."""
    paced = paced_resets(snapshot, tuning["recent_hours"], tuning["recurs_few"])
    if paced is None or not dying_cgroups_before(snapshot, paced, tuning["dying_many"]):
        resets = _events(snapshot, tuning, "nic-reset")
        short = f"the network card was reset {counted(len(resets), 'time')} in {tuning['recent_hours']:g} h"
        says = f"{short}; its driver does not say that it was for lack of CPU"
        return Unproven(short, Evidence("nic-resets", "kernel_log", says, _recent.lines(resets, 3))) if resets else None
    lines = _recent.lines(paced.events, 3)
    if not walk.is_costly:
        says = f"{paced.says}; not attributed to the dying cgroups: {walk.says}"
        return Unproven(paced.says, Evidence("nic-resets-paced", "kernel_log", says, lines), True)
    says = f"{paced.says}; the dying cgroups were many before the first"
    evidence = Evidence("nic-resets-paced", "kernel_log", says, lines)
    # A pace names them, and earns no reboot: nobody saw them hold a core, nor the driver say that it had none.
    return Harm(f"{_traffic_cut_words(paced.count)}, at an even pace", Confidence.LIKELY, evidence, is_recent=False)


def _may_hold_now(held: HeldCores) -> bool:
    """True if a core is held in the kernel and a statistics walker is among the processes that use kernel time."""
    burning = {process.name for process in held.others}
    return held.walker is not None or (bool(held.cores) and not burning.isdisjoint(STATISTICS_WALKERS))


def _others_lockup(snapshot: Snapshot, tuning: Tuning) -> bool:
    """True when the kernel names another program that locked up a core: it may have caused the resets."""
    named = {event.process.partition(":")[0] for event in _events(snapshot, tuning, *LOCKUPS)} - {""}
    return any(name not in STATISTICS_WALKERS and not name.startswith(_BYSTANDERS) for name in named)


def _memory_gone(snapshot: Snapshot, dying: int, proven: bool, tuning: Tuning) -> Harm | None:
    reclaim = snapshot.get(ReclaimReading)
    if isinstance(reclaim, Unread):
        return None
    kernel_held, available, total = reclaim.kernel_held_kib, reclaim.mem_available_kib, reclaim.mem_total_kib
    if kernel_held is None or not total or not dying:
        return None
    # Of the kernel's memory, count only what so many cgroups can cost on so many CPUs, not file system caches.
    held = min(kernel_held, round(dying * kib_each(snapshot, tuning)))
    tenth = total * tuning["memory_gone_percent"] / 100
    # A job may use nearly all memory: blame the cgroups for a shortage only if they hold more than is left.
    if held <= tenth and not (available is not None and available < tenth and held > available):
        return None
    left = "" if available is None else f", {memory(available)} ({percent(100 * available / total)}) are left"
    says = f"{dying:,} dying cgroups hold about {memory(held)} of {memory(total)} (of Percpu + SUnreclaim){left}"
    rows = ("MemTotal", "MemAvailable", "Percpu", "SUnreclaim")
    source = tuple(reclaim.lines[row] for row in rows if row in reclaim.lines)
    return Harm(
        f"dying cgroups hold {memory(held)} of {memory(total)}",
        Confidence.CONFIRMED if proven else Confidence.LIKELY,
        Evidence("memory-gone", "reclaim", says, source),
    )


def kib_each(snapshot: Snapshot, tuning: Mapping[str, float]) -> float:
    """Return the KiB that a dying cgroup costs here: it has a part for each CPU. Unread CPUs count as two."""
    cpu = snapshot.get(CpuReading)
    cpus = len(cpu.seconds[0]) if not isinstance(cpu, Unread) and cpu.seconds else 2
    few, many = tuning["kib_per_cgroup_2_cpus"], tuning["kib_per_cgroup_96_cpus"]
    return few + (many - few) * max(0, cpus - 2) / 94


def _ids_exhausted(snapshot: Snapshot, dying: int, tuning: Tuning) -> Harm | Evidence | None:
    """Judge the last cgroup that the kernel refused to make; None if the log has none.

    It is harm if it was recently, and because dying ones hold nearly all ids, on old kernels only. Live cgroups that
    use up ids are too-many-live-cgroups.
    """
    cgroups, host = snapshot.get(CgroupsReading), snapshot.get(HostReading)
    events = _recent.kernel_events(snapshot, "cgroup-exhausted")
    refused = _recent.recent(snapshot, (e for e in events if "fork rejected" not in e.text), tuning["recent_hours"])
    if isinstance(cgroups, Unread) or not refused:
        return None
    alive = cgroups.alive if cgroups.alive_later is None else cgroups.alive_later
    says = f"the kernel refused to make a cgroup, {_recent.ago(snapshot, refused[-1])}"
    keep = not isinstance(host, Unread) and (0, 0) < host.kernel_version < GIVEN_BACK_SINCE
    spent = alive + dying >= tuning["ids_live_many"]
    if keep and spent and _recent.events_surely_within(snapshot, refused, tuning["harm_minutes"]):
        says += f"; before 4.8 dying ones keep their ids, and {alive + dying:,} of 65,535 are in use"
        evidence = Evidence("cgroup-ids-spent", "kernel_log", says, _recent.lines(refused))
        return Harm("no more cgroups can be made", Confidence.LIKELY, evidence)
    why = "from 4.8 on they have given their ids back"
    if keep:
        why = "that is too long ago, or at an unknown time" if spent else f"{alive + dying:,} of 65,535 ids are in use"
    says += f"; not attributed to the dying cgroups: {why}"
    return Evidence("cgroup-refused", "kernel_log", says, _recent.lines(refused))


def harm_to_come(snapshot: Snapshot, tuning: Mapping[str, float]) -> HarmThreshold | None:
    """Return the lowest number of dying cgroups that would do harm here, and the harm; None if not known."""
    cgroups, reclaim = snapshot.get(CgroupsReading), snapshot.get(ReclaimReading)
    found: list[HarmThreshold] = []
    if isinstance(cgroups, Unread):
        return None
    if walk_of(snapshot, cgroups.mode).is_costly:
        seconds = tuning["core_held_seconds"]
        many = 10_000 * seconds / tuning["walk_seconds_per_10000"]
        found.append(HarmThreshold(round(many), f"each read of the statistics holds a core for {seconds:g} s"))
    if not isinstance(reclaim, Unread) and reclaim.mem_total_kib:
        share = tuning["memory_gone_percent"]
        many = reclaim.mem_total_kib * share / 100 / kib_each(snapshot, tuning)
        found.append(HarmThreshold(round(many), f"they hold {share:g} % of the node's memory"))
    return min(found, key=lambda harm: harm.value, default=None)


# --- What a profile shows of a held core: the walk over memory cgroups, or something else

# In the first known case nearly all of the core's samples were in the walk; half leaves room for other work there.
_MOST_OF_A_CORE = 0.5


def walk_seen(snapshot: Snapshot) -> ProfileReading | None:
    """Return the profile if its hottest core spent most of its time in the walk."""
    seen = snapshot.get(ProfileReading)
    if isinstance(seen, Unread) or seen.signature != MEMCG_WALK or seen.share_of_core < _MOST_OF_A_CORE:
        return None
    return seen


def profile_of_other_function(snapshot: Snapshot, held: HeldCores) -> ProfileReading | None:
    """Return the profile if a held core spent most of its time in a named function other than the walk."""
    seen = snapshot.get(ProfileReading)
    if isinstance(seen, Unread) or not seen.has_names or seen.signature == MEMCG_WALK:
        return None
    is_held = seen.core is not None and any(core.core == seen.core for core in held.cores)
    return seen if is_held and seen.share_of_core >= _MOST_OF_A_CORE else None
