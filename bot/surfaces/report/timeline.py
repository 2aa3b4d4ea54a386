"""The timeline of a report: the record, the node's kernel log and what was captured, all on the same clock.

Each row says where it is from, and how exact its time is: times of other clocks are converted to the clock of the
record's database, and may be off by the error of that conversion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.duration import span
from bot.domain.entry import Entry
from bot.domain.errors import UnreadableEntry
from bot.domain.events import AlertJoined, AlertReceived
from bot.domain.safe_text import one_line
from bot.surfaces.incidents import plan_of
from bot.surfaces.incidents import said as entry_words
from bot.surfaces.report.parts import Grid, Section, said
from bot.surfaces.report.report_data import Moment, ReportData
from bot.surfaces.view.words import Instant, Person, Sentence

SAID = 2000  # characters of a row's words
_HEADS = ("when", "within", "after", "from", "what", "in words")
_CLOCK = (
    "All times are on the record's clock. Where “within” is empty, that clock took the time; others come from another "
    "clock and may be off by that much."
)


@dataclass(frozen=True, slots=True)
class _Row:
    at: datetime
    within: str
    source: Sentence
    what: str
    words: str


def timeline(data: ReportData) -> Section:
    """Everything that happened, in the order of time."""
    begun = data.incident.opened_at
    rows = sorted(_rows(data), key=lambda row: row.at)  # entries of the same instant keep their order
    grid = Grid(
        _HEADS,
        tuple(
            (
                (Instant(row.at, exact=True),),
                (row.within,),
                (_after(begun, row.at),),
                row.source,
                (row.what,),
                (one_line(row.words, SAID),),
            )
            for row in rows
        ),
    )
    return Section("Timeline", (said(_CLOCK), grid))


def _rows(data: ReportData) -> Iterator[_Row]:
    plan = plan_of(data.incident)
    for entry in data.entries:
        yield from _fired(entry)
        yield _Row(entry.at, "", (Person(entry.by),), entry.kind, entry_words(entry, data.words, plan))
    for moment in data.moments:
        yield _Row(moment.at, _within(moment), (moment.source,), moment.what, moment.words)


def _fired(entry: Entry) -> Iterator[_Row]:
    """When the alert fired according to its source, which is before it was recorded."""
    try:
        event = entry.event
    except UnreadableEntry:
        return
    if isinstance(event, AlertReceived | AlertJoined) and event.alert.fired_at is not None:
        alert = event.alert
        words = alert.text or alert.id
        yield _Row(event.alert.fired_at, "its source's clock", (alert.kind,), "alert fired", words)


def _within(moment: Moment) -> str:
    if moment.error is None:
        return "not known"
    seconds = moment.error / timedelta(seconds=1)
    if not seconds:
        return ""
    said = f"{seconds:.3f} s" if seconds < 1 else f"{seconds:.1f} s" if seconds < 100 else span(moment.error)
    return _together(f"± {said}")


def _after(begun: datetime, at: datetime) -> str:
    return _together(f"+{span(at - begun)}" if at >= begun else f"-{span(begun - at)}")


def _together(figure: str) -> str:
    """Return a figure that is never separated from its unit by a line break."""
    return figure.replace(" ", "\u00a0")
