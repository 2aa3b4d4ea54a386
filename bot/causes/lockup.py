"""A core was stuck in the kernel for tens of seconds, and the kernel's watchdog reported it.

Confirms: soft or hard lockups, or RCU stalls, in the kernel log of the last hours. Lines of the same stall are one
episode; many cores at the same instant, all cores of a small machine, or an idle core of a virtual machine mean that
the machine was paused.
Supports: resets of the network card after them; a core that was stuck is held in the kernel now.
Refutes: a kernel log without them.
Remedy: a reboot may be planned while it goes on: a core that was stuck is held now, or stalls came back within the last
minutes and the next is not overdue. It clears the state and does not cure the cause. Never if the trace is in the walk
over memory cgroups: then the cgroups are the cause, and their leaker must be stopped first. Nor if the trace was not
read. Never if the hypervisor takes the CPUs away, packets fill the core that was stuck, or it prints to a serial
console: a reboot keeps the host and stops no sender. Never against _reboot_risks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import percent, sentence
from bot.causes._reboot_risks import BESIDE, no_reboot_words, risks_of_reboot_only
from bot.causes._starvation import starvation
from bot.domain.action import Step
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, Finding, Status, Undecided
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import LOCKUPS, KernelEvent
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading

NAME = "lockup"
_INSTANT = timedelta(seconds=2)
_A_TRACE = timedelta(seconds=1)
_LATE = timedelta(minutes=1)  # CONFIG_RCU_CPU_STALL_TIMEOUT is 21 s, and 60 s in Debian's and Red Hat's kernels


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether the kernel reported stuck cores."""
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    everything = log.of(*LOCKUPS)
    events = _recent.recent(snapshot, everything, tuning["recent_hours"])
    if not events:
        old = f"; the last was {_recent.ago(snapshot, everything[-1])}" if everything else ""
        none = f"the kernel log has no lockup within {tuning['recent_hours']:.0f} hours{old}"
        return _recent.none_told(snapshot, NAME, none, LOCKUPS, tuning["recent_hours"], errors=True)
    host = snapshot.get(HostReading)
    is_guest = not isinstance(host, Unread) and host.is_virtual_machine
    episodes = _episodes(snapshot, events, _core_count(snapshot), is_guest, tuning)
    stalls = [episode for episode in episodes if not episode.paused]
    lately = [stall for stall in stalls if stall.ended_ago <= timedelta(minutes=tuning["now_minutes"])]
    last = events[-1]
    where = "" if last.core is None else f" on core {last.core}"
    who = f" in {last.process}" if last.process else ""
    says = f"{counted(len(events), 'lockup line')}, the last{where}{who} {_recent.ago(snapshot, last)}"
    if len(episodes) < len(events) and episodes:
        says += f", in {counted(len(episodes), 'episode')}"
    if paused := next((episode for episode in reversed(episodes) if episode.paused), None):
        at_once = "only an idle core" if paused.idle else f"{counted(paused.paused, 'core')} at the same instant"
        says += f"; {at_once}: the machine itself was paused"
    evidence = [Evidence("lockup", "kernel_log", says, _recent.lines(events))]
    walks = _recent.recent(snapshot, log.of("stack-memcg-walk"), tuning["recent_hours"])
    if walks:
        says += "; the trace is in the walk over memory cgroups"
        evidence.append(Evidence("memcg-walk-stack", "kernel_log", "the trace names the walk", _recent.lines(walks)))
    starved = snapshot.once(starvation, tuning["recent_hours"])
    if starved is not None:
        says += "; the network card lacked CPU time too"
        evidence.append(Evidence("nic-starved", "kernel_log", starved.says, starved.source))
    cpu, is_held, stolen, flooded = snapshot.get(CpuReading), False, False, False
    if not isinstance(cpu, Unread):
        seconds = tuning["core_held_seconds"]
        stuck = {core for stall in lately for core in stall.cores}
        held_now = cpu.held("sys_percent", tuning["core_held_percent"], seconds)
        for core in sorted(held_now, key=lambda held: held.core not in stuck)[:1]:
            is_held, held = core.core in stuck, f"core {core.core} is held in the kernel now"
            evidence.append(Evidence("core-held", "cpu", held, tuple(row for row in core.raw if row)[:3]))
        # A core without a moment but for packets is stuck by this watchdog too, and whoever sends them goes on.
        full = [core for core in cpu.held("soft_percent", tuning["core_held_percent"], seconds) if core.core in stuck]
        for core in full[:1]:
            flooded, packets = True, f"core {core.core} does nothing but soft interrupts now"
            evidence.append(Evidence("core-flooded", "cpu", packets, tuple(row for row in core.raw if row)[:3]))
            says += f"; {packets}, and a reboot stops nobody who sends"
        stolen = cpu.steal_percent >= tuning["stolen_percent"] or bool(
            cpu.held("steal_percent", tuning["core_stolen_percent"], seconds)
        )
        if stolen:
            took = f"the hypervisor takes {percent(cpu.steal_percent)} of all cores' time: they may be stuck outside"
            worst, _ = cpu.hottest("steal_percent")
            evidence.append(Evidence("cpu-stolen", "cpu", took, cpu.rows("packet_percent", (worst,), 2)))
            says += f"; {took}"
    against = risks_of_reboot_only(snapshot)
    printing = _recent.events_surely_within(snapshot, log.of("stack-console"), tuning["now_minutes"])
    if printing:
        says += "; its core prints to a serial console, and what is printed comes again after a reboot"
        evidence.append(Evidence("console-stack", "kernel_log", "the trace is in the console", _recent.lines(printing)))
    # Silence of a trace that was not read does not say that it is in neither; and of a pause, other cores tell.
    told_by = (*LOCKUPS, "stack-memcg-walk", "stack-console")
    is_in_log = all(event.since_boot is None or event.since_boot >= log.begins for event in events)
    is_whole = is_in_log and not _recent.lost_within(snapshot, told_by, tuning["recent_hours"])
    # A single stall is over by the time it is logged; only a repeated stall, or its core still held, is worth a reboot.
    goes_on = (bool(lately) and is_held) or _recurs(lately, tuning)
    if goes_on and not is_whole:
        says += "; not all lines and traces of it were read, and they decide on a reboot"
    may_reboot = goes_on and is_whole and not (walks or printing or stolen or flooded or isinstance(cpu, Unread))
    if against and may_reboot:
        says = f"{sentence(says)}. {no_reboot_words(against)}"
        evidence += against
    just_now = any(stall.ended_ago <= timedelta(minutes=1) for stall in stalls)
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if goes_on or just_now else Status.DEGRADED,
        confidence=Confidence.CONFIRMED,
        summary=sentence(says),
        evidence=tuple(evidence),
        remedy=(Step("reboot"),) if may_reboot and not against else (),
    )


def _core_count(snapshot: Snapshot) -> int:
    """How many cores the machine has; 0 where that was not read."""
    cpu = snapshot.get(CpuReading)
    return 0 if isinstance(cpu, Unread) else cpu.cores


@dataclass(frozen=True, slots=True)
class _Episode:
    """The lines of a stall; `paused` is how many cores reported at the same instant, 0 if few.

    Shape: `idle`: it is known by the idle cores that reported.
    """

    ended_ago: timedelta
    paused: int
    cores: frozenset[int] = frozenset()
    idle: bool = False


def _recurs(lately: Sequence[_Episode], tuning: Tuning) -> bool:
    """True if stalls of the last minutes have a rhythm, and the next is overdue by one turn of it at most."""
    if len(lately) < max(2, tuning["repeats_few"]):
        return False
    between = (lately[0].ended_ago - lately[-1].ended_ago) / (len(lately) - 1)
    return lately[-1].ended_ago <= 2 * between


def _episodes(
    snapshot: Snapshot, events: tuple[KernelEvent, ...], cores: int, is_guest: bool, tuning: Tuning
) -> list[_Episode]:
    """Return the stalls whose time is known, oldest first."""
    timed = [(age, event) for event in events if (age := _recent.age(snapshot, event)) is not None]
    timed.sort(key=lambda pair: pair[0], reverse=True)
    groups: list[list[tuple[timedelta, KernelEvent]]] = []
    for age, event in timed:
        if groups and groups[-1][-1][0] - age <= timedelta(seconds=tuning["episode_gap_seconds"]):
            groups[-1].append((age, event))
        else:
            groups.append([(age, event)])
    many = min(tuning["paused_cores"], max(2, cores)) if cores else tuning["paused_cores"]
    return [
        _Episode(
            group[-1][0],
            _cores_after_pause(group, 1 if (idle := is_guest and _is_idle(group)) else many),
            frozenset(event.core for _, event in group if event.core is not None),
            idle,
        )
        for group in groups
    ]


def _is_idle(group: list[tuple[timedelta, KernelEvent]]) -> bool:
    """True if every core that was stuck was idle: it sleeps in the hypervisor, and did not come back from there."""
    stuck = [event.process for _, event in group if event.kind == "soft-lockup"]
    return bool(stuck) and all(name.startswith("swapper/") for name in stuck)


def _cores_after_pause(group: list[tuple[timedelta, KernelEvent]], many: float) -> int:
    """Return how many cores told of it in its first instant, where nothing was stuck after that.

    RCU finds late that it was kept waiting: its line may follow a pause.
    """
    began = group[0][0]
    instant, told = began, {group[0][1].core}
    for age, event in group[1:]:
        # A serial console takes a part of a second for each core's trace, and the next core waits for it.
        if instant - age > _A_TRACE or event.core in told:
            break
        instant, told = age, {*told, event.core}
    whole = max(_INSTANT, began - instant)
    at_once = {event.core for age, event in group if began - age <= whole and event.core is not None}
    late = [(began - age, event.kind) for age, event in group if began - age > whole]
    after = [since for since, kind in late if kind != "rcu-stall" or since > _LATE]
    return len(at_once) if len(at_once) >= many and not after else 0


CAUSE = Cause(
    name=NAME,
    title="Lockup",
    probes=("kernel_log", "host", "cpu", "nic"),
    thresholds={
        "recent_hours": Threshold(
            24,
            "A lockup of days ago on a node that is still up is not a present symptom; jobs run up to 12 hours. A day "
            "is ours.",
        ),
        "now_minutes": Threshold(10, "The kernel reports stuck work again well within ten minutes (ours)."),
        "repeats_few": Threshold(
            2,
            "Episodes. A single stall is over by the time it is logged; only stalls that came back within the minutes "
            "above go on (ours), and only until the next is overdue by more than one interval.",
        ),
        "episode_gap_seconds": Threshold(
            180,
            "A soft lockup is logged again about every 22 s while it lasts (kernel/watchdog.c: twice watchdog_thresh "
            "and a bit), an RCU stall after 21 s and then every 63 s or more; a longer silence ends the stall.",
        ),
        "paused_cores": Threshold(
            4,
            "If this many cores (or all, if there are fewer) report within two seconds, they were not stuck "
            "separately: the hypervisor paused the machine, and the watchdogs fire when it resumes (ours).",
        ),
        "core_held_percent": Threshold(90, "As in leaked-memory-cgroups."),
        "core_held_seconds": Threshold(2, "As in leaked-memory-cgroups."),
        "stolen_percent": Threshold(
            5, "As in cpu-steal. A CPU that the hypervisor took away is stuck too, by this kernel's watchdog."
        ),
        "core_stolen_percent": Threshold(20, "As in cpu-steal."),
    },
    signature=("kernel_log", "host"),
    evaluate=evaluate,
    beside=("processes", *BESIDE),
    cured_alone_by=("reboot",),  # the kernel itself is stuck, and no leak would come back after a boot
    remedy=("reboot",),
    lasting_fix="Update the kernel, or what the trace names; the same work would lock up the next boot.",
)
