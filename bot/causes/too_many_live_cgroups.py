"""Thousands of memory cgroups are alive: directories that nobody removed, each read again and again.

Confirms: thousands of directories (v1) or descendants (v2), and a call trace in the walk over them, or a cgroup that
could not be made.
Supports: a statistics walker (kubelet, systemd-oomd) burns kernel time, most of all on a core that it holds.
Refutes: few directories. Dying cgroups are another fault: leaked-memory-cgroups.
Remedy: remove the empty directories and mend what leaves them; a reboot clears them and cures nothing, so it is
planned only where harm is confirmed.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import count, sentence
from bot.causes._held_cores import held_cores
from bot.domain.action import Step
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cgroups import CgroupsReading
from bot.probes.containers import ContainersReading
from bot.probes.formats.kernel_line import KernelEvent, KernelEventKind
from bot.probes.kernel_log import KernelLogReading

NAME = "too-many-live-cgroups"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether too many memory cgroups are alive, and what harm that does."""
    cgroups = snapshot.get(CgroupsReading)
    if isinstance(cgroups, Unread):
        return Undecided(NAME, f"the cgroups were not read ({cgroups.reason})")
    alive = cgroups.alive if cgroups.alive_later is None else cgroups.alive_later
    at_least = "at least " if cgroups.alive_is_at_least else ""
    many, beside = _many(snapshot, tuning)
    if alive < many:
        # Where the walk was stopped, another controller's count stands in for it; without one the end is not known.
        if cgroups.alive_is_at_least and max(cgroups.siblings.values(), default=0) < cgroups.alive:
            return Undecided(NAME, f"the live memory cgroups were counted only up to {alive:,}")
        about = "about " if cgroups.alive_is_at_least else ""
        return RuledOut(NAME, f"{about}{count(alive, 'live memory cgroup')}{beside}; {many:,.0f} would be many")
    if isinstance(containers := snapshot.get(ContainersReading), Unread) or containers.count_is_at_least:
        because = containers.reason if isinstance(containers, Unread) else "there are more than were listed"
        if not _stopped(snapshot, tuning):
            why = f"{alive:,} memory cgroups are alive; how many containers they serve is not known ({because})"
            # Whoever cannot list a single container may not take the node for healthy, nor where a core is held.
            held = snapshot.once(
                held_cores, tuning["core_held_percent"], tuning["core_held_seconds"], tuning["walker_share"]
            )
            return Undecided(NAME, why, suspected=isinstance(containers, Unread) or held.walker is not None)
    said = f"{at_least}{alive:,} memory cgroups are alive"
    evidence = [Evidence("live-cgroups", "cgroups", said, cgroups.source_later or cgroups.source)]
    stacks = _events(snapshot, tuning, KernelEventKind.STACK_MEMCG_WALK)
    refused = [e for e in _events(snapshot, tuning, KernelEventKind.CGROUP_EXHAUSTED) if "fork rejected" not in e.text]
    held = snapshot.once(held_cores, tuning["core_held_percent"], tuning["core_held_seconds"], tuning["walker_share"])
    harm = []
    if stacks:
        harm.append("a call trace is in the walk over them")
        evidence.append(Evidence("memcg-walk-stack", "kernel_log", harm[-1], _recent.lines(stacks)))
    if refused:
        harm.append("the kernel refused to make another")
        evidence.append(Evidence("cgroup-ids-spent", "kernel_log", harm[-1], _recent.lines(refused)))
    if held.walker is not None:
        harm.append(held.says)
        evidence.append(Evidence("core-held-by-walker", "cpu", held.says, held.source))
    if not harm:
        summary = sentence(said, "no harm seen")
        return Finding(NAME, Status.DEGRADED, Confidence.POSSIBLE, summary, tuple(evidence))
    sure = bool(stacks or refused)
    return Finding(
        cause=NAME,
        status=Status.CRITICAL,
        confidence=Confidence.CONFIRMED if sure else Confidence.LIKELY,
        summary=sentence(said, *harm),
        evidence=tuple(evidence),
        remedy=(Step("reboot"),) if sure else (),
    )


def _many(snapshot: Snapshot, tuning: Tuning) -> tuple[float, str]:
    """Return how many live cgroups are many beside the containers that run here."""
    containers = snapshot.get(ContainersReading)
    if isinstance(containers, Unread):
        return tuning["live_many"], ""
    running = sum(1 for container in containers.containers if container.running)
    return max(tuning["live_many"], running * tuning["live_per_container"]), f" beside {count(running, 'container')}"


def _stopped(snapshot: Snapshot, tuning: Tuning) -> bool:
    """True where the kernel itself refused another, or was caught in the walk: then it is many, whatever runs."""
    kinds = (KernelEventKind.STACK_MEMCG_WALK, KernelEventKind.CGROUP_EXHAUSTED)
    return any("fork rejected" not in event.text for kind in kinds for event in _events(snapshot, tuning, kind))


def _events(snapshot: Snapshot, tuning: Tuning, kind: KernelEventKind) -> tuple[KernelEvent, ...]:
    log = snapshot.get(KernelLogReading)
    return () if isinstance(log, Unread) else _recent.recent(snapshot, log.of(kind), tuning["recent_hours"])


CAUSE = Cause(
    name=NAME,
    title="Too many live cgroups",
    probes=("cgroups", "containers", "cpu", "processes", "kernel_log", "host"),
    thresholds=(
        "live_many",
        "live_per_container",
        "core_held_percent",
        "core_held_seconds",
        "walker_share",
        "recent_hours",
    ),
    weigh=weigh,
    cured_alone_by=("reboot",),  # the kernel itself is stuck or full, and nothing leaks that a boot would bring back
)
