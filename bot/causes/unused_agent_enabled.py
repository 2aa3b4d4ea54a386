"""A unit that starts at the next boot although nobody needs it: a fault of the image, before its first leak.

Confirms: the ECS agent is enabled, a kubelet's package or configuration is installed, and no ECS cluster is named
(without a registration the agent keeps restarting, and each start leaves a memory cgroup); a unit that is enabled and
not on the playbook's list of allowed units.
Refutes: no such unit; it is masked; the playbook allows it.
Remedy: none planned. Fix the image's build: disable the unit there, or leave its package out.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from bot.domain.cause import Cause, CauseResult, Tuning
from bot.domain.known_agents import KNOWN_AGENTS
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted, listed
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.boot_units import BootUnit, BootUnitsReading

NAME = "unused-agent-enabled"
_ECS_UNITS = next(agent.units for agent in KNOWN_AGENTS if agent.name == "ecs")
_SHOWN_MOST = 12  # shown to people; the suspects name them all


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether the next boot starts a unit that nobody needs here."""
    reading = snapshot.get(BootUnitsReading)
    if isinstance(reading, Unread):
        return Undecided(NAME, f"the units that start at boot were not read ({reading.reason})")
    if not reading.systemd:
        return RuledOut(NAME, "there is no systemd on this disk", applies=False)
    unlisted = [unit for unit in reading.enabled if not _is_allowed(unit, tuning.allow)]
    ecs = [unit for unit in unlisted if unit.name in _ECS_UNITS]
    unused = ecs if reading.kubelet and not reading.ecs_cluster and reading.ecs_config_readable else []
    others = [unit for unit in unlisted if tuning.allow and not unit.by_vendor and unit not in unused]
    if not (unused or others):
        return _ruled_out_or_undecided(reading, ecs, tuning)
    evidence = [Evidence("agent-unused", "boot_units", _unit_words(unit, reading), (unit.source,)) for unit in unused]
    evidence += [
        Evidence("unit-not-allowed", "boot_units", f"{unit.name} starts at boot and is not on the list", (unit.source,))
        for unit in others[: _SHOWN_MOST - len(unused)]
    ]
    names = tuple(unit.name for unit in (*unused, *others))
    return Finding(
        cause=NAME,
        status=Status.DEGRADED,
        confidence=Confidence.LIKELY if unused else Confidence.CONFIRMED,
        summary=_summary(unused, others, reading),
        evidence=tuple(evidence),
        suspects=names,
        lasting_fix=f"In the image's build: `systemctl disable {' '.join(names[:_SHOWN_MOST])}`, or leave it out.",
    )


def _is_allowed(unit: BootUnit, allow: Sequence[str]) -> bool:
    return any(fnmatchcase(unit.name, pattern) for pattern in allow)


def _unit_words(unit: BootUnit, reading: BootUnitsReading) -> str:
    return (
        f"{unit.name} starts at boot, {reading.kubelet[0]} shows a node of Kubernetes, and no ECS cluster is named: "
        "the agent will fail and keep restarting"
    )


def _summary(unused: Sequence[BootUnit], others: Sequence[BootUnit], reading: BootUnitsReading) -> str:
    says = [_unit_words(unit, reading) for unit in unused[:2]]
    if others:
        named = listed([unit.name for unit in others], 3)
        says.append(f"{counted(len(others), 'unit')} not on the playbook's list would start at boot: {named}")
    return "; ".join(says)


def _ruled_out_or_undecided(reading: BootUnitsReading, ecs: Sequence[BootUnit], tuning: Tuning) -> CauseResult:
    if ecs and reading.kubelet:
        named = f"ECS_CLUSTER is {reading.ecs_cluster}" if reading.ecs_cluster else "its configuration is not readable"
        return Undecided(
            NAME,
            f"{ecs[0].name} starts at boot besides a kubelet ({reading.kubelet[0]}), and {named}",
            # A named cluster is intended; an unread configuration may name none.
            suspected=not reading.ecs_config_readable,
            would_decide=f"`allow` in the playbook, with {ecs[0].name} if it is wanted"
            if reading.ecs_config_readable
            else "a check as root",
        )
    if tuning.allow:
        return RuledOut(NAME, f"all {counted(reading.enabled_count, 'unit')} that start at boot are on the list")
    return RuledOut(NAME, "no agent starts at boot that is known to be unneeded")


CAUSE = Cause(
    name=NAME,
    title="Agent enabled that nobody needs",
    probes=("boot_units",),
    settled_by="the launch template's user data: whether it gives the agent a cluster",
    thresholds={},
    signature=("boot_units",),
    evaluate=evaluate,
    worst=Status.DEGRADED,
    takes_allow=True,
    of_one=True,
)
