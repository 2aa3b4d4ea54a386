"""What stands in PagerDuty of a group of incidents: one note, in plain words. Pure functions.

The note's last line is a mark by which it is found again, so that nothing that happens on the way makes a second one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.domain.events import (
    Approved,
    Cancelled,
    Declined,
    Endorsed,
    Escalated,
    Expired,
    PlanWithheld,
    Resolved,
    StepFailed,
)
from bot.domain.incident import Decision, Incident
from bot.domain.pagerduty import OURS, Raised, page_of
from bot.domain.plan import Plan
from bot.domain.redaction import redacted_text
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Status, Verdict

LIMIT = 1990  # characters; PagerDuty names no limit, and shows what is longer than 2,000 badly
LINE = 220
ROWS = 25
HEAD = 12  # digits, as many as `zombie audit verify --head` asks for
_WORST_FIRST = (Status.CRITICAL, Status.DEGRADED, Status.UNKNOWN, Status.UNREACHABLE, Status.HEALTHY)
_CLOSING = {
    State.RESOLVED: "Resolved: ",
    State.DECLINED: "Declined: ",
    State.EXPIRED: "Expired: ",
    State.CANCELLED: "Cancelled: ",
    State.ESCALATED: "Escalated: ",
}
_VERBS = {"disable_unit": "disable", "mask_unit": "mask"}


def mark(incident_id: str) -> str:
    """Return the last line of a note.

    Example: "[zombie 7k3m9x2qpv]"
    """
    return f"[zombie {incident_id}]"


def pages_of(group: Sequence[Incident]) -> Mapping[str, tuple[Incident, ...]]:
    """Return the pages that a group's incidents came of, each with those of them that did, the oldest first.

    Of a node that was opened anew only the newest incident counts, as on its card.
    """
    found: dict[str, dict[str, Incident]] = {}
    for incident in sorted(group, key=lambda one: (one.opened_at, one.id)):
        for alert in incident.alerts:
            if page := page_of(alert):
                found.setdefault(page, {})[incident.node or incident.id] = incident
    return {page: _without_answered(tuple(nodes.values())) for page, nodes in found.items()}


def _without_answered(incidents: tuple[Incident, ...]) -> tuple[Incident, ...]:
    """Leave out questions for the node that are over, where a node is known."""
    return tuple(one for one in incidents if one.node or not one.ended) or incidents


def note_text(incidents: Sequence[Incident], first: str, head: str = "") -> str:
    """Return the note of a page; empty while there is nothing to say.

    Shape: `first` is the incident that marks the note, `head` the house's hash, which a closing note carries.
    """
    if not any(map(_has_something, incidents)):
        return ""
    last = [f"record {head[:HEAD]}"] if head and all(one.ended for one in incidents) else []
    last.append(mark(first))
    lines = _one(incidents[0]) if len(incidents) == 1 else _several(incidents)
    return _fitted([redacted_text(line) for line in lines], last)


def is_read(incidents: Sequence[Incident]) -> bool:
    """True when nothing of them is still to be read."""
    return all(map(_has_something, incidents))


def _has_something(incident: Incident) -> bool:
    return incident.verdict is not None or incident.question is not None or incident.ended


def without_head(note: str) -> str:
    """Return a note without the house's hash, which may be a later one without anything being new."""
    return "\n".join(line.rstrip() for line in note.strip().splitlines() if not line.startswith("record "))


def facts(incidents: Sequence[Incident]) -> Mapping[str, str]:
    """Return what custom fields may hold, by our name of it."""
    worst = min(incidents, key=_badness)
    verdict = worst.verdict
    if verdict is None:
        return {}
    told = {
        "verdict": headline(worst),
        "status": verdict.status.value,
        "cause": verdict.cause or "",
        "nodes": str(len(incidents)),
        "state": worst.state.value,
        "incident": worst.id,
    }
    return {name: redacted_text(one_line(value, 200)) for name, value in told.items()}


def not_fixed(incident: Incident) -> Raised | None:
    """Return the alert to raise for an incident in which something was done, and did not help; None for any other."""
    if not isinstance(incident.ending, Escalated) or not any(step.started is not None for step in incident.steps):
        return None
    words = f"{one_line(incident.node, 80)}: acted, but not fixed. {incident.ending.because}"
    details = {
        "incident": incident.id,
        "node": incident.node,
        "cause": (incident.verdict.cause or "") if incident.verdict is not None else "",
        "because": incident.ending.because,
        "try_next": incident.ending.try_next,
        "done": [step_words(incident, step.number) for step in incident.steps],
    }
    clean = {name: redacted_text(text) if isinstance(text, str) else text for name, text in details.items()}
    return Raised(
        f"{OURS}{incident.id}", redacted_text(one_line(words, 1000)), one_line(incident.node, 200), details=clean
    )


def headline(incident: Incident) -> str:
    """Return the first words: how it ended, the node, its status and cause."""
    words = one_line(incident.node, 80) or "node not known yet"
    if (verdict := incident.verdict) is not None:
        words += f": {verdict.status.value.upper()}"
        if verdict.cause is not None:
            words += f", {one_line(verdict.cause, 80)}"
            words += f" ({verdict.confidence.value})" if verdict.confidence is not None else ""
    if incident.ended and incident.is_over and incident.state not in (State.RESOLVED, State.ESCALATED):
        return f"Resolved upstream: {words}"
    if incident.ended and incident.state in _CLOSING:
        return _CLOSING[incident.state] + words
    return f"Reopened: {words}" if incident.reopens else words


def plan_words(plan: Plan) -> str:
    """Return what a plan does, in a few words.

    Example: "disable ecs.service, then reboot".
    """
    steps = [" ".join([_VERBS.get(step.action, step.action), *step.args.values()]) for step in plan.steps]
    return one_line(", then ".join(steps), LINE)


def step_words(incident: Incident, number: int) -> str:
    """Return what became of a step, in a few words."""
    record = incident.steps[number - 1]
    plan = incident.proposal.plan if incident.proposal is not None else None
    what = plan_words(Plan(plan.node, (plan.steps[number - 1],))) if plan and number <= len(plan.steps) else "step"
    match record.outcome:
        case None:
            return f"{what}: under way"
        case StepFailed(because=because):
            return f"{what}: {one_line(because, LINE)}"
    return f"{what}: done" if record.started is not None else f"{what}: was done already"


# --- one node


def _one(incident: Incident) -> Iterator[str]:
    yield headline(incident)
    verdict = incident.verdict
    if verdict is not None:
        yield from (one_line(text, 400) for text in (verdict.summary, verdict.try_next) if text.strip())
    yield f"→ {_stands(incident)}"
    if verdict is not None:
        yield from _proof(verdict)


def _proof(verdict: Verdict) -> Iterator[str]:
    yield from (f"- {one_line(one.probe, 40)}: {one_line(one.says, LINE)}" for one in verdict.evidence)
    if verdict.lasting_fix and verdict.cause is not None:
        yield f"Lasting fix: {one_line(verdict.lasting_fix, LINE)}"
    if verdict.unread:
        yield "Not read: " + one_line("; ".join(f"{one.probe} ({one.reason})" for one in verdict.unread), LINE)
    if verdict.ruled_out:
        yield "Ruled out: " + one_line(", ".join(one.cause for one in verdict.ruled_out), LINE)


def _stands(incident: Incident) -> str:
    """How it stands, and what is wanted of whom."""
    match incident.state:
        case State.OPENED:
            return "It is being read."
        case State.TRIAGED if incident.withheld is not None:
            return f"Nothing is offered: {one_line(incident.withheld.because, LINE)}"
        case State.TRIAGED:
            return "Nothing was done; there is nothing to decide."
        case State.PROPOSED if incident.proposal is not None:
            return f"Waits for approval in Slack: {plan_words(incident.proposal.plan)}. Nothing is done before that."
        case State.APPROVED:
            return f"{_by(incident.decision)}; it has not begun yet."
        case State.ACTING | State.VERIFYING:
            steps = "; ".join(step_words(incident, step.number) for step in incident.steps)
            watched = "; all steps are through, and the node is watched" if incident.state is State.VERIFYING else ""
            return f"{_by(incident.decision)}. {one_line(steps, LINE)}{watched}."
        case State.UNKNOWN if incident.question is not None:
            return f"A question, to be answered in Slack: {one_line(incident.question.question, LINE)}"
    match incident.ending:
        case Resolved(summary=summary):
            return f"{one_line(summary, LINE)} {_by(incident.decision)}."
        case Declined():
            return f"{_by(incident.decision)}. Nothing was done."
        case Escalated(because=because, try_next=try_next):
            return one_line(f"A person has to take over: {because} {try_next}", 2 * LINE)
        case Cancelled(because=because) | Expired(because=because) | PlanWithheld(because=because):
            return f"{one_line(because, LINE)} Nothing was done."
    return incident.state.value


def _by(decision: Decision | None) -> str:
    if decision is None:
        return "Not decided"
    word = "Declined" if isinstance(decision.event, Declined) else "Approved"
    said: Approved | Endorsed | Declined = decision.event
    return f"{word} by {one_line(decision.by, 80)} at {decision.at:%H:%M} UTC: “{one_line(said.reason, 120)}”"


# --- several nodes


def _several(incidents: Sequence[Incident]) -> Iterator[str]:
    verdicts = [one.verdict for one in incidents if one.verdict is not None]
    counts = {status: sum(1 for one in verdicts if one.status is status) for status in _WORST_FIRST}
    told = [f"{count} {status.value}" for status, count in counts.items() if count]
    if len(verdicts) < len(incidents):
        told.append(f"{len(incidents) - len(verdicts)} not read yet")
    yield f"{'Resolved: ' if _all_resolved(incidents) else ''}{len(incidents)} nodes: {', '.join(told)}"
    ordered = sorted(incidents, key=_badness)
    if (worst := ordered[0].verdict) is not None and worst.evidence:
        yield f"{one_line(ordered[0].node, 80)}: {one_line(worst.summary, LINE)}"
    for one in ordered[:ROWS]:
        yield one_line(f"- {headline(one)}" + (f" → {short}" if (short := _shortly(one)) else ""), 160)
    if len(ordered) > ROWS:
        yield f"- and {len(ordered) - ROWS} more: the card in Slack has them all"


def _shortly(incident: Incident) -> str:
    if incident.state is State.TRIAGED and incident.withheld is None:
        return ""
    return _stands(incident).removesuffix(" Nothing is done before that.")


def _all_resolved(incidents: Sequence[Incident]) -> bool:
    return all(one.state is State.RESOLVED for one in incidents)


def _badness(incident: Incident) -> tuple[int, int]:
    place = _WORST_FIRST.index(incident.verdict.status) if incident.verdict is not None else len(_WORST_FIRST)
    return place, -(incident.verdict.confidence.rank if incident.verdict and incident.verdict.confidence else 0)


def _fitted(lines: Sequence[str], last: Sequence[str]) -> str:
    """As many lines as there is room for, those that matter most being first; the last ones always."""
    room = LIMIT - sum(len(line) + 1 for line in last)
    kept: list[str] = []
    for line in lines:
        if len(line) + 1 > room - 2:
            kept.append("…")
            break
        kept.append(line)
        room -= len(line) + 1
    return "\n".join([*kept, *last])
