"""What captures add to the report of an incident: what they recorded and caught, where it belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.domain.entry import Entry
from bot.domain.incident import Incident
from bot.extras.captures.capture_fold import LED_TO, LOG_UNREAD, captures_of
from bot.extras.captures.events import CaptureBegan, CaptureEnded, SymptomCaught, capture_event
from bot.extras.captures.store import CaptureStore
from bot.extras.captures.words import gap_words
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
    caught: list[tuple[str, str]] = []
    gaps: dict[str, list[SymptomCaught]] = {}
    for entry in captures:
        event = capture_event(entry)
        if not isinstance(event, CaptureBegan | CaptureEnded | SymptomCaught) or event.capture not in of_node:
            continue
        at, since = (event.at, LED_TO) if isinstance(event, SymptomCaught) else (entry.at, BEFORE)
        rolling = of_node[event.capture]
        # What was not read of one that overlaps the incident is known at its end, be that later.
        began = rolling.asked_at if isinstance(event, CaptureEnded) else at
        if at < incident.opened_at - since or (ended is not None and began > ended):
            continue
        source = f"capture {event.capture}"
        match event:
            case SymptomCaught(symptom=symptom) if symptom == LOG_UNREAD:
                gaps.setdefault(event.capture, []).append(event)
            case SymptomCaught(sentence=sentence, unread=unread, sketch=sketch):
                yield _moment(event, f"{sentence}; not read: {unread}" if unread else sentence)
                caught += [(event.capture, sketch)] if sketch else []
            case CaptureBegan():
                words = f"every core of {incident.node}{'' if rolling.is_over else '; it still runs'}"
                yield Moment(at, source, "recording begins", words, timedelta(0))
            case CaptureEnded(because=because):
                words = "; not read: ".join((because, *event.unread))
                yield Moment(at, source, "recording ends", words, timedelta(0))
    yield from (_moment(parts[0], gap_words(parts)) for parts in gaps.values())
    yield from sketch_pictures(CaseStore(database), caught)


def _moment(event: SymptomCaught, words: str) -> Moment:
    error = None if event.error is None else timedelta(seconds=event.error)
    return Moment(event.at, f"capture {event.capture}", event.symptom, words, error)
