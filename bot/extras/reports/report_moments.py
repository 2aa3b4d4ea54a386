"""What a report shows beside the record: lines of the node's kernel log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.domain.case import Case
from bot.domain.clock_offset import MOST_DRIFT
from bot.domain.command import Outputs
from bot.domain.incident import Incident
from bot.probes import kernel_log
from bot.probes.kernel_log import KernelLogReading
from bot.seats import Moment

BEFORE = timedelta(days=1)  # this long before an incident belongs to its story
MOST_LINES = 40  # of the kernel's log: the newest
_LINE = 300
# Lines that are shown even if they are no evidence: the kernel's own account of what went wrong.
_GRAVE = ("nic-reset", "nic-reset-failed", "soft-lockup", "hard-lockup", "rcu-stall", "oom-kill")


def kernel_moments(incident: Incident, case: Case | None) -> Iterator[Moment]:
    """Yield kernel lines of the day before the reading: evidence, and every reset, lockup and kill."""
    reading = kernel_log.PROBE.read(Outputs(*(run for run in case.runs if run.probe == "kernel_log"))) if case else None
    booted = _boot_time(case) if case is not None else None
    if case is None or booted is None or not isinstance(reading, KernelLogReading):
        return
    evidence = {line for item in (incident.verdict.evidence if incident.verdict else ()) for line in item.source}
    error = _time_error(case, incident)
    shown = [event for event in reading.events if event.kind in _GRAVE or event.text in evidence]
    newest = [(booted + event.since_boot, event) for event in shown if event.since_boot is not None][-MOST_LINES:]
    for at, event in newest:
        if at >= incident.opened_at - BEFORE:
            yield Moment(at, f"kernel log of {incident.node}", event.kind, event.text[:_LINE], error)


def _boot_time(case: Case) -> datetime | None:
    """When the node booted, on this machine's clock, from the uptime at the start of the reading."""
    uptimes = [run.started_at_uptime for run in case.runs if run.started_at_uptime is not None]
    return case.head.taken_at - timedelta(seconds=min(uptimes)) if uptimes else None


def _time_error(case: Case, incident: Incident) -> timedelta:
    """The possible error of a kernel line's time: the reading's duration beyond its window, and the drift since boot.

    printk stamps the CPU's own clock, which is never slewed. Unlike in captures its distance is not measured here, so
    the greatest possible drift counts.
    """
    uptimes = [run.started_at_uptime for run in case.runs if run.started_at_uptime is not None]
    took = incident.verdict.took if incident.verdict is not None else timedelta(0)
    reaching = max(timedelta(0), took - timedelta(seconds=case.head.samples))
    return reaching + timedelta(seconds=MOST_DRIFT * min(uptimes, default=0.0))
