"""The two forms of a report: everything, for a page; a post-incident document's sections, for Markdown."""

from __future__ import annotations

from dataclasses import replace

from bot.surfaces.report import sections
from bot.surfaces.report.parts import Grid, Points, Report, Section, said
from bot.surfaces.report.report_data import ReportData
from bot.surfaces.report.timeline import timeline


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
