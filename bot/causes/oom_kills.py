"""The kernel killed processes for lack of memory: of the whole machine, or of a cgroup at its limit.

Confirms: a kill for the whole machine within the last hour; repeated kills in the same cgroup.
Refutes: a log without such kills. A single kill at a cgroup's own limit is the workload's, and only mentioned.
Remedy: none planned: raise the limit, or fix the program that grows.
"""

from __future__ import annotations

import re
from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import count, sentence
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.formats.kernel_line import KernelEvent, KernelEventKind
from bot.probes.kernel_log import KernelLogReading

NAME = "oom-kills"
_MOMENT = timedelta(seconds=2)
_OF_A_CGROUP = re.compile(r"Memory cgroup out of memory")


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether processes are being killed for lack of memory."""
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    kills = log.of(KernelEventKind.OOM_KILL)
    whole = _recent.recent(
        snapshot, [kill for kill in kills if not _OF_A_CGROUP.search(kill.text)], tuning["machine_hours"]
    )
    limited = [kill for kill in kills if _OF_A_CGROUP.search(kill.text)]
    again = _again(_recent.surely_within(snapshot, limited, tuning["cgroup_minutes"]), tuning["cgroup_few"])
    evidence = []
    if whole:
        says = f"{count(len(whole), 'process was', 'processes were')} killed because the machine had no memory left"
        says += f", {_recent.ago(snapshot, whole[-1])}"
        evidence.append(Evidence("oom-machine", "kernel_log", says, _recent.lines(whole, 3)))
    for name, times, of_it in again:
        says = f"{name} was killed {times} times at its cgroup's limit, the last {_recent.ago(snapshot, of_it[-1])}"
        evidence.append(Evidence("oom-cgroup", "kernel_log", says, _recent.lines(of_it, 3)))
    if evidence:
        return Finding(
            cause=NAME,
            status=Status.DEGRADED,
            confidence=Confidence.CONFIRMED,
            summary=sentence(*(item.says for item in evidence[:3])),
            evidence=tuple(evidence),
            suspects=tuple(name for name, _, _ in again),
        )
    single = _recent.recent(snapshot, limited, tuning["machine_hours"])
    beside = f"; {count(len(single), 'kill')} at a cgroup's own limit, which concerns that workload" if single else ""
    return RuledOut(NAME, f"nothing was killed recently for lack of the machine's memory{beside}")


def _again(kills: tuple[KernelEvent, ...], few: float) -> list[tuple[str, int, list[KernelEvent]]]:
    """The processes killed that often, how often, and their lines.

    Kills at the same moment count once: with memory.oom.group (systemd's OOMPolicy=kill, Kubernetes from 1.28 on) all
    processes of the cgroup are killed together, and the kernel logs the first of them twice.
    """
    by_process: dict[str, list[KernelEvent]] = {}
    for kill in kills:
        by_process.setdefault(kill.process or "a process", []).append(kill)
    counted = [(name, _moments(of_it), of_it) for name, of_it in by_process.items()]
    return [each for each in counted if each[1] >= few]


def _moments(kills: list[KernelEvent]) -> int:
    times = sorted(kill.since_boot for kill in kills if kill.since_boot is not None)
    return sum(1 for before, at in zip([None, *times], times, strict=False) if before is None or at - before > _MOMENT)


CAUSE = Cause(
    name=NAME,
    title="Processes killed for lack of memory",
    probes=("kernel_log", "host"),
    thresholds=("machine_hours", "cgroup_few", "cgroup_minutes"),
    signature=("kernel_log", "host"),
    weigh=weigh,
    worst=Status.DEGRADED,
)
