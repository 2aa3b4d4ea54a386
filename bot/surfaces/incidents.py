"""Incidents for a terminal and for scripts: the list, and the whole story of an incident."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bot.domain.action import Plan
from bot.domain.duration import span_words
from bot.domain.entry import Entry, instant_text
from bot.domain.events import (
    AlertJoined,
    AlertReceived,
    Cancelled,
    Escalated,
    PlanProposed,
    PlanWithheld,
    ProfileTaken,
    QuestionAsked,
    Resolved,
    SampleTaken,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    Triaged,
    ValidationStarted,
)
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.safe_text import one_line, safe, safe_value
from bot.surfaces.verdict_text import headline, table_lines, verdict_text, wrapped
from bot.view.before_after import FigureRow, before_and_after
from bot.view.context import NOTHING, ViewContext
from bot.view.plan_words import BY_NAME, PlanWords
from bot.view.standing import choice_words
from bot.view.view import group_view
from bot.view.words import joined, plain

_TITLES = ("INCIDENT", "NODE", "STATE", "CAUSE", "SOURCE", "OPENED (UTC)")
# The fields in which an event says what happened, in the order of the search.
_FEW_ENDS = 5  # rows of what ends, in a line
LONGEST, LONGEST_PLAN = 300, 4_000  # letters of an entry; what a plan does and moves is never cut off
_WORDS = ("because", "reason", "summary", "answer", "node", "sentence")


def incidents_body(summaries: Sequence[IncidentSummary]) -> list[dict[str, Any]]:
    """Return the list as JSON values."""
    return [_summary_body(summary) for summary in summaries]


def incident_body(incident: Incident, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return an incident with all its entries as JSON values."""
    cells = [
        {"seq": entry.seq, "at": instant_text(entry.at), "by": entry.by, "kind": entry.kind, "body": entry.body}
        for entry in entries
    ]
    body: dict[str, Any] = safe_value(_summary_body(incident.summary) | {"entries": cells})
    return body


def incidents_text(summaries: Sequence[IncidentSummary]) -> str:
    """Return the list as a table, or a sentence where it is empty.

    Example:
    >>> incidents_text([])
    'No incidents.\\n'
    """
    if not summaries:
        return "No incidents.\n"
    return "".join(f"{line}\n" for line in table_lines([_TITLES, *map(_summary_row, summaries)]))


def incident_text(incident: Incident, entries: Sequence[Entry], width: int = 80, context: ViewContext = NOTHING) -> str:
    """Return the whole story of an incident: its state, a line for each entry, then the verdict."""
    group = group_view([incident], context)
    (view,) = group.incidents
    words = [view.id, view.node or "(node not known)", view.state.value, incident.summary.cause or ""]
    lines = ["  ".join(words).rstrip()]
    if incident.group:
        lines.append(f"  group {incident.group}")
    lines += wrapped(plain(joined(((f"{view.headline}.",), view.story, group.needs))), width, "  ")
    if group.choices:
        lines += wrapped(f"A person can {choice_words(group.choices)}: zombie remediate {view.id}", width, "  ")
    lines.append("")
    by = max(len(entry.by) for entry in entries)
    kind = max(len(entry.kind) for entry in entries)
    for entry in entries:
        at = f"{entry.at:%Y-%m-%d %H:%M:%S}"
        head = f"  {entry.seq:>2}  {at}  {safe(entry.by):<{by}}  {safe(entry.kind):<{kind}}  "
        longest = LONGEST_PLAN if entry.kind == PlanProposed.__name__ else LONGEST
        lines.append((head + one_line(entry_words(entry, context.words, plan_of(incident)), longest)).rstrip())
    lines += _before_and_after(view.compared)
    if incident.verdict is not None:
        shown_only = incident.proposal is None
        lines += ["", verdict_text(incident.verdict, width, words=context.words, shown_only=shown_only).rstrip("\n")]
    return safe("\n".join(lines)) + "\n"


def plan_of(incident: Incident) -> Plan | None:
    """The plan whose steps its entries number; None where none was proposed."""
    return incident.proposal.plan if incident.proposal is not None else None


def entry_line(entry: Entry, words: PlanWords = BY_NAME, plan: Plan | None = None) -> str:
    """Return an entry as a line, for a story printed while it happens; below a cure, what was before and after."""
    head = f"{entry.at:%H:%M:%S}  {safe(entry.by):<14}  {safe(entry.kind):<18}  "
    line = (head + one_line(entry_words(entry, words, plan), 400)).rstrip()
    event = entry.known_event
    return "\n".join(
        (line, *_before_and_after(before_and_after(event.compared) if isinstance(event, Resolved) else ()))
    )


def _before_and_after(rows: Sequence[FigureRow]) -> list[str]:
    """The table of a cure's figures, below an empty line; nothing for what is no cure or has no figures."""
    return ["", *(f"  {line}" for line in table_lines([("", "before", "after"), *rows]))] if rows else []


def entry_words(entry: Entry, words: PlanWords = BY_NAME, plan: Plan | None = None) -> str:
    """Return what an entry says, in words; `plan` is that of its incident, and names the steps."""
    event = entry.known_event
    match event:
        case None:
            return "(only a newer program knows this)"
        case AlertReceived(alert=alert) | AlertJoined(alert=alert):
            asked = f"{alert.kind} {alert.id}" + (f", asked by {alert.asked_by}" if alert.asked_by else "")
            return f"{asked}: {alert.text}" if alert.text else asked
        case ProfileTaken(headline=burns, sampled=sampled, unread=unread):
            return " ".join(part for part in (burns, sampled, unread) if part)
        case Triaged(verdict=verdict):
            return f"{headline(verdict)}  {verdict.summary}"
        case PlanWithheld(because=because, lacking=lacking):
            return because + "".join(f"; lacking: {line}" for line in lacking)
        case PlanProposed(plan=plan, digest=digest, binds=binds, affects=affects, approvals_needed=needed):
            view = words.view(plan, binds=binds)
            ends = [ends.rstrip(".")] if (ends := view.ends_words(_FEW_ENDS)) else []
            also = [sentence.rstrip(".") for sentence in view.also]
            moves = [f"moves {len(affects)}: {'; '.join(affects)}"] if affects else []
            approvals = [f"{needed} people have to say yes"] if needed > 1 else []
            return "; ".join([f"{words.plan(plan)} [{digest[:16]}]", *approvals, *ends, *also, *moves, *plan.notes])
        case StepStarted(number=number, attempt=attempt, kept_says=kept):
            again = f", attempt {attempt}" if attempt > 1 else ""
            return _step(number, words, plan) + again + (f"; kept: {kept}" if kept else "")
        case StepVerified(number=number, took=took, otherwise=""):
            return f"{_step(number, words, plan)}, proved after {span_words(took)}"
        case (
            StepVerified(number=number, otherwise=because)
            | StepSkipped(number=number, because=because)
            | StepFailed(number=number, because=because)
        ):
            return f"{_step(number, words, plan)}: {because}"
        case ValidationStarted(window=window, note=note, waiting=waiting):
            then = f" before the last {'step' if waiting == 1 else f'{waiting} steps'}" if waiting else ""
            return f"watched for {span_words(window)}{then}" + (f"; {note}" if note else "")
        case Cancelled(because=because, differences=differences):
            return " ".join((because, *differences))
        case Escalated(because=because, try_next=try_next):
            return f"{because} {try_next}".strip()
        case SampleTaken(holds=holds, seen=seen):
            return "; ".join(["holds" if holds else "does not hold", *(item.says for item in seen)])
        case QuestionAsked(question=question, options=options):
            return question + (f" ({' / '.join(options)})" if options else "")
    return next((str(getattr(event, name)) for name in _WORDS if getattr(event, name, "")), "")


def _step(number: int, words: PlanWords, plan: Plan | None) -> str:
    """A step by its number and, where the plan is known, by what it does."""
    steps = words.view(plan).steps if plan is not None else ()
    return f"step {number}, {steps[number - 1].words}" if 0 < number <= len(steps) else f"step {number}"


def _summary_body(summary: IncidentSummary) -> dict[str, Any]:
    return {
        "id": summary.id,
        "node": summary.node,
        "group": summary.group,
        "state": summary.state.value,
        "cause": summary.cause,
        "source": {"kind": summary.source, "id": summary.source_id},
        "opened_at": instant_text(summary.opened_at),
        "updated_at": instant_text(summary.updated_at),
    }


def _summary_row(summary: IncidentSummary) -> tuple[str, ...]:
    source = f"{summary.source} {summary.source_id}" if summary.source_id else summary.source
    cells = (summary.id, summary.node or "?", summary.state.value, summary.cause or "", source)
    return (*(one_line(cell, 40) for cell in cells), f"{summary.opened_at:%Y-%m-%d %H:%M:%S}")
