"""The two forms of a report: everything, for a page; a post-incident document's sections, for Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.domain.duration import span
from bot.domain.entry import Entry
from bot.domain.errors import UnreadableEntry
from bot.domain.events import AlertJoined, AlertReceived
from bot.domain.safe_text import one_line
from bot.extras.reports import sections
from bot.extras.reports.parts import Grid, Points, Report, Section, said
from bot.extras.reports.report_data import ReportData
from bot.seats import Moment
from bot.surfaces.incidents import plan_of
from bot.surfaces.incidents import said as entry_words
from bot.view.words import Instant, Person, Sentence


def whole_report(data: ReportData) -> Report:
    """Return everything that is known of an incident, for a page."""
    view = sections.view_of(data)
    return _report(
        data,
        sections.summary(data, view),
        sections.evidence(data, view),
        sections.profiles(data),
        sections.why(data),
        sections.open_causes(view),
        sections.ruled_out(view),
        sections.unread(view),
        sections.actions(view),
        sections.approvals(data),
        sections.before_and_after(data, view),
        sections.before_reboot(data),
        timeline(data),
        replace(sections.impact(data, view), title="Impact and cost"),
        sections.to_do(view),
        sections.provenance(data),
    )


def post_incident(data: ReportData) -> Report:
    """Return the sections that people expect of a post-incident document."""
    view = sections.view_of(data)
    causes = (
        sections.evidence(data, view),
        sections.profiles(data),
        sections.why(data),
        sections.open_causes(view),
        sections.ruled_out(view),
    )
    cause = Section(
        "Root cause", tuple(part for each in causes if _has(each) for part in (said(f"{each.title}:"), *each.parts))
    )
    after = sections.before_and_after(data, view)
    done = sections.actions(view)
    worked = sections.worked(data, view)
    return _report(
        data,
        sections.summary(data, view),
        sections.impact(data, view),
        timeline(data),
        cause,
        replace(worked, parts=(*worked.parts, *(done.parts if view.has_acted else ()), *after.parts)),
        sections.approvals(data),
        sections.to_do(view),
        sections.provenance(data),
    )


def _report(data: ReportData, *sections_: Section) -> Report:
    view = sections.view_of(data)
    return Report(view.headline, sections.about(data), tuple(filter(None, map(_kept, sections_))))


def _kept(section: Section) -> Section | None:
    """A section without its empty parts; None if all are empty."""
    parts = tuple(part for part in section.parts if not _is_empty(part))
    return replace(section, parts=parts) if parts else None


def _has(section: Section) -> bool:
    return _kept(section) is not None


def _is_empty(part: object) -> bool:
    return (isinstance(part, Points) and not part.points) or (isinstance(part, Grid) and not part.rows)


# --- The timeline of a report: the record, the node's kernel log and what was captured, all on the same clock
#
# Each row says where it is from, and how exact its time is: times of other clocks are converted to the clock of the
# record's database, and may be off by the error of that conversion.


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
