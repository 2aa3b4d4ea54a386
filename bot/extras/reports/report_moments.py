"""What a report shows beside the record: kernel lines, captures and profiles of the node, with pictures."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from bot.domain.case import Case
from bot.domain.clock_offset import MOST_DRIFT
from bot.domain.command import Outputs
from bot.domain.entry import Entry
from bot.domain.errors import LedgerUnavailable, UnreadableEntry
from bot.domain.events import ProfileTaken
from bot.domain.house_events import CaptureBegan, CaptureEnded, SymptomCaught
from bot.domain.incident import Incident
from bot.domain.rolling_record import captures_of
from bot.extras.reports.parts import Picture
from bot.extras.reports.report_data import Moment
from bot.ledger import KeptCases
from bot.probes import kernel_log
from bot.probes.kernel_log import KernelLogReading
from bot.profile.sketch import Sketch
from bot.response.capture.sketches import sketch_in
from bot.response.capture.symptom_incident import LED_TO

BEFORE = timedelta(days=1)  # this long before an incident belongs to its story
MOST_LINES = 40  # of the kernel's log: the newest
MOST_SKETCHES = 6
_LINE = 300
# Lines that are shown even if they are no evidence: the kernel's own account of what went wrong.
_GRAVE = ("nic-reset", "nic-reset-failed", "soft-lockup", "hard-lockup", "rcu-stall", "oom-kill")


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
            yield Moment(at, f"kernel log of {incident.node}", event.kind, event.text[:_LINE], error)


def capture_moments(incident: Incident, entries: tuple[Entry, ...], ended: datetime | None) -> Iterator[Moment]:
    """Yield what rolling captures of the node recorded and caught, where it belongs to the incident."""
    ids = {rolling.id for rolling in captures_of(entries).values() if rolling.node == incident.node}
    for entry in entries:
        try:
            event = entry.event
        except UnreadableEntry:
            continue
        if not isinstance(event, CaptureBegan | CaptureEnded | SymptomCaught) or event.capture not in ids:
            continue
        is_caught = isinstance(event, SymptomCaught)
        at = event.at if isinstance(event, SymptomCaught) else entry.at
        if not incident.opened_at - (LED_TO if is_caught else BEFORE) <= at or (ended is not None and at > ended):
            continue
        source = f"capture {event.capture}"
        match event:
            case SymptomCaught(sentence=sentence, unread=unread, error=error):
                words = f"{sentence}; not read: {unread}" if unread else sentence
                yield Moment(at, source, event.symptom, words, None if error is None else timedelta(seconds=error))
            case CaptureBegan():
                yield Moment(at, source, "recording begins", f"every core of {incident.node}", timedelta(0))
            case CaptureEnded(because=because):
                yield Moment(at, source, "recording ends", because, timedelta(0))


def sketch_pictures(
    incident: Incident,
    entries: tuple[Entry, ...],
    captures: tuple[Entry, ...],
    ended: datetime | None,
    kept: KeptCases,
    together: tuple[str, ...],
) -> Iterator[Picture]:
    """Yield the pictures of profiles taken from the incident's card, and of what captures caught.

    Shape: `together` are the ids of all incidents of that card.
    """
    profiles = [
        event.sketch
        for entry in entries
        if entry.kind == ProfileTaken.__name__ and isinstance(event := entry.event, ProfileTaken) and event.sketch
    ]
    # A profile that changed a verdict is in two incidents of a card; its sketch is stored with the first.
    wanted = [(under, digest) for digest in profiles for under in together]
    wanted += [
        (rolling.id, caught.sketch)
        for rolling in captures_of(captures).values()
        if rolling.node == incident.node
        for caught in rolling.caught
        if caught.sketch and incident.opened_at - LED_TO <= caught.at and (ended is None or caught.at <= ended)
    ]
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
