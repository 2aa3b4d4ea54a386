"""What a report shows beside the record: kernel lines, and profiles of the node, with pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice

from bot.domain.case import Case
from bot.domain.clock_offset import MOST_DRIFT
from bot.domain.command import Outputs
from bot.domain.entry import Entry
from bot.domain.errors import LedgerUnavailable
from bot.domain.events import ProfileTaken
from bot.domain.incident import Incident
from bot.ledger import KeptCases
from bot.probes import kernel_log
from bot.probes.formats.kernel_line import KernelEventKind as Kind
from bot.probes.kernel_log import KernelLogReading
from bot.profile.sketch import Sketch
from bot.response.capture.sketches import sketch_in
from bot.seats import Moment, Picture

BEFORE = timedelta(days=1)  # this long before an incident belongs to its story
MOST_LINES = 40  # of the kernel's log: the newest
MOST_SKETCHES = 6
_LINE = 300
# Lines that are shown even if they are no evidence: the kernel's own account of what went wrong.
_GRAVE = (Kind.NIC_RESET, Kind.NIC_RESET_FAILED, Kind.SOFT_LOCKUP, Kind.HARD_LOCKUP, Kind.RCU_STALL, Kind.OOM_KILL)


def kernel_moments(incident: Incident, case: Case | None) -> Iterator[Moment]:
    """Yield kernel lines of the day before the reading: evidence, and every reset, lockup and kill."""
    reading = kernel_log.PROBE.read(Outputs(*(run for run in case.runs if run.probe == "kernel_log"))) if case else None
    booted = _booted(case) if case is not None else None
    if case is None or booted is None or not isinstance(reading, KernelLogReading):
        return
    evidence = {line for item in (incident.verdict.evidence if incident.verdict else ()) for line in item.source}
    error = _error(case, incident)
    shown = [event for event in reading.events if event.kind in _GRAVE or event.text in evidence]
    newest = [(booted + event.since_boot, event) for event in shown if event.since_boot is not None][-MOST_LINES:]
    for at, event in newest:
        if at >= incident.opened_at - BEFORE:
            yield Moment(at, f"kernel log of {incident.node}", event.kind.value, event.text[:_LINE], error)


def profile_pictures(entries: tuple[Entry, ...], kept: KeptCases, together: tuple[str, ...]) -> Iterator[Picture]:
    """Yield the pictures of profiles taken from the incident's card, which shows all incidents `together`."""
    profiles = [
        event.sketch
        for entry in entries
        if entry.kind == ProfileTaken.__name__ and isinstance(event := entry.event, ProfileTaken) and event.sketch
    ]
    # A profile that changed a verdict is in two incidents of a card; its sketch is stored with the first.
    yield from sketch_pictures(kept, [(under, digest) for digest in profiles for under in together])


def sketch_pictures(kept: KeptCases, wanted: Iterable[tuple[str, str]]) -> Iterator[Picture]:
    """Yield the pictures of sketches, each given with what it is stored under; those that are gone are left out."""
    found = (_sketch(kept, under, digest) for under, digest in dict.fromkeys(wanted))
    for drawn in islice(filter(None, found), MOST_SKETCHES):
        yield from _drawn(drawn)


def _sketch(kept: KeptCases, under: str, digest: str) -> Sketch | None:
    try:
        return sketch_in(kept.text(under, digest))
    except LedgerUnavailable:  # a damaged picture must not stop the report
        return None


def _drawn(drawn: Sketch) -> Iterator[Picture]:
    from bot.profile.flame_picture import flame_picture, seconds_picture  # Pillow is loaded where a picture is drawn

    flame, seconds = drawn.alt_texts
    yield Picture(flame_picture(drawn), flame)
    yield Picture(seconds_picture(drawn), seconds)


def _booted(case: Case) -> datetime | None:
    """When the node booted, on this machine's clock, from the uptime at the start of the reading."""
    uptimes = [run.started_at_uptime for run in case.runs if run.started_at_uptime is not None]
    return case.head.taken_at - timedelta(seconds=min(uptimes)) if uptimes else None


def _error(case: Case, incident: Incident) -> timedelta:
    """The possible error of a kernel line's time: the reading's duration beyond its window, and the drift since boot.

    printk stamps the CPU's own clock, which is never slewed. Unlike in captures its distance is not measured here, so
    the greatest possible drift counts.
    """
    uptimes = [run.started_at_uptime for run in case.runs if run.started_at_uptime is not None]
    took = incident.verdict.took if incident.verdict is not None else timedelta(0)
    reaching = max(timedelta(0), took - timedelta(seconds=case.head.samples))
    return reaching + timedelta(seconds=MOST_DRIFT * min(uptimes, default=0.0))
