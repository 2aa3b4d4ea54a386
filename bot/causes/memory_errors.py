"""The machine's memory has errors: uncorrected errors, or so many corrected errors that a module is failing.

Confirms: an uncorrected error counted by EDAC, or logged by the kernel or the firmware; memory that the kernel no
longer uses; hundreds of corrected errors an hour, since the counts began or within the last hour by the log.
Refutes: controllers that count none. A virtual machine cannot see them: memory errors are its host's business.
"Machine check events logged" alone says nothing: the kernel prints it for corrected errors too.
Remedy: none planned: the module is the same after a reboot. Drain the node, and replace the host.
"""

from __future__ import annotations

import re
from datetime import timedelta

from bot.causes import _recent
from bot.causes._figures import span
from bot.causes._finding import make_finding
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import counted
from bot.domain.verdict import Confidence, Evidence, RuledOut, Status, Undecided
from bot.probes.formats.kernel_line import KernelEvent
from bot.probes.host import HostReading
from bot.probes.kernel_log import KernelLogReading
from bot.probes.memory_errors import MemoryErrorsReading

NAME = "memory-errors"
_HOUR = 3600
_CORRECTED = re.compile(r"EDAC MC[0-9]{1,4}: ([0-9]{1,9}) CE ")


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    """Tell whether the memory fails."""
    reading, log = snapshot.get(MemoryErrorsReading), snapshot.get(KernelLogReading)
    lost, often = [], []
    if not isinstance(reading, Unread):
        for each in reading.controllers:
            if each.uncorrected:
                says = f"{each.name} counts {counted(each.uncorrected, 'memory error')} that could not be corrected"
                lost.append(Evidence("memory-uncorrected", "memory_errors", says, each.lines))
            # No rate from less than an hour: ten errors in a driver's first minute are only ten errors.
            hours = max(1.0, (each.seconds or 0) / _HOUR)
            if each.seconds is not None and each.corrected / hours > tuning["corrected_per_hour"]:
                over = span(timedelta(seconds=each.seconds))
                says = f"{each.name} corrected {counted(each.corrected, 'memory error')} in {over}"
                often.append(Evidence("memory-corrected", "memory_errors", says, each.lines))
    if not often and not isinstance(log, Unread):
        often = _corrected_last_hour(snapshot, log, tuning)
    told = [] if isinstance(log, Unread) else _uncorrected_lines(log)
    if not isinstance(reading, Unread) and reading.given_up_kib:
        row = f"HardwareCorrupted: {reading.given_up_kib} kB"
        says = f"the kernel no longer uses {reading.given_up_kib:,} KiB of memory"
        if lost or told or isinstance(log, Unread) or not reading.controllers:
            says += " that it could not correct"
            lost.append(Evidence("memory-given-up", "memory_errors", says, (row,)))
        else:
            # mm/memory-failure.c also counts pages that a daemon puts aside for their many corrected errors.
            says += ", put aside before it failed: no uncorrected error is counted or logged"
            often.append(Evidence("memory-put-aside", "memory_errors", says, (row,)))
    if told:
        says = f"the kernel logged memory errors that could not be corrected, {_recent.ago(snapshot, told[-1])}"
        lost.append(Evidence("memory-uncorrected-told", "kernel_log", says, _recent.lines(told, 4)))
    if lost or often:
        return make_finding(NAME, Status.CRITICAL if lost else Status.DEGRADED, Confidence.CONFIRMED, (*lost, *often))
    return _ruled_out_or_undecided(snapshot, reading)


def _corrected_last_hour(snapshot: Snapshot, log: KernelLogReading, tuning: Tuning) -> list[Evidence]:
    """The corrected errors of the last hour by the log's own counts: those since boot hide a module that fails now."""
    found = []
    hour = _recent.events_surely_within(snapshot, log.of("hardware-error"), _HOUR / 60)
    lines = [(line, told) for line in hour if (told := _CORRECTED.search(line.text)) is not None]
    for name in sorted({line.device for line, _ in lines}):
        mine = [(line, int(told.group(1))) for line, told in lines if line.device == name]
        many = sum(errors for _, errors in mine)
        if many > tuning["corrected_per_hour"]:
            says = f"{name} corrected {counted(many, 'memory error')} within the last hour"
            source = _recent.lines([line for line, _ in mine], 3)
            found.append(Evidence("memory-corrected", "kernel_log", says, source))
    return found


def _uncorrected_lines(log: KernelLogReading) -> list[KernelEvent]:
    """The lines about uncorrected memory errors: the kernel's own, and the firmware's grave memory records.

    A record has its severity and its subject on separate lines, which share a number in braces.
    """
    lines = log.of("hardware-error", "hardware-grave")
    of_memory = {line.device for line in lines if "section_type: memory error" in line.text}
    grave = [line for line in lines if line.kind == "hardware-grave" and line.device in of_memory]
    return sorted([*log.of("memory-error"), *grave], key=_time_of)


def _time_of(event: KernelEvent) -> timedelta:
    return event.since_boot or timedelta(0)


def _ruled_out_or_undecided(snapshot: Snapshot, reading: MemoryErrorsReading | Unread) -> CauseResult:
    host = snapshot.get(HostReading)
    metal = not isinstance(reading, Unread) and ".metal" in reading.product
    if not isinstance(host, Unread) and host.is_virtual_machine and not metal:
        return RuledOut(NAME, "a virtual machine cannot see memory errors: they are its host's business", applies=False)
    if isinstance(reading, Unread):
        # If it is not known whether this is a virtual machine, it most likely is: no reason to doubt the node.
        worst = Status.DEGRADED if isinstance(host, Unread) else Status.CRITICAL
        return Undecided(NAME, f"the counts of memory errors were not read ({reading.reason})", worst=worst)
    if not reading.controllers:
        would = "an EDAC driver, or what `ipmitool sel list` says,"
        return Undecided(
            NAME,
            "nobody counts memory errors here: no EDAC driver is loaded",
            would_decide=would,
            worst=Status.DEGRADED,
        )
    corrected = counted(reading.corrected_count, "memory error")
    return RuledOut(NAME, f"EDAC counts no uncorrected errors, and {corrected} that were corrected")


CAUSE = Cause(
    name=NAME,
    title="Memory errors",
    probes=("memory_errors", "kernel_log", "host"),
    thresholds={
        "corrected_per_hour": Threshold(
            100,
            "Ours. Large studies see most modules without a single corrected error in a year (Schroeder, Pinheiro and "
            "Weber, 2009), so a hundred an hour mean a failing module; a burst is not scaled up to an hour.",
        ),
    },
    signature=("memory_errors", "kernel_log", "host"),
    evaluate=evaluate,
    lasting_fix="Drain the node and replace the host, or the memory module that EDAC's label names.",
)
