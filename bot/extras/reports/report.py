"""A report: everything that is known of an incident, in the order in which people ask for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain.duration import span_words
from bot.domain.entry import Entry
from bot.domain.events import AlertJoined, AlertReceived
from bot.domain.safe_text import one_line
from bot.extras.reports import sections
from bot.extras.reports.parts import Grid, Points, Report, Section, paragraph
from bot.extras.reports.report_data import ReportData
from bot.seats import Moment
from bot.surfaces.incidents import entry_words, plan_of
from bot.view.words import Group, Instant, Person, Sentence


def whole_report(data: ReportData) -> Report:
    """Return everything that is known of an incident: what people ask first, then the evidence, then what is folded."""
    view = sections.view_of(data)
    found = (
        sections.summary(data, view),
        sections.impact(data, view),
        sections.actions(data, view),
        sections.before_and_after(data, view),
        timeline(data),
        sections.to_do(view),
        sections.approvals(data),
        sections.evidence(data, view),
        sections.profiles(data),
        *sections.left_open(view),
        sections.why(data),
        sections.node_lines(view),
        sections.before_reboot(data),
        sections.provenance(data),
    )
    report = Report(view.headline, sections.about(data), tuple(filter(None, map(_without_empty_parts, found[:-1]))))
    named: Report = _with_names(report, data.names)
    return replace(named, sections=(*named.sections, found[-1]))  # the record's own section has the ids


def _with_names(part: Any, names: Mapping[str, str]) -> Any:
    """Return a part of a report with people's names in place of their ids."""
    match part:
        case str():
            return re.sub("|".join(map(_person_pattern, names)), lambda found: names[found[0]], part) if names else part
        case tuple():
            return tuple(_with_names(each, names) for each in part)
        case bytes() | bool() | Instant() | Group() | None:
            return part
    return replace(part, **{each.name: _with_names(getattr(part, each.name), names) for each in fields(part)})


def _person_pattern(by: str) -> str:
    """A pattern for a person as the record names them, and for nobody whose id only begins alike."""
    return rf"(?<![\w/:-]){re.escape(by)}(?![\w-])"


def _without_empty_parts(section: Section) -> Section | None:
    """A section without its empty parts; None if all are empty."""
    parts = tuple(part for part in section.parts if not _is_empty(part))
    return replace(section, parts=parts) if parts else None


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
    rows = sorted(_timeline_rows(data), key=lambda row: row.at)  # entries of the same instant keep their order
    grid = Grid(
        _HEADS,
        tuple(
            (
                (Instant(row.at, exact=True),),
                (row.within,),
                (_time_after(begun, row.at),),
                row.source,
                (row.what,),
                (one_line(row.words, SAID),),
            )
            for row in rows
        ),
    )
    return Section("Timeline", (paragraph(_CLOCK), grid))


def _timeline_rows(data: ReportData) -> Iterator[_Row]:
    plan = plan_of(data.incident)
    for entry in data.entries:
        yield from _fired_row(entry)
        yield _Row(entry.at, "", (Person(entry.by),), entry.kind, entry_words(entry, data.words, plan))
    for moment in data.moments:
        yield _Row(moment.at, _within(moment), (moment.source,), moment.what, moment.words)


def _fired_row(entry: Entry) -> Iterator[_Row]:
    """When the alert fired according to its source, which is before it was recorded."""
    event = entry.known_event
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
    said = f"{seconds:.3f} s" if seconds < 1 else f"{seconds:.1f} s" if seconds < 100 else span_words(moment.error)
    return _unbroken(f"± {said}")


def _time_after(begun: datetime, at: datetime) -> str:
    return _unbroken(f"+{span_words(at - begun)}" if at >= begun else f"-{span_words(begun - at)}")


def _unbroken(figure: str) -> str:
    """Return a figure that is never separated from its unit by a line break."""
    return figure.replace(" ", "\u00a0")
