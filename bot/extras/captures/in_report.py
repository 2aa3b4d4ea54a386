"""What captures add to the report of an incident: what they recorded and caught, where it belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.domain.entry import Entry
from bot.domain.incident import Incident
from bot.extras.captures.capture_fold import LED_TO, LOG_UNREAD, captures_of
from bot.extras.captures.events import CaptureBegan, CaptureEnded, SymptomCaught, capture_event
from bot.extras.captures.store import CaptureStore
from bot.extras.captures.words import caught_words, gap_words
from bot.extras.profiles.in_report import sketch_pictures
from bot.ledger import CaseStore, Database
from bot.seats import Moment, Picture

BEFORE = timedelta(days=1)  # this long before an incident a recording belongs to its story


def shown(
    database: Database, incident: Incident, entries: tuple[Entry, ...], ended: datetime | None
) -> Iterator[Moment | Picture]:
    """Yield the moments of the node's captures, and the pictures of the cores that they caught."""
    captures = CaptureStore(database).entries.now()
    of_node = {name: rolling for name, rolling in captures_of(captures).items() if rolling.node == incident.node}
    pictures: list[tuple[str, str]] = []
    for rolling in of_node.values():
        belong = [
            caught
            for caught in rolling.caught
            if caught.until >= incident.opened_at - LED_TO and (ended is None or caught.at <= ended)
        ]
        if gaps := [each for each in belong if each.symptom == LOG_UNREAD]:
            yield _moment(gaps[0], gap_words(gaps))
        for caught in belong:
            if caught.symptom != LOG_UNREAD:
                yield _moment(caught, caught_words(caught, rolling.is_over))
                pictures += [(rolling.id, caught.sketch)] if caught.sketch else []
    for entry in captures:
        event = capture_event(entry)
        if not isinstance(event, CaptureBegan | CaptureEnded) or event.capture not in of_node:
            continue
        rolling, source = of_node[event.capture], f"capture {event.capture}"
        # What was not read of one that overlaps the incident is known at its end, be that later.
        began = rolling.asked_at if isinstance(event, CaptureEnded) else entry.at
        if entry.at < incident.opened_at - BEFORE or (ended is not None and began > ended):
            continue
        if isinstance(event, CaptureBegan):
            words = f"every core of {incident.node}{'' if rolling.is_over else '; it still runs'}"
            yield Moment(entry.at, source, "recording begins", words, timedelta(0))
        else:
            words = "; not read: ".join((event.because, *event.unread))
            yield Moment(entry.at, source, "recording ends", words, timedelta(0))
    yield from sketch_pictures(CaseStore(database), pictures)


def _moment(event: SymptomCaught, words: str) -> Moment:
    error = None if event.error is None else timedelta(seconds=event.error)
    return Moment(event.at, f"capture {event.capture}", event.symptom, words, error)
