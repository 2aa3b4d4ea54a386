"""Cores are too hot, and their clock is slowed down: everything on them takes longer.

Confirms: a core's count of throttling rises again and again within the window.
Likely: the kernel said within the last hour that a core is throttled, and not that it is cool again: a core that is
throttled all the time counts no new event.
Refutes: counts that stand still, whatever they came to since boot; the kernel's word that the core is cool again.
Virtual machines cannot see their host's heat. A notice about a power limit is no heat: it is how turbo is held back.
Remedy: none planned: a reboot cools nothing for long.
"""

from __future__ import annotations

from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import count
from bot.causes._finding import found
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.host import HostReading
from bot.probes.interrupts import InterruptsReading
from bot.probes.kernel_log import KernelLogReading

NAME = "thermal-throttling"


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether heat slows cores down now."""
    reading, log = snapshot.get(InterruptsReading), snapshot.get(KernelLogReading)
    hot = () if isinstance(reading, Unread) else reading.hot or ()
    now = sorted((core for core in hot if core.rise >= tuning["events_few"]), key=lambda core: (-core.rise, core.core))
    told = () if isinstance(log, Unread) else _still_hot(log)
    lately = _recent.surely_within(snapshot, told, tuning["told_minutes"])
    evidence = []
    if now:
        worst = now[0]
        most = f"; core {worst.core} {count(worst.rise, 'time')}" if len(now) > 1 else f" {count(worst.rise, 'time')}"
        who = count(len(now), "core") if len(now) > 1 else f"core {worst.core}"
        says = f"heat slowed {who} down{most} within the window"
        evidence.append(Evidence("heat-now", "interrupts", says, tuple(core.line for core in now[:4])))
    if lately:
        cores = sorted({event.core for event in lately if event.core is not None})
        who = f"core {cores[0]} is" if len(cores) == 1 else f"{count(len(cores), 'core')} are"
        since = _recent.ago(snapshot, lately[-1])
        says = f"the kernel says that {who} slowed down for heat, {since}, and not that it is over"
        evidence.append(Evidence("heat-told", "kernel_log", says, _recent.lines(lately, 3)))
    if evidence:
        return found(NAME, Status.DEGRADED, Confidence.CONFIRMED if now else Confidence.LIKELY, evidence)
    return _none(snapshot, reading)


def _still_hot(log: KernelLogReading) -> tuple[KernelEvent, ...]:
    """The last line about each core and its package, where it says that the clock is throttled."""
    last = {(event.core, event.device): event for event in log.of("heat-on", "heat-off")}
    still = [event for event in last.values() if event.kind == "heat-on"]
    return tuple(sorted(still, key=lambda event: event.since_boot or timedelta(0)))


def _none(snapshot: Snapshot, reading: InterruptsReading | Unread) -> Weighing:
    host = snapshot.get(HostReading)
    if not isinstance(host, Unread) and host.is_virtual_machine and (isinstance(reading, Unread) or not reading.hot):
        return RuledOut(NAME, "a virtual machine cannot see heat: it is its host's business")
    if isinstance(reading, Unread):
        return Undecided(NAME, f"the cores' counts of heat were not read ({reading.reason})")
    if reading.hot is None:
        would = "the board's own sensors (`ipmitool sdr type temperature`)"
        return Undecided(NAME, "this machine does not count how often heat slows its cores", would_decide=would)
    before = sum(1 for core in reading.hot if core.total)
    since = f"; {count(before, 'core')} had been, since boot" if before else ""
    return RuledOut(NAME, f"heat slowed no core down again and again within the window{since}")


CAUSE = Cause(
    name=NAME,
    title="Cores slowed by heat",
    probes=("interrupts", "kernel_log", "host"),
    thresholds=("events_few", "told_minutes"),
    weigh=weigh,
    worst=Status.DEGRADED,
)
