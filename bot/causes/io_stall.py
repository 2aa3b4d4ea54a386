"""A disk or volume does not answer in time, and what needs it waits and cannot be killed.

Confirms: tasks blocked for more than 120 s in the kernel log; or tasks that wait uninterruptibly at both looks while
I/O wait or I/O pressure is high.
Supports: disk errors, NVMe time-outs.
Refutes: no task waits, no pressure, a log without either.
Remedy: none planned: the disk is the same after a reboot, which may itself hang on the tasks that wait.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import count, percent, sentence
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import KernelEvent, KernelEventKind
from bot.probes.kernel_log import KernelLogReading
from bot.probes.processes import ProcessesReading
from bot.probes.reclaim import ReclaimReading

NAME = "io-stall"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether tasks hang on a disk."""
    log, processes = snapshot.get(KernelLogReading), snapshot.get(ProcessesReading)
    hung: tuple[KernelEvent, ...] = ()
    errors, now = hung, hung
    if not isinstance(log, Unread):
        hung = _recent.recent(snapshot, log.of(KernelEventKind.HUNG_TASK), tuning["recent_hours"])
        errors = _recent.recent(snapshot, log.of(KernelEventKind.DISK_ERROR), tuning["recent_hours"])
        now = _recent.surely_within(snapshot, (*hung, *errors), tuning["now_minutes"])
    evidence = [
        Evidence(
            name,
            "kernel_log",
            f"{count(len(events), noun)}, the last {_recent.ago(snapshot, events[-1])}",
            _recent.lines(events, 3),
        )
        for name, noun, events in (("hung-task", "hung-task line", hung), ("disk-error", "disk error", errors))
        if events
    ]
    waiting = () if isinstance(processes, Unread) else processes.uninterruptible
    pressed = _pressure(snapshot, tuning)
    stalled = len(waiting) >= tuning["waiting_few"] and pressed is not None
    if waiting and (stalled or evidence):
        says = f"{count(len(waiting), 'task')} waited uninterruptibly at both looks: {', '.join(waiting[:5])}"
        evidence.append(Evidence("tasks-waiting", "processes", says, waiting[:8]))
    if pressed is not None and (stalled or evidence):
        evidence.append(pressed)
    if not evidence:
        return _none(snapshot, waiting, tuning)
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if now and (waiting or pressed is not None) else Status.DEGRADED,
        confidence=Confidence.CONFIRMED if hung or stalled or (errors and waiting) else Confidence.LIKELY,
        summary=sentence(*(seen.says for seen in evidence[:3])),
        evidence=tuple(evidence),
    )


def _pressure(snapshot: Snapshot, tuning: Tuning) -> Evidence | None:
    reclaim, cpu = snapshot.get(ReclaimReading), snapshot.get(CpuReading)
    if not isinstance(reclaim, Unread):
        line = reclaim.pressure.get("io full")
        if line is not None and line.avg10 >= tuning["io_full_avg10"]:
            says = f"for {percent(line.avg10)} of the last 10 s everything waited for I/O"
            return Evidence("io-pressure", "reclaim", says, (line.raw,) if line.raw else ())
    if not isinstance(cpu, Unread):
        core, wait = cpu.hottest("iowait_percent")
        if cpu.iowait_percent >= tuning["iowait_percent"]:
            rows = tuple(c.raw for second in cpu.seconds for c in second if c.core == core and c.raw)[:3]
            says = f"{percent(cpu.iowait_percent)} of all cores' time waits for I/O, {percent(wait)} of core {core}'s"
            return Evidence("io-wait", "cpu", says, rows)
    return None


def _none(snapshot: Snapshot, waiting: tuple[str, ...], tuning: Tuning) -> Weighing:
    for reading in (snapshot.get(KernelLogReading), snapshot.get(ProcessesReading)):
        if isinstance(reading, Unread):
            what = "kernel log was" if reading.probe == "kernel_log" else "processes were"
            return Undecided(NAME, f"the {what} not read ({reading.reason})")
    if len(waiting) >= tuning["waiting_few"]:
        # A frozen file system holds its writers so, and the kernel tells of it after two minutes; so does a busy lock.
        says = f"{count(len(waiting), 'task')} waited uninterruptibly at both looks, but not for I/O as far as is told"
        return RuledOut(NAME, f"{says}: no I/O pressure, no hung task and no disk error in the log")
    return RuledOut(NAME, "no hung task and no disk error in the log, and no crowd of tasks waits for I/O")


CAUSE = Cause(
    name=NAME,
    title="I/O stall",
    probes=("kernel_log", "processes", "reclaim", "cpu", "host"),
    thresholds=("recent_hours", "now_minutes", "waiting_few", "io_full_avg10", "iowait_percent"),
    weigh=weigh,
)
