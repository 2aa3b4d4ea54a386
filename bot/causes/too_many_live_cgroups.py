"""Thousands of memory cgroups are alive: directories that nobody removed, and that are read again and again.

Confirms: thousands of directories (v1) or descendants (v2), and within the last hour a call trace in the walk over so
many that it takes seconds, or a cgroup that could not be made with nearly all ids in use.
Supports: a statistics walker (kubelet, systemd-oomd) uses much kernel time, especially on a core that it holds.
Refutes: few directories. Dying cgroups are a different fault: leaked-memory-cgroups.
Remedy: remove the empty directories and fix the program that leaves them; a reboot clears them but cures nothing, so
it is planned only if harm is confirmed, and if they are known not to belong to containers or jobs that run.
"""

from __future__ import annotations

from bot.causes import _recent
from bot.causes._figures import sentence
from bot.causes._held_cores import held_cores
from bot.causes._reboot_risks import BESIDE, no_reboot_words, risks_of_reboot_only
from bot.domain.action import Step
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import makes_cgroups
from bot.domain.safe_text import counted, listed
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cgroups import CgroupsReading
from bot.probes.containers import ContainersReading
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.units import UnitsReading

NAME = "too-many-live-cgroups"


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether too many memory cgroups are alive, and what harm that does."""
    cgroups = snapshot.get(CgroupsReading)
    if isinstance(cgroups, Unread):
        return Undecided(NAME, f"the cgroups were not read ({cgroups.reason})")
    alive = cgroups.alive if cgroups.alive_later is None else cgroups.alive_later
    at_least = "at least " if cgroups.alive_is_at_least else ""
    many, beside = _many_and_why(snapshot, tuning)
    if alive < many:
        # If the walk was stopped, another controller's count is used; without that the number is not known.
        if cgroups.alive_is_at_least and max(cgroups.siblings.values(), default=0) < cgroups.alive:
            return Undecided(NAME, f"the live memory cgroups were counted only up to {alive:,}")
        about = "about " if cgroups.alive_is_at_least else ""
        return RuledOut(NAME, f"{about}{counted(alive, 'live memory cgroup')}{beside}; {many:,.0f} would be many")
    containers = snapshot.get(ContainersReading)
    whose_is_known = not isinstance(containers, Unread) and not containers.count_is_at_least
    others = _other_owners(snapshot)
    if isinstance(containers, Unread) or containers.count_is_at_least:
        because = containers.reason if isinstance(containers, Unread) else "there are more than were listed"
        if not (_walks_of_now(snapshot, alive, tuning) or _refused_now(snapshot, alive, tuning)):
            why = f"{alive:,} memory cgroups are alive; how many containers they serve is not known ({because})"
            # If no container could be listed, or a core is held, the node must not be called healthy.
            held = snapshot.once(
                held_cores, tuning["core_held_percent"], tuning["core_held_seconds"], tuning["walker_share"]
            )
            return Undecided(NAME, why, suspected=isinstance(containers, Unread) or held.walker is not None)
    said = f"{at_least}{alive:,} memory cgroups are alive"
    evidence = [Evidence("live-cgroups", "cgroups", said, cgroups.source_later or cgroups.source)]
    stacks = _walks_of_now(snapshot, alive, tuning)
    refused = _refused_now(snapshot, alive, tuning)
    held = snapshot.once(held_cores, tuning["core_held_percent"], tuning["core_held_seconds"], tuning["walker_share"])
    harm = []
    if stacks:
        harm.append("a call trace is in the walk over them")
        evidence.append(Evidence("memcg-walk-stack", "kernel_log", harm[-1], _recent.lines(stacks)))
    if refused:
        harm.append("the kernel refused to make another cgroup")
        evidence.append(Evidence("cgroup-ids-spent", "kernel_log", harm[-1], _recent.lines(refused)))
    if held.walker is not None and _takes_seconds(alive, tuning):
        harm.append(held.says)
        evidence.append(Evidence("core-held-by-walker", "cpu", held.says, held.source))
    elif held.walker is not None:
        says = f"{held.says}; a walk over {alive:,} is too short to hold a core"
        evidence.append(Evidence("core-held", "cpu", says, held.source))
    if not harm:
        summary = sentence(said, "no harm seen")
        return Finding(NAME, Status.DEGRADED, Confidence.POSSIBLE, summary, tuple(evidence))
    sure = bool(stacks or refused)
    against = risks_of_reboot_only(snapshot) if sure and whose_is_known and not others else ()
    return Finding(
        cause=NAME,
        status=Status.CRITICAL,
        confidence=Confidence.CONFIRMED if sure else Confidence.LIKELY,
        summary=". ".join(
            [
                sentence(said, *harm, *([f"they may be those of {others}"] if others else [])),
                *([no_reboot_words(against)] if against else []),
            ]
        ),
        evidence=(*evidence, *against),
        # Those of running containers would come back after it.
        remedy=(Step("reboot"),) if sure and whose_is_known and not (others or against) else (),
    )


def _other_owners(snapshot: Snapshot) -> str:
    """Who else has live cgroups of its own here, as the units tell; empty if nobody has."""
    units = snapshot.get(UnitsReading)
    if isinstance(units, Unread):
        return "jobs or machines, for the units were not read"
    running = (unit for unit in units.services if unit.active == "active")
    return listed([unit.name for unit in running if makes_cgroups((unit.name, *unit.aliases))], 3)


def _many_and_why(snapshot: Snapshot, tuning: Tuning) -> tuple[float, str]:
    """Return how many live cgroups are many for the containers that run here."""
    containers = snapshot.get(ContainersReading)
    if isinstance(containers, Unread):
        return tuning["live_many"], ""
    running = sum(1 for container in containers.containers if container.running)
    return max(tuning["live_many"], running * tuning["live_per_container"]), f" beside {counted(running, 'container')}"


def _walks_of_now(snapshot: Snapshot, alive: int, tuning: Tuning) -> tuple[KernelEvent, ...]:
    """Return the last hour's traces in the walk, if a walk over that many takes long enough to be the reason."""
    if not _takes_seconds(alive, tuning):
        return ()
    return _recent_events_of(snapshot, "stack-memcg-walk", tuning)


def _takes_seconds(alive: int, tuning: Tuning) -> bool:
    return alive * tuning["walk_seconds_per_10000"] / 10_000 >= tuning["walk_seconds_few"]


def _refused_now(snapshot: Snapshot, alive: int, tuning: Tuning) -> tuple[KernelEvent, ...]:
    """Return the kernel's refusals of the last hour, if so many are alive that it ran out of ids."""
    if alive < tuning["ids_live_many"]:
        return ()
    refused = _recent_events_of(snapshot, "cgroup-exhausted", tuning)
    return tuple(event for event in refused if "fork rejected" not in event.text)


def _recent_events_of(snapshot: Snapshot, kind: str, tuning: Tuning) -> tuple[KernelEvent, ...]:
    return _recent.events_surely_within(snapshot, _recent.kernel_events(snapshot, kind), tuning["harm_minutes"])


CAUSE = Cause(
    name=NAME,
    title="Too many live cgroups",
    probes=("cgroups", "containers", "cpu", "processes", "kernel_log", "host"),
    settled_by="a profile of the busy core, or a line of the kernel, that shows the walk over cgroups",
    profile_settles=True,
    thresholds={
        "live_many": Threshold(
            4000,
            "Twice the cgroups of 250 pods, a usual node's limit, at eight each (ours); fewer do not hold a core for "
            "seconds (0.7 s for 10,000 before Linux 5.8, dd8657b6c1cb).",
        ),
        "live_per_container": Threshold(
            8,
            "A pod has its own cgroup, its sandbox's, each container's and what runs within (systemd in a container "
            "makes more); eight for each running container is ours. Live cgroups of running containers are not a leak.",
        ),
        "core_held_percent": Threshold(90, "As in leaked-memory-cgroups."),
        "core_held_seconds": Threshold(2, "As in leaked-memory-cgroups."),
        "walker_share": Threshold(0.5, "As in leaked-memory-cgroups."),
        "walk_seconds_per_10000": Threshold(
            0.7,
            "One read of the root's memory.numa_stat with 10,000 cgroups before Linux 5.8, as measured for "
            "dd8657b6c1cb, which made it 0.001 s.",
        ),
        "walk_seconds_few": Threshold(
            1, "A read that takes less does not hold a core for seconds (ours); with 12,000 alive it takes 0.8 s."
        ),
        "ids_live_many": Threshold(
            60000,
            "65,535 memory cgroups can have an id; if the kernel refuses with fewer alive, ids are not the problem "
            "(ours).",
        ),
        "harm_minutes": Threshold(
            60, "A trace or a refusal counts as present harm up to this age (ours); an older event justifies no reboot."
        ),
    },
    evaluate=evaluate,
    beside=("units", *BESIDE),
    cured_alone_by=("reboot",),  # the kernel itself is full, and no leak would come back after a boot
    remedy=("reboot",),
    lasting_fix=(
        "Update what makes the cgroups and does not remove them (runc, systemd, the kubelet); remove the empty ones."
    ),
)
