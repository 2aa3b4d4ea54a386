"""Something keeps restarting, and each start leaves a memory cgroup that is removed and never freed.

Confirms: a thousand dying cgroups or more, and a named leaker: the unit under which cgroup v2 counts most of them;
growth between the looks while a unit, a container or a failing agent loops; or restarts, journal, an agent's
container seconds old, or its log, in proportion to the count.
Harm, judged separately: a core held in the kernel by a statistics walker, resets for lack of CPU (both only if the walk
is slow: before Linux 5.8 on cgroup v1, or if a call trace names it), lost memory, used-up ids. A requested profile
proves the walk, if it is slow, or shows that the held core does something else.
Supports: the held core serves the starved queue; the walker's threads ran on it.
Refutes: few dying cgroups; a count that falls so fast that few will soon be left; the held core runs something else.
Remedy: disable the leaker; with harm, then reboot (nothing else frees dying cgroups), unless their count is falling
fast or the time of the harm is not known; never a reboot alone, and none against _reboot_risks.
Kernels: before 5.3 slab keeps dying cgroups without a leak; before 5.8 walks over them are slow. Linux 7.2 hands the
pages of a removed cgroup to its parent (lru_reparent_memcg in its headers): there the same agent removed 8,000 with
a page each, and none was left (`zombie lab prove`, 7.2.12). What keeps a thousand there is something else than pages.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.causes import _churn, _harm, _leaker, _loops
from bot.causes._figures import memory, sentence, span
from bot.causes._harm import Harms
from bot.causes._held_cores import held_cores
from bot.causes._leaker import Blame, Suspect, Suspects
from bot.causes._reboot_risks import BESIDE, no_reboot_words, risks_of_undoing_a_stop
from bot.causes._starvation import starvation
from bot.causes._unit_state import WHY_ENDS, disabling_steps
from bot.domain.action import Step
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.growth import GrowthMeasure
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted, listed
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cgroups import CgroupsReading
from bot.probes.host import HostReading
from bot.probes.reclaim import ReclaimReading

NAME = "leaked-memory-cgroups"
# fb2f2b0adb98 ("mm: memcg/slab: reparent memcg kmem_caches on cgroup removal"): since then slab memory keeps no dying
# cgroup.
SLAB_REPARENTED_SINCE = (5, 3)
# Measured on 7.2 (docs/proven.md), on no earlier 7.x: a removed cgroup hands its pages to its parent.
PAGES_REPARENTED_SINCE = (7, 2)
_UPTIME_NOT_READ = timedelta(days=30)  # assumed without kernel and uptime: then it is not known how many are many


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether memory cgroups leak, what leaks them, and what harm that does."""
    cgroups = snapshot.get(CgroupsReading)
    if isinstance(cgroups, Unread):
        return _undecided_uncounted(snapshot, cgroups.reason, tuning)
    if not cgroups.dying_is_known:
        why = f"at least {cgroups.alive:,} are alive, too many to count the dying cgroups"
        # As grave as an unread probe: this node must not be called healthy.
        return replace(_undecided_uncounted(snapshot, why, tuning), suspected=True)
    dying = cgroups.dying if cgroups.dying_later is None else cgroups.dying_later
    alive = cgroups.alive if cgroups.alive_later is None else cgroups.alive_later
    many, why = _many_and_why(snapshot, tuning)
    if dying < many:
        few = f"{counted(dying, 'dying memory cgroup')} beside {alive:,} alive; {many:,.0f} would be many{why}"
        if dying >= tuning["dying_many"] and isinstance(snapshot.get(HostReading), Unread):
            return Undecided(NAME, f"{few}, and kernel and uptime were not read", suspected=True)
        return RuledOut(NAME, few)
    if cgroups.alive_is_at_least and max(cgroups.siblings.values(), default=0) < cgroups.alive:
        # The directories were not all counted, and no other controller has a count to use instead.
        because = f"at least {alive:,} memory cgroups are alive; how many are dying is not known"
        return Undecided(NAME, because, suspected=True)
    largest_share = _leaker.largest_share(cgroups, dying, tuning["unit_share"])
    suspects = snapshot.once(_leaker.suspects, dying, tuning, largest_share, cgroups.growth)
    blame = _leaker.blame(suspects, cgroups.growth, tuning)
    harms = snapshot.once(_harm.harms_of_leak, cgroups.mode, dying, blame.leaker is not None, tuning)
    somebody = blame.leaker is not None or suspects.all or suspects.unread
    freed = _will_be_freed_soon(cgroups, dying - many, tuning["freed_seconds"])
    if freed and not (somebody or harms.seen or harms.unread):
        fewer = f"{-(cgroups.growth or 0):,} fewer {span(timedelta(seconds=cgroups.seconds_between or 0))} later"
        return RuledOut(NAME, f"{counted(dying, 'dying memory cgroup')}, {fewer}: they are being freed")
    evidence = (
        _count_evidence(cgroups, dying, alive),
        _leaker_evidence(blame, suspects),
        Evidence("kernel", "host", f"{harms.walk.says}{_keeps_no_pages_words(snapshot)}", harms.walk.source),
        *(harm.evidence for harm in harms.seen),
        *harms.not_theirs,
        *harms.waited,
    )
    said = f"{dying:,} dying memory cgroups beside {alive:,} alive"
    if blame.leaker is None:
        return _finding_without_leaker(said, cgroups.growth, blame, harms, evidence)
    return _finding_with_leaker(
        snapshot, blame.leaker, blame.doubt, f"{dying:,} dying, {alive:,} alive", harms, evidence, freed
    )


def _will_be_freed_soon(cgroups: CgroupsReading, too_many: float, within_seconds: float) -> bool:
    """True if, at the window's rate, few are left within these seconds: leaked cgroups are never freed."""
    growth, between = cgroups.growth, cgroups.seconds_between
    return growth is not None and growth < 0 and bool(between) and -growth * within_seconds >= too_many * (between or 0)


def _dying_count(snapshot: Snapshot) -> float | None:
    cgroups = snapshot.get(CgroupsReading)
    if isinstance(cgroups, Unread) or not cgroups.dying_is_known:
        return None
    return cgroups.dying if cgroups.dying_later is None else cgroups.dying_later


def _many_and_why(snapshot: Snapshot, tuning: Tuning) -> tuple[float, str]:
    """Return how many dying cgroups are many here, and why it is more than usual: old kernels accumulate them."""
    host = snapshot.get(HostReading)
    if isinstance(host, Unread):
        return max(tuning["dying_many"], tuning["grown_a_day"] * _UPTIME_NOT_READ.days), ""
    if host.kernel_version == (0, 0) or host.kernel_version >= SLAB_REPARENTED_SINCE:
        return tuning["dying_many"], ""
    days = host.uptime / timedelta(days=1)
    grown = tuning["grown_a_day"] * days
    if grown <= tuning["dying_many"]:
        return tuning["dying_many"], ""
    return grown, f" on kernel {host.kernel} after {span(host.uptime)}: before 5.3 they accumulate without a leak"


def _keeps_no_pages_words(snapshot: Snapshot) -> str:
    """Where pages keep no cgroup, mending the agent may not be enough: somebody has to find what does keep them."""
    host = snapshot.get(HostReading)
    if isinstance(host, Unread) or host.kernel_version < PAGES_REPARENTED_SINCE:
        return ""
    return "; since 7.2 pages keep no removed cgroup: what keeps these is something else"


def _count_evidence(cgroups: CgroupsReading, dying: int, alive: int) -> Evidence:
    says = f"{dying:,} memory cgroups are removed and not freed, {alive:,} are alive ({cgroups.counter})"
    if cgroups.growth is not None:
        within = f" {span(timedelta(seconds=cgroups.seconds_between))}" if cgroups.seconds_between else ""
        says += f"; {cgroups.growth:+,}{within} later" if cgroups.growth else f"; as many{within} later"
    source = cgroups.source_later or cgroups.source
    if cgroups.growth:
        source = (*cgroups.source, *(line for line in cgroups.source_later if line not in cgroups.source))
    return Evidence("dying-cgroups", "cgroups", says, source[:6])


def _leaker_evidence(blame: Blame, suspects: Suspects) -> Evidence:
    if blame.leaker is not None:
        return Evidence("leaker", blame.leaker.probe, blame.says, blame.leaker.source[:8])
    source = tuple(line for suspect in suspects.all[:2] for line in suspect.source[:4])
    if suspects.largest_share is not None:
        return Evidence("leaker-not-found", "cgroups", blame.says, (suspects.largest_share.line, *source))
    return Evidence("leaker-not-found", "units", blame.says, source)


def _finding_with_leaker(
    snapshot: Snapshot,
    leaker: Suspect,
    doubt: str,
    said: str,
    harms: Harms,
    evidence: tuple[Evidence, ...],
    freed: bool,
) -> Finding:
    steps, no_step_because = disabling_steps(leaker.unit_state, snapshot)
    if steps and leaker.steady and not leaker.unit_state.unused_because:
        steps, no_step_because = (), f"{leaker.name} runs steadily now: disabling it would stop a working service."
    if steps and leaker.ends_well and not leaker.unit_state.unused_because:
        steps, no_step_because = (), f"The runs of {leaker.name} end well: disabling it would stop a working service."
    if steps and doubt:
        steps, no_step_because = (), doubt
    is_masked = any(step.action == "mask_unit" for step in steps)
    verb = f"leaked memory cgroups and {leaker.stopped}" if leaker.stopped else "leaks memory cgroups"
    if leaker.steady and not leaker.goes_on:
        verb = "leaked memory cgroups and runs steadily now"
    summary = f"{leaker.name} {verb}: {said}"
    if harms.seen:
        against, is_sure = risks_of_undoing_a_stop(snapshot), harms.confidence is Confidence.CONFIRMED
        why_none = _why_no_reboot(harms, freed, against)
        if not steps:
            advice = f"{no_step_because} A reboot alone is not offered: the next boot would leak again."
        elif why_none:
            advice = f"{'Mask' if is_masked else 'Disable'} {leaker.name}. {why_none}"
        else:
            advice = "Only a reboot frees them."
        return Finding(
            cause=NAME,
            status=Status.CRITICAL,
            confidence=harms.confidence,
            summary=f"{summary}. {'Harm' if is_sure else 'Likely harm'}: {harms.short}. {advice}",
            settled_by="" if is_sure else f"a profile of the cores, or a count after {leaker.name} is stopped,",
            harm=harms.symptom_words,
            found=f"{summary}{harms.mechanism_words}. {advice}",
            evidence=(*evidence, *against),
            suspects=(leaker.name,),
            remedy=(*steps, Step("reboot")) if steps and not why_none else steps,
        )
    if steps and leaker.stopped and leaker.unit_state.enabled in ("disabled", "masked"):
        steps, no_step_because = (), f"It is {leaker.unit_state.enabled} already."
    ends = "it cannot begin again" if leaker.stopped else "the leak ends"
    movers = leaker.unit_state.movers
    moved = f", which {listed(movers, 2)} {'start' if movers[1:] else 'starts'}," if movers else ""
    ends = f"If {leaker.name}{moved} is {'masked' if is_masked else 'disabled'}, {ends}."
    advice = ends if steps else no_step_because
    left = f"A reboot would clear what is left{_held_memory_words(snapshot)}; {_no_harm_words(harms)}."
    if recurs := _recurring_harm_words(harms):
        left = "No reboot is offered for it."
        summary = f"{recurs}; it is not proven that the leak does it. {summary}"
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if recurs else Status.DEGRADED,
        confidence=Confidence.CONFIRMED,
        summary=f"{summary}. {advice} {left}",
        evidence=evidence,
        suspects=(leaker.name,),
        remedy=steps,
    )


def _why_no_reboot(harms: Harms, freed: bool, against: tuple[Evidence, ...]) -> str:
    if freed:
        return "No reboot is offered: what it left is being freed now."
    if not harms.is_recent:
        return "No reboot is offered: that the harm goes on, and by them alone, was not seen."
    return no_reboot_words(against) if against else ""


def _finding_without_leaker(
    said: str, growth: int | None, blame: Blame, harms: Harms, evidence: tuple[Evidence, ...]
) -> Finding:
    if harms.seen:
        no_plan = "No reboot is offered: while the leaker is not found, the next boot would leak again."
        return Finding(
            cause=NAME,
            status=Status.CRITICAL,
            confidence=Confidence.CONFIRMED if harms.is_walk_seen else Confidence.LIKELY,
            summary=f"{said}, and harm: {harms.short}; but {blame.says}. {no_plan}",
            harm=harms.symptom_words,
            found=f"{said}{harms.mechanism_words}; but {blame.says}. {no_plan}",
            evidence=evidence,
            suspects=blame.looping,
        )
    growing = blame.confidence is Confidence.LIKELY and growth is not None
    state = f"{growth:,} more between the looks" if growing else "present, not proven"
    return Finding(
        cause=NAME,
        status=Status.DEGRADED,
        confidence=blame.confidence,
        summary=f"{said}: {state}; {blame.says}; {_no_harm_words(harms)}.",
        evidence=evidence,
        suspects=blame.looping,
    )


def _held_memory_words(snapshot: Snapshot) -> str:
    reclaim = snapshot.get(ReclaimReading)
    held = None if isinstance(reclaim, Unread) else reclaim.kernel_held_kib
    return "" if held is None else f" (the kernel holds {memory(held)} now)"


def _no_harm_words(harms: Harms) -> str:
    if harms.unproven:
        return f"it is not proven that they do this: {'; '.join(harm.short for harm in harms.unproven)}"
    names = ", ".join(unread.probe for unread in harms.unread)
    return f"no harm seen as far as read (unread: {names})" if names else "no harm seen on this kernel"


def _recurring_harm_words(harms: Harms) -> str:
    """Say the harm that comes back and is not proven to be theirs: it is as grave as if it were."""
    return sentence(*(harm.short for harm in harms.unproven if harm.recurs))


def _undecided_uncounted(snapshot: Snapshot, reason: str, tuning: Tuning) -> Undecided:
    """Cgroups were not counted, so nothing is decided, but other readings may point at them."""
    points = []
    held = snapshot.once(held_cores, tuning["core_held_percent"], tuning["core_held_seconds"], tuning["walker_share"])
    if held.walker is not None:
        points.append(held.says)
    if (starved := snapshot.once(starvation, tuning["recent_hours"])) is not None:
        points.append(starved.says)
    thousands = tuning["suspect_turns"]
    looping = snapshot.once(_loops.loops, thousands)
    if not isinstance(looping, Unread):
        points += [f"{loop.unit.name} was started {loop.turns:,} times" for loop in looping if loop.turns >= thousands]
    for churn in snapshot.once(_churn.churns, tuning["turn_seconds_high"]):
        hides = churn.agent is not None and churn.goes_on
        if hides or churn.turns_scaled >= thousands:
            points.append(_churn.churn_words(churn))
    because = f"the dying cgroups were not counted ({reason})"
    if points:
        because += ", and this points at them: " + "; ".join(points[:3])
    return Undecided(NAME, because, suspected=bool(points))


CAUSE = Cause(
    name=NAME,
    title="Leaked memory cgroups",
    probes=(
        "cgroups",
        "units",
        "containers",
        "agents",
        "host",
        "cpu",
        "processes",
        "kernel_log",
        "nic",
        "interrupts",
        "reclaim",
    ),
    settled_by="a profile of the cores, or a count after the suspect is stopped,",
    profile_settles=True,
    thresholds={
        "dying_many": Threshold(
            1000,
            "A fresh boot has about 17 dying memory cgroups (own recording, Debian 12). From 5.3 on Facebook's web "
            "hosts kept 23 to 69 (fb2f2b0adb98). Linux 7.2 kept 2 of 8,000 that were removed with a page each (own "
            "measurement). A thousand is our choice, far above all. Before 5.3 see grown_a_day.",
        ),
        "grown_a_day": Threshold(
            650,
            "Before Linux 5.3 slab caches keep them: Facebook's web hosts went from 56 to 1,560 in seven days, 215 a "
            "day, without an end (fb2f2b0adb98). Three times that mean is ours: a leak leaves thousands a day.",
        ),
        "leak_growth": Threshold(
            5,
            "Ours. Sessions, timers' jobs and pods that end change a healthy node's count too. If many are dying, a "
            "rise of five in 5 s shows that the leak goes on; it blames nobody.",
        ),
        "growth_told_apart": Threshold(
            50,
            "If a service was restarted between the looks, a rise by tens shows how many cgroups a start leaves "
            "(ours): 200 in the recorded leak. Pods and sessions change the count by fewer in 5 s.",
        ),
        "freed_seconds": Threshold(
            60,
            "If a count falls so fast that a minute later no more than usual would be left, they are being freed, for "
            "example because caches were dropped; leaked cgroups stay (ours). Not used if a unit loops or harm is "
            "seen.",
        ),
        "ratio_high": Threshold(
            3,
            "A start leaves the unit's own cgroup, and at most a container's and its shim's besides (own recordings).",
        ),
        "unit_share": Threshold(
            0.5,
            "Of all dying cgroups, below one unit by the kernel's own count (cgroup-v2.rst, nr_dying_descendants): "
            "with half of them there, no other unit has left more. A unit that systemd restarts leaves them directly "
            "under a slice, below no unit.",
        ),
        "turn_seconds_low": Threshold(
            5,
            "Seconds from restart to restart of an agent's loop. In the first known case 11 to 16 s (a run, then a "
            "back-off of up to 15 s); an agent that pulls nothing and fails at once could take only 5 s (ours).",
        ),
        "turn_seconds_high": Threshold(
            60,
            "A run that ends by its own time-out takes up to a minute (ours); a slower loop does not show in a "
            "container's age.",
        ),
        "loop_many": Threshold(
            20,
            "Ours. A service that crashed now and then over months has a few restarts behind it; a loop has them in "
            "minutes.",
        ),
        "agent_log_exits": Threshold(
            10,
            "Ours. An agent fails a few times while network and credentials come up at boot; ten failed runs are a "
            "loop.",
        ),
        "suspect_turns": Threshold(
            1000,
            "If the cgroups were not read, this many starts point at them; the same number as in dying_many (ours).",
        ),
        "core_held_percent": Threshold(
            90,
            "A core that also does other work spends less in the kernel; the core of the first known case spent all "
            "its time there. Nine tenths are ours.",
        ),
        "core_held_seconds": Threshold(
            2,
            "Ours. Healthy work fills a core with kernel time for one second; the card resets after five without its "
            "poll (ENA's TX_TIMEOUT, ena_netdev.c).",
        ),
        "walker_share": Threshold(
            0.5,
            "Of the held core's kernel time. A walk moves between cores, so a single process need not have all of it; "
            "but on a healthy node kubelet and the others use a few hundredths of a core in the kernel. Half is ours.",
        ),
        "memory_gone_percent": Threshold(
            10,
            "Ours. Cost is not harm: memory is gone when they hold more than a tenth of it, or less than a tenth is "
            "available and they hold more than that.",
        ),
        "kib_per_cgroup_2_cpus": Threshold(
            25, "Measured on 2 CPUs (own recording, Linux 6.1); each further CPU has its own counters in every cgroup."
        ),
        "kib_per_cgroup_96_cpus": Threshold(
            200,
            "Extrapolated from the 2 CPUs of our recording: 1.95 KiB more for each further CPU. Memory that the kernel "
            "holds beyond that is not due to them.",
        ),
        "walk_seconds_per_10000": Threshold(
            0.7,
            "One read of the root's memory.numa_stat with 10,000 cgroups before Linux 5.8, as measured for "
            "dd8657b6c1cb, which made it 0.001 s.",
        ),
        "walk_seconds_few": Threshold(
            1, "A read that takes less does not hold a core for seconds (ours); with 1,100 dying it takes 0.08 s."
        ),
        "harm_minutes": Threshold(
            60,
            "A reset of the card counts as present harm up to this age (ours). Older resets are mentioned, but justify "
            "no reboot unless they recur.",
        ),
        "recurs_few": Threshold(
            3,
            "Three resets show a regular interval; until the next is overdue by more than one interval, they count as "
            "going on (ours). In the first known case a card was reset every few hours, and each time jobs of 8 to 12 "
            "hours died.",
        ),
        "ids_live_many": Threshold(
            60000,
            "65,535 memory cgroups can have an id; before 4.8 dying ones keep theirs (73f576c04b94). A tenth below it "
            "is ours, and counts only if the kernel refused to make another.",
        ),
        "recent_hours": Threshold(
            24,
            "A reset or a trace of days ago on a node that is still up is not a present symptom; jobs run up to 12 "
            "hours (in the first known case). Twice that is ours.",
        ),
    },
    signature=("cgroups", "host"),
    beside=("profile", "softirq_waits", *dict.fromkeys((*BESIDE, *WHY_ENDS))),
    # A session, a timer's job or a pod that ends leaves some, too: ten within half an hour are ours (see grown_a_day).
    grows=GrowthMeasure("dying memory cgroups", _dying_count, _harm.harm_to_come, few=10),
    evaluate=evaluate,
    eased_by=("drop_caches",),
    remedy=("disable_unit", "mask_unit", "reboot"),
    lasting_fix=(
        "The owner of the image or launch template takes out or mends what leaks; until then every new node leaks. "
        "Linux 7.2 keeps no removed cgroup for its pages."
    ),
)
