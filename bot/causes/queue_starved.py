"""A program holds the core that serves a queue of the network card, and the driver's poll gets no time there.

Confirms: the driver tells that its poll was scheduled and did not run, lately or again and again; and the core that
serves this queue is held now: in the kernel by anybody, or by a realtime program.
Refutes: no such line; no core held that serves the queue.
Remedy: none planned: the program is named, whatever it does there. A walk over dying cgroups is the leak's to tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import percent, sentence, span
from bot.causes._held_cores import STATISTICS_WALKERS, held_in_kernel_by, held_in_realtime
from bot.causes._packet_waits import packet_wait_evidence
from bot.causes._starvation import SAYS_STARVED, recurs, starvation
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cgroups import CgroupsReading
from bot.probes.cpu import CpuReading, HeldCore
from bot.probes.interrupts import InterruptsReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.processes import ProcessesReading, ProcessUse

NAME = "queue-starved"


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether the core of a starved queue is held, and by whom."""
    log, starved = snapshot.get(KernelLogReading), snapshot.once(starvation, tuning["recent_hours"])
    if isinstance(log, Unread):  # only its lines say which queue
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    if starved is None:
        none = "no driver tells that its poll did not run"
        return _recent.none_told(snapshot, NAME, none, SAYS_STARVED, tuning["recent_hours"])
    comes_back = recurs(snapshot, starved.events, tuning["recurs_few"])
    if not (
        comes_back or starved.rose or _recent.events_surely_within(snapshot, starved.events, tuning["harm_minutes"])
    ):
        if any(_recent.age(snapshot, event) is None for event in starved.events):
            because = f"{starved.says}; whether that was lately is not known"
            return Undecided(NAME, because, suspected=True, would_decide="the node's uptime", worst=Status.DEGRADED)
        return RuledOut(NAME, f"{starved.says}: too long ago")
    worst = Status.CRITICAL if comes_back else Status.DEGRADED
    cpu, interrupts = snapshot.get(CpuReading), snapshot.get(InterruptsReading)
    if isinstance(cpu, Unread):
        return Undecided(NAME, f"{starved.says}; the cores were not read ({cpu.reason})", worst=worst)
    held = list(_held(snapshot, cpu, tuning))
    places = [(starved.interrupt_on(snapshot, core.core), core, how, by) for core, how, by in held]
    line, core, how, by = next((each for each in places if each[0]), (None, None, "", ()))
    if line is None or core is None:
        if held and not starved.place_is_known(snapshot):
            unread = f" ({interrupts.reason})" if isinstance(interrupts, Unread) else ""
            return Undecided(NAME, f"{starved.says}; which core serves this queue is not known{unread}", worst=worst)
        return RuledOut(NAME, f"no core that serves this queue is held now; {starved.says}")
    who = " or ".join(_named(snapshot, holder) for holder in by)
    held_by = f"{how} by {who}" if who else f"{how}, by whom was not seen"
    share = f"{percent(core.mean_percent)} of {core.seconds} s"
    says = f"core {core.core}, which serves a starved queue ({line.name}), is held {held_by}: {share}"
    cgroups = snapshot.get(CgroupsReading)
    if all(holder.name in STATISTICS_WALKERS for holder in by):  # or nobody was seen there
        if isinstance(cgroups, Unread) and by:
            says = f"{says}; whether it walks dying memory cgroups is open, they were not counted ({cgroups.reason})"
            return Undecided(NAME, says, worst=worst)
        if not isinstance(cgroups, Unread) and cgroups.dying >= tuning["dying_many"]:  # told once, and muted once
            return RuledOut(NAME, f"{says}; {cgroups.dying:,} memory cgroups are dying: see leaked-memory-cgroups")
    rows = (*core.raw[:2], line.raw, *(holder.raw for holder in by))
    return Finding(
        cause=NAME,
        status=worst,
        confidence=Confidence.CONFIRMED if who and starved.rose else Confidence.LIKELY,
        summary=sentence(says, starved.says),
        evidence=(
            Evidence("core-held", "cpu", says, tuple(row for row in rows if row)[:5]),
            Evidence("nic-starved", "kernel_log" if starved.events else "nic", starved.says, starved.source),
            *packet_wait_evidence(snapshot, (core.core,)),
        ),
        suspects=tuple(dict.fromkeys(holder.name for holder in by)),
    )


def _held(
    snapshot: Snapshot, cpu: CpuReading, tuning: Tuning
) -> Iterator[tuple[HeldCore, str, tuple[ProcessUse, ...]]]:
    """Yield each held core, how it is held, and by whom."""
    most, seconds, share = tuning["core_held_percent"], tuning["core_held_seconds"], tuning["holder_share"]
    for core in cpu.held("sys_percent", most, seconds):
        yield core, "in the kernel", held_in_kernel_by(snapshot, core, share)
    for core, by in held_in_realtime(snapshot, most, seconds, share):
        yield core, "in realtime", by


def _named(snapshot: Snapshot, holder: ProcessUse) -> str:
    """The process, and for how long it has run, where it is the only one of its name."""
    processes = snapshot.get(ProcessesReading)
    kinds = () if isinstance(processes, Unread) else processes.kinds or ()
    runs = next(
        (f", running for {span(timedelta(seconds=k.age))}" for k in kinds if (k.name, k.count) == (holder.name, 1)), ""
    )
    return f"{holder.name} (pid {holder.pid}{runs})"


CAUSE = Cause(
    name=NAME,
    title="Network queue starved on a held core",
    probes=("kernel_log", "nic", "cpu", "processes", "interrupts", "host", "cgroups"),
    beside=("softirq_waits",),
    settled_by="the driver's counter of starved polls, if it rises while the core is held (`ethtool -S`)",
    thresholds={
        "recent_hours": Threshold(24, "As in leaked-memory-cgroups."),
        "harm_minutes": Threshold(60, "As in leaked-memory-cgroups."),
        "recurs_few": Threshold(3, "As in leaked-memory-cgroups."),
        "dying_many": Threshold(1000, "As in leaked-memory-cgroups."),
        "core_held_percent": Threshold(90, "As in leaked-memory-cgroups."),
        "core_held_seconds": Threshold(2, "As in leaked-memory-cgroups."),
        "holder_share": Threshold(
            0.5, "As walker_share in leaked-memory-cgroups (ours); two that had half of its time each are both named."
        ),
    },
    evaluate=evaluate,
    lasting_fix="Keep that program off the cores that serve the card, or mend what it does there; a profile shows it.",
)
