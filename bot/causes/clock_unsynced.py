"""The node's clock is not synchronised, is far off, or the kernel fell back to a slow clock source.

Confirms: the time service says that it is not synchronised, or an offset that breaks certificates and leases; it took
the time from nobody for hours, whatever it calls itself: chrony says Normal for days after its last source fell silent;
a slow clocksource after the kernel gave up the TSC.
Possible: chrony follows its own clock (`local`), as it is told to if nobody else can be heard.
Refutes: a synchronised time service, or one that was started minutes ago; a clocksource that is normal for this kind of
machine.
Remedy: none planned: the time service must be repaired. A reboot may bring the TSC back, but ends the node's work.
"""

from __future__ import annotations

from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import span
from bot.causes._finding import found
from bot.domain.cause import Cause, Tuning, Weighing
from bot.domain.probe import Snapshot, Unread
from bot.domain.protected import services
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.clock import ClockReading
from bot.probes.host import HostReading
from bot.probes.units import UnitsReading

NAME = "clock-unsynced"
_KEEPERS = services("keeps-time")
_SLOW = ("hpet", "acpi_pm", "jiffies", "refined-jiffies")


def weigh(snapshot: Snapshot, tuning: Tuning) -> Weighing:
    """Tell whether the node's time can be trusted."""
    clock, host = snapshot.get(ClockReading), snapshot.get(HostReading)
    if isinstance(clock, Unread):
        return Undecided(NAME, f"the clock was not read ({clock.reason})")
    evidence = []
    young = _is_young(snapshot, timedelta(minutes=tuning["boot_minutes"]))
    if clock.synced is False and not young:
        evidence.append(Evidence("unsynced", "clock", f"{clock.keeper} says that it is not synchronised", clock.lines))
    if clock.offset_seconds is not None and clock.offset_seconds > tuning["offset_seconds"]:
        says = f"the clock is {span(timedelta(seconds=clock.offset_seconds))} off, says {clock.keeper}"
        evidence.append(Evidence("offset", "clock", says, clock.lines))
    silent = _silent(clock, host)
    if clock.synced and silent is not None and silent > timedelta(hours=tuning["unheard_hours"]):
        says = f"{clock.keeper} calls itself synchronised, and last heard a time server {span(silent)} ago"
        evidence.append(Evidence("unheard", "clock", says, clock.lines))
    unstable = _recent.told(snapshot, "clocksource")
    if clock.source in _SLOW and unstable:
        says = f"the kernel gave up the TSC and uses {clock.source}, which makes every reading of the time slow"
        evidence.append(Evidence("slow-clocksource", "clock", says, _recent.lines(unstable, 2)))
    sure = bool(evidence)
    if clock.alone and not sure:
        says = f"{clock.keeper} follows nothing but the node's own clock: no time server is heard, or none is set"
        evidence.append(Evidence("own-clock", "clock", says, clock.lines))
    if evidence:
        return found(NAME, Status.DEGRADED, Confidence.CONFIRMED if sure else Confidence.POSSIBLE, evidence)
    if clock.synced is None:
        who = f"{clock.keeper} does not say" if clock.keeper else "no known time service runs"
        return Undecided(NAME, f"whether the clock is synchronised is not known: {who}", would_decide="its own status")
    if clock.synced is False:
        return Undecided(NAME, f"{clock.keeper} is not synchronised yet after its start", would_decide="a later look")
    return RuledOut(NAME, f"{clock.keeper} is synchronised, and the clock uses {clock.source}")


def _is_young(snapshot: Snapshot, least: timedelta) -> bool:
    """True shortly after a boot, or after the keeper of the time was started anew: it asks its servers first.

    One that systemd starts again and again is never done with that.
    """
    host, units = snapshot.get(HostReading), snapshot.get(UnitsReading)
    if isinstance(host, Unread):
        return False
    runs = [] if isinstance(units, Unread) else [unit for unit in units.services if unit.name in _KEEPERS]
    began = max((unit.started_usec or 0 for unit in runs if unit.active == "active" and not unit.restarts), default=0)
    return host.uptime - timedelta(microseconds=began) < least


def _silent(clock: ClockReading, host: HostReading | Unread) -> timedelta | None:
    """How long nobody was heard, by the node's own clock; None: not known."""
    if isinstance(host, Unread) or host.node_time_at is None or clock.heard_at is None:
        return None
    return host.node_time_at - clock.heard_at


CAUSE = Cause(
    name=NAME,
    title="Clock not synchronised",
    probes=("clock", "kernel_log", "host"),
    thresholds=("boot_minutes", "offset_seconds", "unheard_hours"),
    signature=("clock", "kernel_log", "host"),
    beside=("units",),
    weigh=weigh,
    worst=Status.DEGRADED,
)
