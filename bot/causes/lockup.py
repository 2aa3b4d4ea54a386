"""A core was stuck in the kernel for tens of seconds, and the kernel's watchdog reported it.

Confirms: soft or hard lockups, or RCU stalls, in the kernel log of the last hours. Lines of the same stall are one
episode; many cores at the same instant mean that the machine was paused.
Supports: resets of the network card after them; a core held in the kernel now.
Refutes: a kernel log without them.
Remedy: a reboot may be planned while it goes on: a core is held now, or stalls came back within the last minutes. It
clears the state and does not cure the cause. Never if the trace is in the walk over memory cgroups: then the cgroups
are the cause, and their leaker must be stopped first.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import count, sentence
from bot.causes._starvation import starvation
from bot.domain.action import Step
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.probes.cpu import CpuReading
from bot.probes.formats.kernel_line import KernelEvent, KernelEventKind
from bot.probes.kernel_log import KernelLogReading

NAME = "lockup"
_INSTANT = timedelta(seconds=2)
_LOCKUPS = (KernelEventKind.SOFT_LOCKUP, KernelEventKind.HARD_LOCKUP, KernelEventKind.RCU_STALL)


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether the kernel reported stuck cores."""
    log = snapshot.get(KernelLogReading)
    if isinstance(log, Unread):
        return Undecided(NAME, f"the kernel log was not read ({log.reason})")
    everything = log.of(*_LOCKUPS)
    events = _recent.recent(snapshot, everything, tuning["recent_hours"])
    if not events:
        old = f"; the last was {_recent.ago(snapshot, everything[-1])}" if everything else ""
        return RuledOut(NAME, f"the kernel log has no lockup within {tuning['recent_hours']:.0f} hours{old}")
    episodes = _episodes(snapshot, events, tuning)
    stalls = [episode for episode in episodes if not episode.paused]
    lately = [stall for stall in stalls if stall.ended_ago <= timedelta(minutes=tuning["now_minutes"])]
    last = events[-1]
    where = "" if last.core is None else f" on core {last.core}"
    who = f" in {last.process}" if last.process else ""
    says = f"{count(len(events), 'lockup line')}, the last{where}{who} {_recent.ago(snapshot, last)}"
    if len(episodes) < len(events) and episodes:
        says += f", in {count(len(episodes), 'episode')}"
    if paused := next((episode for episode in reversed(episodes) if episode.paused), None):
        says += f"; {count(paused.paused, 'core')} at the same instant: the machine itself was paused"
    evidence = [Evidence("lockup", "kernel_log", says, _recent.lines(events))]
    walks = _recent.recent(snapshot, log.of(KernelEventKind.STACK_MEMCG_WALK), tuning["recent_hours"])
    if walks:
        says += "; the trace is in the walk over memory cgroups"
        evidence.append(Evidence("memcg-walk-stack", "kernel_log", "the trace names the walk", _recent.lines(walks)))
    starved = snapshot.once(starvation, tuning["recent_hours"])
    if starved is not None:
        says += "; the network card lacked CPU time too"
        evidence.append(Evidence("nic-starved", "kernel_log", starved.says, starved.source))
    cpu, is_held = snapshot.get(CpuReading), False
    if not isinstance(cpu, Unread):
        needed = max(1, min(round(tuning["core_held_seconds"]), len(cpu.seconds)))
        for core in cpu.held("sys_percent", tuning["core_held_percent"], needed)[:1]:
            is_held, held = True, f"core {core.core} is held in the kernel now"
            evidence.append(Evidence("core-held", "cpu", held, tuple(row for row in core.raw if row)[:3]))
    # A single stall is over by the time it is logged; only a repeated stall, or a held core, is worth a reboot.
    goes_on = len(lately) >= tuning["repeats_few"] or (bool(lately) and is_held)
    just_now = any(stall.ended_ago <= timedelta(minutes=1) for stall in stalls)
    return Finding(
        cause=NAME,
        status=Status.CRITICAL if goes_on or just_now else Status.DEGRADED,
        confidence=Confidence.CONFIRMED,
        summary=sentence(says),
        evidence=tuple(evidence),
        remedy=(Step("reboot"),) if goes_on and not walks else (),
    )


@dataclass(frozen=True, slots=True)
class _Episode:
    """The lines of a stall; `paused` is how many cores reported at the same instant, 0 if few."""

    ended_ago: timedelta
    paused: int


def _episodes(snapshot: Snapshot, events: tuple[KernelEvent, ...], tuning: Tuning) -> list[_Episode]:
    """Return the stalls whose time is known, oldest first."""
    timed = [(age, event) for event in events if (age := _recent.age(snapshot, event)) is not None]
    timed.sort(key=lambda pair: pair[0], reverse=True)
    groups: list[list[tuple[timedelta, KernelEvent]]] = []
    for age, event in timed:
        if groups and groups[-1][-1][0] - age <= timedelta(seconds=tuning["episode_gap_seconds"]):
            groups[-1].append((age, event))
        else:
            groups.append([(age, event)])
    return [_Episode(group[-1][0], _paused(group, tuning)) for group in groups]


def _paused(group: list[tuple[timedelta, KernelEvent]], tuning: Tuning) -> int:
    cores = {event.core for _, event in group if event.core is not None}
    instant = group[0][0] - group[-1][0] <= _INSTANT
    return len(cores) if instant and len(cores) >= tuning["paused_cores"] else 0


CAUSE = Cause(
    name=NAME,
    title="Lockup",
    probes=("kernel_log", "host", "cpu", "nic"),
    thresholds=(
        "recent_hours",
        "now_minutes",
        "repeats_few",
        "episode_gap_seconds",
        "paused_cores",
        "core_held_percent",
        "core_held_seconds",
    ),
    signature=("kernel_log", "host"),
    weigh=weigh,
    cured_alone_by=("reboot",),  # the kernel itself is stuck, and no leak would come back after a boot
)
