"""The sections of a report, made from an incident's view and record, independent of how they are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from bot.chat.document import Line, Lines
from bot.domain.duration import span_words
from bot.domain.events import Approved, Endorsed, SampleTaken, StepFailed, StepVerified
from bot.domain.incident import Decision
from bot.domain.safe_text import one_line
from bot.domain.verdict import Verdict
from bot.extras.reports.cost import cost_words, spans
from bot.extras.reports.parts import Grid, Point, Points, ReportPart, Section, cells, paragraph
from bot.extras.reports.report_data import ReportData
from bot.view.context import ViewContext
from bot.view.plan_words import StepView
from bot.view.standing import nothing_done_words
from bot.view.view import IncidentView, incident_view, is_alarm
from bot.view.words import (
    NOT_READ,
    UNDECIDED,
    Instant,
    Person,
    Sentence,
    open_points,
    plain,
    rights_hint,
    trait_words,
    verdict_words,
    with_full_stop,
)

FIGURES = "figures"  # the finding that holds the figures measured on a watched node
NOT_OVER = "It is not over: this is its present state."


def view_of(data: ReportData) -> IncidentView:
    """Return the incident as every surface words it."""
    return incident_view(data.incident, ViewContext(words=data.words, head=data.head))


def about(data: ReportData) -> str:
    """Return a line: which incident, and when."""
    incident = data.incident
    until = data.ended_at
    when = f"{incident.opened_at:%Y-%m-%d %H:%M} UTC"
    lasted = f", {span_words(until - incident.opened_at)}" if until is not None else ", not over"
    return one_line(f"Incident {incident.id} · {incident.node or 'node not known'} · {when}{lasted}", 300)


def summary(data: ReportData, view: IncidentView) -> Section:
    """The state and the findings, in a few sentences."""
    parts: list[ReportPart] = [] if data.incident.ended else [paragraph(NOT_OVER)]
    if data.broken:
        parts.append(paragraph(f"The record does not prove this report: {data.broken}"))
    if view.story:
        parts.append(Line(view.story))
    if view.verdict is not None:
        parts += map(Line, verdict_words(view.verdict))
    alarms = [alert for alert in data.incident.alerts if is_alarm(alert)]
    asked = [alert for alert in data.incident.alerts if not is_alarm(alert)]
    points = [Point(f"{alert.kind} {alert.id}", (alert.text,)) for alert in alarms]
    points += [Point(f"asked by {alert.asked_by or alert.kind}", (alert.text,)) for alert in asked]
    return Section("Summary", (*parts, Points(tuple(points))))


def impact(data: ReportData, view: IncidentView) -> Section:
    """What it meant for the node and its workload, and what it cost."""
    parts: list[ReportPart] = []
    if view.verdict is not None:
        parts.append(paragraph(f"{view.node} was {view.verdict.status.value}."))
    steps = zip(data.incident.steps, view.plan.steps if view.plan is not None else (), strict=False)
    if view.plan is not None and (did := "; then ".join(step.impact for record, step in steps if record.may_have_run)):
        parts.append(paragraph(f"What the plan did: {did}."))
        parts += [Points(tuple(Point(line) for line in view.plan.moves))] if view.plan.moves else []
    parts += cost(data)
    if data.others:
        parts.append(paragraph(f"From the same alert, each with its own report: {', '.join(data.others)}."))
    return Section("Impact", tuple(parts))


def cost(data: ReportData) -> Iterator[ReportPart]:
    """Node-minutes and GPU-hours, and where the time went."""
    yield paragraph(cost_words(data))
    if data.ended_at is None:
        yield paragraph("Counted until this report was made.")
    rows = (
        ((what,), (Instant(since, exact=True),), (span_words(until - since),)) for what, since, until in spans(data)
    )
    yield Grid(("what", "from", "for"), tuple(rows))


def evidence(data: ReportData, view: IncidentView) -> Section:
    """What was seen, in sentences and pictures."""
    if view.verdict is None:
        return Section("Evidence", ())
    points = Points(_points_of((item.probe, item.says) for item in view.verdict.evidence))
    suspects = [paragraph(f"Suspected: {', '.join(view.verdict.suspects)}.")] if view.verdict.suspects else []
    environment = " · ".join((data.case.environment if data.case is not None else {}).values())
    read = f"{view.verdict.took_words.capitalize()}."
    known = trait_words(view.verdict.snapshot) or environment
    return Section("Evidence", (*data.pictures, points, *suspects, paragraph(f"{known}. {read}" if known else read)))


def node_lines(view: IncidentView) -> Section:
    """The node's own lines, on which the evidence rests."""
    found = view.verdict.evidence if view.verdict is not None else ()
    points = tuple(Point(item.probe, lines=item.source) for item in found if item.source)
    return Section("The node's own lines", (Points(points),), folded=True)


def profiles(data: ReportData) -> Section:
    """What the hot core ran, from profiles and from what captures caught."""
    return Section("Profiles", data.profiles)


def why(data: ReportData) -> Section:
    """What would change the verdict."""
    parts = (Points(_points_of(("", words) for words in data.why)), *((paragraph(data.no_why),) if data.no_why else ()))
    return Section("Why this verdict", parts, folded=True)


def left_open(view: IncidentView) -> Iterator[Section]:
    """What the verdict leaves open, and what it rules out; what was not read never counts as healthy."""
    for title, rows in open_points(view.verdict) if view.verdict is not None else ():
        yield Section(title, (Points(_points_of(rows)),), folded=title not in (UNDECIDED, NOT_READ))


def approvals(data: ReportData) -> Section:
    """Who decided what and why, and exactly what they approved."""
    incident = data.incident
    said_by = [each for each in (*incident.endorsements, incident.decision) if each is not None]
    rows = tuple(_decision_cells(each) for each in said_by)
    parts: list[ReportPart] = [Grid(("who", "when", "what", "because", "login"), rows)] if rows else []
    if incident.proposal is not None:
        parts.append(paragraph(f"The plan's digest is {incident.proposal.digest}. It was bound to:"))
        parts.append(Points(tuple(Point(name, (value,)) for name, value in sorted(incident.proposal.binds.items()))))
        if not rows:
            parts.insert(0, paragraph("Nobody has decided."))
    return Section("Approvals", tuple(parts))


def actions(data: ReportData, view: IncidentView) -> Section:
    """What was done, and what of it worked; else what would help. Each step with its exact commands and its outcome."""
    parts = list(_what_worked(data, view))
    if (plan := view.plan) is not None:
        parts += [] if data.incident.had_its_try else [paragraph("What would help:")]
        parts += [paragraph(words)] if (words := plan.ends_words()) else []
        parts.append(
            Points(
                tuple(
                    Point(f"Step {step.number}, {step.words}", (_step_words(step),), step.lines) for step in plan.steps
                )
            )
        )
        parts += map(paragraph, plan.notes)
    return Section("What was done", tuple(parts))


def before_and_after(data: ReportData, view: IncidentView) -> Section:
    """The figures before and after, and each reading while the node was watched."""
    rows = tuple(cells(*row) for row in view.compared)
    parts: list[ReportPart] = [Grid(("figure", "before", "after"), rows)]
    looks = list(_measurements(data))
    names = tuple(dict.fromkeys(name for _, _, figures in looks for name in figures))
    if looks and names:
        rows = tuple(
            ((Instant(at, exact=True),), (says,), *((figures.get(name, "—"),) for name in names))
            for at, says, figures in looks
        )
        parts += [paragraph("The figures over time:"), Grid(("when", "it", *names), rows)]
    return Section("Before and after", tuple(parts))


def before_reboot(data: ReportData) -> Section:
    """What the node said last, before its reboot destroyed it."""
    parts: list[ReportPart] = []
    for kept in data.before_reboot:
        parts += [Line((kept.title,)), *([Lines(tuple(kept.text.splitlines()))] if kept.text else [])]
    return Section("Kept before the reboot", tuple(parts), folded=True)


def to_do(view: IncidentView) -> Section:
    """What is left for people: the lasting fix, what to try, and what could not be read."""
    points: list[Point] = []
    fix = view.plan.lasting_fix if view.plan is not None else ""
    if fix := fix or _lasting_fix(view.verdict):
        points.append(Point("Lasting fix", (fix,)))
    if view.escalated is not None and view.escalated.try_next.strip():
        points.append(Point("To try", (view.escalated.try_next,)))
    if view.verdict is not None:
        if undecided := ", ".join(each.cause for each in view.verdict.undecided):
            points.append(Point("To be decided", (f"{undecided}: what was read neither shows nor rules them out.",)))
        if hint := rights_hint(view.verdict.unread):
            points.append(Point("To be read next time", (hint,)))
    nothing = (paragraph("The record names none."),) if not points else ()
    return Section("Action items", (*nothing, Points(tuple(points), to_do=True)))


def provenance(data: ReportData) -> Section:
    """Which versions made it, and how to verify it."""
    incident, case, triage = data.incident, data.case, data.incident.triage
    rows = [("report by", data.program), ("report made", plain((f"{data.made_at:%Y-%m-%d %H:%M:%S} UTC",)))]
    if triage is not None:
        rows.append(("playbook", f"{triage.playbook} {triage.playbook_version}"))
    if case is not None:
        rows += [("read and judged by", case.program), ("playbook digest", case.playbook_digest)]
    if triage is not None and triage.case:
        kept = "" if case is not None else "  (no longer kept)"
        rows.append(("what the node said, SHA-256", triage.case + kept))
    rows += [("entries", str(incident.seq)), ("hash of the last entry", incident.head)]
    if data.head:
        rows += [("record", data.head), ("to verify it", f"zombie audit verify --head {data.head}")]
    rows += [(name, by) for by, name in data.names.items() if name != by]
    return Section("Record", (Grid(("", ""), tuple(cells(*row) for row in rows)),), folded=True)


def _points_of(rows: Iterable[tuple[str, str]]) -> tuple[Point, ...]:
    return tuple(Point(about, (words,)) for about, words in rows)


def _what_worked(data: ReportData, view: IncidentView) -> Iterator[ReportPart]:
    """What worked and what did not, as far as the record proves it."""
    points: list[Point] = []
    steps = zip(data.incident.steps, view.plan.steps, strict=False) if view.plan is not None else ()
    for record, step in steps:
        word = "Worked" if isinstance(record.outcome, StepVerified) else "Did not work"
        if isinstance(record.outcome, StepVerified | StepFailed):
            points.append(Point(word, (f"{step.words}: {step.outcome}.",)))
    if data.incident.samples:
        held = sum(sample.holds for sample in data.incident.samples)
        points.append(Point("Watched", (f"The cure held in {held} of {len(data.incident.samples)} readings.",)))
    if view.escalated is not None:
        points.append(Point((data.incident.result or "did not work").capitalize(), (view.escalated.because,)))
    yield Points(tuple(points)) if points else paragraph(nothing_done_words(data.incident))


def _decision_cells(decision: Decision) -> tuple[Sentence, ...]:
    event = decision.event
    word = "approved" if isinstance(event, Approved) else "said yes" if isinstance(event, Endorsed) else "declined"
    return (Person(decision.by),), (Instant(decision.at, exact=True),), (word,), (event.reason,), (event.os_user,)


def _step_words(step: StepView) -> str:
    seen = (f"Seen: {'; '.join(step.seen)}.",) if step.seen else ()
    also = (f"It also does: {with_full_stop(step.also)}",) if step.also else ()
    outcome = with_full_stop(step.outcome.capitalize())
    return " ".join((f"{outcome} What it means: {with_full_stop(step.impact)}", *also, *seen))


def _measurements(data: ReportData) -> Iterator[tuple[datetime, str, dict[str, str]]]:
    """What was measured when the plan was proposed, and each time while the node was watched."""
    incident = data.incident
    if incident.proposal is not None and incident.proposed_at is not None and incident.proposal.figures:
        yield incident.proposed_at, "before", dict(incident.proposal.figures)
    for entry in data.entries:
        if entry.kind == SampleTaken.__name__ and isinstance(event := entry.event, SampleTaken):
            lines = [line for seen in event.seen if seen.finding == FIGURES for line in seen.source if "=" in line]
            yield entry.at, "holds" if event.holds else "does not hold", dict(line.split("=", 1) for line in lines)


def _lasting_fix(verdict: Verdict | None) -> str:
    return verdict.lasting_fix if verdict is not None and verdict.cause is not None else ""
