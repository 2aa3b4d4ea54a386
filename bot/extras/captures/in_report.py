"""What captures add to the report of an incident: what they recorded and caught, where it belongs to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice

from bot.domain.entry import Entry
from bot.domain.errors import LedgerUnavailable
from bot.domain.incident import Incident
from bot.extras.captures.events import CaptureBegan, CaptureEnded, SymptomCaught, capture_event
from bot.extras.captures.record import LED_TO, captures_of
from bot.extras.captures.store import CaptureStore
from bot.ledger import Database, KeptCases
from bot.profile.sketch import Sketch
from bot.response.capture.sketches import sketch_in
from bot.seats import Moment, Picture

BEFORE = timedelta(days=1)  # this long before an incident a recording belongs to its story
MOST_SKETCHES = 6


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
