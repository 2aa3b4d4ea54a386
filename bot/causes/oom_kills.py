"""The kernel killed processes for lack of memory: of the whole machine, or of a cgroup at its limit.

Confirms: a kill for the whole machine within the last hour; repeated kills in the same cgroup, or of the same program
where the log does not name the cgroup. All containers of a pod are one cgroup: each start of a container has a new one.
A kill whose end the log has lost is likely of the whole machine.
Refutes: a log without such kills. A single kill at a cgroup's own limit is the workload's, and only mentioned; so are
jobs that are killed once each.
Remedy: none planned: raise the limit, or fix the program that grows.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from bot.causes import _recent
from bot.causes._finding import make_finding
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted, listed
from bot.domain.verdict import Confidence, Evidence, Status, Undecided
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.kernel_log import KernelLogReading

NAME = "oom-kills"
_MOMENT = timedelta(seconds=2)
# Of a kill whose first line is lost it is not known, and no more is said.
_OF_A_CGROUP = re.compile(r"Memory cgroup out of memory|(?<!of memory: )Killed process")
_POD = re.compile(r".*?/(?:kubepods-(?:burstable-|besteffort-)?)?pod[^/]+")
_BOUND = "CONSTRAINT_"  # by a memory policy or a cpuset: the memory of other nodes may not be used (mm/oom_kill.c)


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether processes are being killed for lack of memory."""
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    kills = _kills(log)
    whole = _recent.recent(
        snapshot, [kill for kill in kills if not _OF_A_CGROUP.search(kill.text)], tuning["machine_hours"]
    )
    limited = [kill for kill in kills if _OF_A_CGROUP.search(kill.text)]
    again = _killed_often(
        _recent.events_surely_within(snapshot, limited, tuning["cgroup_minutes"]), tuning["cgroup_few"]
    )
    begun = _recent.recent(snapshot, log.of("oom-begun"), tuning["machine_hours"])
    evidence = []
    if begun:
        says = "the kernel looked for a process to kill for want of memory, and its log does not tell which it killed"
        evidence.append(
            Evidence("oom-begun", "kernel_log", f"{says}, {_recent.ago(snapshot, begun[-1])}", _recent.lines(begun, 3))
        )
    if whole:
        bound = all(kill.device.startswith(_BOUND) for kill in whole)
        where = "the memory nodes that it may use had none" if bound else "the machine had no memory"
        says = f"{counted(len(whole), 'process was', 'processes were')} killed because {where} left"
        says += f", {_recent.ago(snapshot, whole[-1])}"
        limits = [limit for limit in log.of("oom-limit") if limit.device.startswith(_BOUND)] if bound else []
        evidence.append(
            Evidence("oom-machine", "kernel_log", says, (*_recent.lines(limits, 1), *_recent.lines(whole, 3)))
        )
    for names, times, of_it in again:
        who = f"process {names[0]} was" if len(names) == 1 else f"{listed(names, 3)} were"
        limit = "at its cgroup's limit" if len(names) == 1 else f"at the limit of {of_it[-1].device}"
        known = any("Memory cgroup" in kill.text for kill in of_it)
        where = limit if known else "for want of memory"
        says = f"{who} killed {times} times {where}, the last {_recent.ago(snapshot, of_it[-1])}"
        evidence.append(Evidence("oom-cgroup", "kernel_log", says, _recent.lines(of_it, 3)))
    if evidence:
        suspects = tuple(dict.fromkeys(name for names, _, _ in again for name in names))
        sure = Confidence.CONFIRMED if whole or again else Confidence.LIKELY
        return make_finding(NAME, Status.DEGRADED, sure, evidence, suspects=suspects)
    single = _recent.recent(snapshot, limited, tuning["machine_hours"])
    beside = f"; {counted(len(single), 'kill')} at a cgroup's own limit, which concerns that workload" if single else ""
    none = f"nothing was killed recently for lack of the machine's memory{beside}"
    return _recent.none_told(snapshot, NAME, none, ("oom-kill",), tuning["machine_hours"], errors=True)


def _kills(log: KernelLogReading) -> tuple[KernelEvent, ...]:
    """The kills, each with the cgroup or constraint that the kernel names just before it, if it does."""
    limits, kills = [], []
    for event in log.of("oom-kill", "oom-limit"):
        if event.kind == "oom-limit":
            limits.append(event)
        elif limits and (event.since_boot or timedelta(0)) - (limits[-1].since_boot or timedelta(0)) <= _MOMENT:
            kills.append(replace(event, device=limits[-1].device))
        else:
            kills.append(event)
    return tuple(kills)


def _killed_often(kills: tuple[KernelEvent, ...], few: float) -> list[tuple[list[str], int, list[KernelEvent]]]:
    """The processes of a cgroup killed that often, how often, and their lines.

    Kills at the same moment count once: with memory.oom.group (systemd's OOMPolicy=kill, Kubernetes from 1.28 on) all
    processes of the cgroup are killed together, and the kernel logs the first of them twice.
    """
    together: dict[str, list[KernelEvent]] = {}
    for kill in kills:
        pod = _POD.match(kill.device)
        together.setdefault(pod.group() if pod else kill.device or f"comm {kill.process}", []).append(kill)
    counted = [
        (list(dict.fromkeys(kill.process or "a process" for kill in of_it)), _moments(of_it), of_it)
        for of_it in together.values()
    ]
    return [each for each in counted if each[1] >= few]


def _moments(kills: list[KernelEvent]) -> int:
    moments: list[timedelta] = []
    for at in sorted(kill.since_boot for kill in kills if kill.since_boot is not None):
        if not moments or at - moments[-1] > _MOMENT:
            moments.append(at)
    return len(moments)


CAUSE = Cause(
    name=NAME,
    title="Processes killed for lack of memory",
    probes=("kernel_log", "host"),
    thresholds={
        "machine_hours": Threshold(
            1, "A kill for the whole machine frees the memory; within the hour its work is still down (ours)."
        ),
        "cgroup_few": Threshold(
            3,
            "A batch job that is sized to its limit is killed once, and restarted; three times in the span is a loop "
            "(ours).",
        ),
        "cgroup_minutes": Threshold(
            10,
            "A kubelet that restarts a killed container waits up to 5 minutes between tries (its MaxContainerBackOff), "
            "so three kills within ten minutes are the first tries of a loop.",
        ),
    },
    signature=("kernel_log", "host"),
    evaluate=evaluate,
    worst=Status.DEGRADED,
    settled_by="what was killed, by the log of the machine's console or of its cgroups (`memory.events`),",
    lasting_fix=(
        "Raise the limit that was reached, or mend what grows; keep memory back for the system (system-reserved)."
    ),
)
