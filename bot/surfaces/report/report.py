"""The two forms of a report: everything, for a page; a post-incident document's sections, for Markdown."""

from __future__ import annotations

from dataclasses import replace

from bot.surfaces.report import sections
from bot.surfaces.report.account import Account
from bot.surfaces.report.parts import Grid, Points, Report, Section, said
from bot.surfaces.report.timeline import timeline


def whole_report(account: Account) -> Report:
    """Return everything that is known of an incident, for a page."""
    view = sections.view_of(account)
    return _report(
        account,
        sections.summary(account, view),
        sections.evidence(account, view),
        sections.profiles(account),
        sections.why(account),
        sections.open_causes(view),
        sections.ruled_out(view),
        sections.unread(view),
        sections.actions(view),
        sections.approvals(account),
        sections.before_and_after(account, view),
        sections.before_reboot(account),
        timeline(account),
        replace(sections.impact(account, view), title="Impact and cost"),
        sections.to_do(view),
        sections.provenance(account),
    )


def post_incident(account: Account) -> Report:
    """Return the sections that people expect of a post-incident document."""
    view = sections.view_of(account)
    causes = (
        sections.evidence(account, view),
        sections.profiles(account),
        sections.why(account),
        sections.open_causes(view),
        sections.ruled_out(view),
    )
    cause = Section(
        "Root cause", tuple(part for each in causes if _has(each) for part in (said(f"{each.title}:"), *each.parts))
    )
    after = sections.before_and_after(account, view)
    done = sections.actions(view)
    worked = sections.worked(account, view)
    return _report(
        account,
        sections.summary(account, view),
        sections.impact(account, view),
        timeline(account),
        cause,
        replace(worked, parts=(*worked.parts, *(done.parts if view.has_acted else ()), *after.parts)),
        sections.approvals(account),
        sections.to_do(view),
        sections.provenance(account),
    )


def _report(account: Account, *told: Section) -> Report:
    view = sections.view_of(account)
    return Report(view.headline, sections.about(account), tuple(filter(None, map(_kept, told))))


def _kept(section: Section) -> Section | None:
    """A section without its empty parts; None if all are empty."""
    parts = tuple(part for part in section.parts if not _is_empty(part))
    return replace(section, parts=parts) if parts else None


def _has(section: Section) -> bool:
    return _kept(section) is not None


def _is_empty(part: object) -> bool:
    return (isinstance(part, Points) and not part.points) or (isinstance(part, Grid) and not part.rows)
