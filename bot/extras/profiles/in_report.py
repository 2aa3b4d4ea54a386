"""What profiles add to the report of an incident: pictures of what the hottest core ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from bot.domain.entry import Entry
from bot.domain.errors import LedgerUnavailable
from bot.domain.events import ProfileTaken
from bot.domain.incident import Incident
from bot.extras.profiles.sketch import Sketch
from bot.extras.profiles.sketches import sketch_in
from bot.ledger import CaseStore, Database, Ledger
from bot.seats import Picture

MOST_SKETCHES = 6


def shown(
    database: Database, incident: Incident, entries: tuple[Entry, ...], ended: datetime | None
) -> Iterator[Picture]:
    """Yield the pictures of profiles taken from the incident's card."""
    profiles = [
        event.sketch
        for entry in entries
        if entry.kind == ProfileTaken.__name__ and isinstance(event := entry.event, ProfileTaken) and event.sketch
    ]
    # A profile that changed a verdict is in two incidents of a card; its sketch is stored with the first.
    together = Ledger(database).incident_ids_of_card.now(incident.card) if profiles else ()
    yield from sketch_pictures(CaseStore(database), [(under, digest) for digest in profiles for under in together])


def sketch_pictures(kept: CaseStore, wanted: Iterable[tuple[str, str]]) -> Iterator[Picture]:
    """Yield the pictures of sketches, each given with what it is stored under; those that are gone are left out."""
    found = (_sketch(kept, under, digest) for under, digest in dict.fromkeys(wanted))
    for drawn in islice(filter(None, found), MOST_SKETCHES):
        yield from _both_pictures(drawn)


def _sketch(kept: CaseStore, under: str, digest: str) -> Sketch | None:
    try:
        return sketch_in(kept.text.now(under, digest))
    except LedgerUnavailable:  # a damaged picture must not stop the report
        return None


def _both_pictures(drawn: Sketch) -> Iterator[Picture]:
    from bot.extras.profiles.flame_picture import (  # Pillow is loaded where a picture is drawn
        flame_picture,
        heat_map_picture,
    )

    flame, seconds = drawn.alt_texts
    yield Picture(flame_picture(drawn), flame)
    yield Picture(heat_map_picture(drawn), seconds)
