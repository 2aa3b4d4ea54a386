"""What captures add to the report of an incident: what they recorded and caught, where it belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.domain.entry import Entry
from bot.domain.incident import Incident
from bot.extras.captures.events import CaptureBegan, CaptureEnded, SymptomCaught, capture_event
from bot.extras.captures.record import LED_TO, captures_of
from bot.extras.captures.store import CaptureStore
from bot.extras.profiles.in_report import sketch_pictures
from bot.ledger import Database, KeptCases
from bot.seats import Moment, Picture

BEFORE = timedelta(days=1)  # this long before an incident a recording belongs to its story


def shown(
    database: Database, incident: Incident, entries: tuple[Entry, ...], ended: datetime | None
) -> Iterator[Moment | Picture]:
    """Yield the moments of the node's captures, and the pictures of the cores that they caught."""
    captures = CaptureStore(database).entries()
    yield from capture_moments(incident, captures, ended)
    caught = [
        (rolling.id, symptom.sketch)
        for rolling in captures_of(captures).values()
        if rolling.node == incident.node
        for symptom in rolling.caught
        if symptom.sketch and incident.opened_at - LED_TO <= symptom.at and (ended is None or symptom.at <= ended)
    ]
    yield from sketch_pictures(KeptCases(database), caught)


def capture_moments(incident: Incident, captures: tuple[Entry, ...], ended: datetime | None) -> Iterator[Moment]:
    """Yield what rolling captures of the node recorded and caught, where it belongs to the incident."""
    ids = {rolling.id for rolling in captures_of(captures).values() if rolling.node == incident.node}
    for entry in captures:
        event = capture_event(entry)
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
