"""Thousands of memory cgroups are alive: directories that nobody removed, and that are read again and again.

Confirms: thousands of directories (v1) or descendants (v2), and a call trace in the walk over them, or a cgroup that
could not be made.
Supports: a statistics walker (kubelet, systemd-oomd) uses much kernel time, especially on a core that it holds.
Refutes: few directories. Dying cgroups are a different fault: leaked-memory-cgroups.
Remedy: remove the empty directories and fix the program that leaves them; a reboot clears them but cures nothing, so
it is planned only if harm is confirmed.
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
        # If the walk was stopped, another controller's count is used; without that the number is not known.
        if cgroups.alive_is_at_least and max(cgroups.siblings.values(), default=0) < cgroups.alive:
            return Undecided(NAME, f"the live memory cgroups were counted only up to {alive:,}")
        about = "about " if cgroups.alive_is_at_least else ""
        return RuledOut(NAME, f"{about}{count(alive, 'live memory cgroup')}{beside}; {many:,.0f} would be many")
    if isinstance(containers := snapshot.get(ContainersReading), Unread) or containers.count_is_at_least:
        because = containers.reason if isinstance(containers, Unread) else "there are more than were listed"
        if not _stopped(snapshot, tuning):
            why = f"{alive:,} memory cgroups are alive; how many containers they serve is not known ({because})"
            # If no container could be listed, or a core is held, the node must not be called healthy.
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
        harm.append("the kernel refused to make another cgroup")
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
    """Return how many live cgroups are many for the containers that run here."""
    containers = snapshot.get(ContainersReading)
    if isinstance(containers, Unread):
        return tuning["live_many"], ""
    running = sum(1 for container in containers.containers if container.running)
    return max(tuning["live_many"], running * tuning["live_per_container"]), f" beside {count(running, 'container')}"


def _stopped(snapshot: Snapshot, tuning: Tuning) -> bool:
    """True if the kernel refused to make another, or was seen in the walk: then there are too many in any case."""
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
    cured_alone_by=("reboot",),  # the kernel itself is full, and no leak would come back after a boot
)
