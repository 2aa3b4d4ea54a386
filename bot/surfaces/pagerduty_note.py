"""The PagerDuty note of a group of incidents, in plain words. Pure functions.

The note's last line is a mark by which it is found again, so that no failure makes a second note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bot.domain.incident import Incident, newest
from bot.domain.pagerduty import OURS, OutgoingAlert, page_id_of
from bot.domain.safe_text import one_line, redacted, redacted_line, redacted_text, safe_value
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.view.context import NOTHING, ViewContext
from bot.view.standing import choice_words
from bot.view.view import GroupView, IncidentView, group_view, incident_view, view_severity_key
from bot.view.words import NOT_READ, Sentence, joined, open_points, plain, verdict_words

RECORD, MARK = "record ", "[zombie "  # what lines of ours begin with
LIMIT = 1990  # characters; PagerDuty names no limit, and shows what is longer than 2,000 badly
LINE = 220
STORY = 750
ROW = 160
ROWS = 25
FEW_ENDS = 4  # rows of what ends


def mark(incident_id: str) -> str:
    """Return the last line of a note.

    Example: "[zombie 7k3m9x2qpv]"
    """
    return f"{MARK}{incident_id}]"


def pages_of(group: Sequence[Incident]) -> Mapping[str, tuple[Incident, ...]]:
    """Return the pages that a group's incidents came from, each with its incidents, the oldest first.

    Of a node that was reopened only the newest incident counts, and what acts on it, as on its card.
    """
    found: dict[str, list[Incident]] = {}
    for incident in sorted(group, key=lambda incident: (incident.opened_at, incident.id)):
        for alert in incident.alerts:
            if page := page_id_of(alert):
                found.setdefault(page, []).append(incident)
    return {page: _without_answered(newest(incidents)) for page, incidents in found.items()}


def _without_answered(incidents: tuple[Incident, ...]) -> tuple[Incident, ...]:
    """Leave out closed questions about which node is meant, where a node is known."""
    return tuple(incident for incident in incidents if incident.node or not incident.ended) or incidents


def note_text(
    incidents: Sequence[Incident], first: str, head: str = "", context: ViewContext = NOTHING, card: str = ""
) -> str:
    """Return the note of a page; empty while there is nothing to say.

    Shape: `first` is the incident that marks the note, `head` the record's, which a closing note carries; `card` is
    the address of the card in the chat, where known.
    """
    if not any(map(_has_something, incidents)):
        return ""
    group = group_view(incidents, context)
    last = [f"{RECORD}{head}"] if head and all(view.ended for view in group.incidents) else []
    last += [f"Card in {context.chat}: {card}"] if card else []
    links = group.incidents[0].links if len(group.incidents) == 1 else ()
    pages = {page for alert in incidents[0].alerts if (page := page_id_of(alert))}  # a link to them does not work here
    links = tuple((name, address) for name, address in links if not any(page in address for page in pages))
    last += [f"{one_line(name, 75)}: {address}" for name, address in links if len(address) <= LINE]
    last.append(f"The whole story: zombie incidents show {first}")
    last.append(mark(first))
    lines = _single_node_lines(group, group.incidents[0]) if len(group.incidents) == 1 else _several_nodes_lines(group)
    return _fitting_lines([_quote_reserved_line(redacted_text(line)) for line in lines], last)


def _quote_reserved_line(line: str) -> str:
    """Return a line that nobody takes for a head or a mark of ours, though a node's words may begin it."""
    return f"“{line}”" if line.startswith((RECORD, MARK)) else line


def is_read(incidents: Sequence[Incident]) -> bool:
    """True when none of their nodes is still to be read."""
    return all(map(_has_something, incidents))


def _has_something(incident: Incident) -> bool:
    return incident.verdict is not None or incident.question is not None or incident.ended


def without_head(note: str) -> str:
    """Return a note without the record's head, which may change although nothing else is new."""
    return "\n".join(line.rstrip() for line in note.strip().splitlines() if not line.startswith(RECORD))


def facts(incidents: Sequence[Incident], context: ViewContext = NOTHING) -> Mapping[str, str]:
    """Return the values for custom fields, by the bot's names for them; the worst node stands for all."""
    worst = min((incident_view(incident, context) for incident in incidents), key=view_severity_key)
    verdict = worst.verdict
    if verdict is None:
        return {}
    values = {
        "verdict": worst.headline,
        "status": verdict.status.value,
        "cause": verdict.cause or "",
        "nodes": str(len({incident.node for incident in incidents})),
        "state": worst.state.value,
        "incident": worst.id,
    }
    return {name: redacted_line(value) for name, value in values.items()}


def unfixed_alert(incident: Incident, context: ViewContext = NOTHING) -> OutgoingAlert | None:
    """Return the alert to raise for an incident whose remedy did not help, or did not run and is needed; else None."""
    view = incident_view(incident, context)
    if view.escalated is None or not (incident.had_its_try or (incident.has_begun and not incident.is_over)):
        return None
    what = incident.result if incident.had_its_try else "approved, but nothing was run"
    words = f"{one_line(view.node, 80)}: {what}. {view.escalated.because}"
    details = {
        "incident": view.id,
        "node": view.node,
        "cause": (view.verdict.cause or "") if view.verdict is not None else "",
        "because": view.escalated.because,
        "try_next": view.escalated.try_next,
        "done": [step.sentence for step in view.plan.steps[: len(incident.steps)]] if view.plan is not None else [],
    }
    clean = safe_value(redacted(details))
    return OutgoingAlert(f"{OURS}{view.id}", redacted_line(words, 1000), one_line(view.node, 200), details=clean)


def _single_node_lines(group: GroupView, view: IncidentView) -> Iterator[str]:
    yield one_line(view.headline, LINE)
    verdict = view.verdict
    if verdict is not None:
        yield from (one_line(plain(said), 400) for said in verdict_words(verdict))
    if view.plan is not None and not view.ended and (ends := view.plan.ends_words(FEW_ENDS)):
        yield one_line(ends, STORY)
    yield from _to_do_lines(group, view.story)
    if verdict is not None:
        yield from _evidence_lines(verdict, is_over=view.state is State.RESOLVED)


def _evidence_lines(verdict: Verdict, *, is_over: bool) -> Iterator[str]:
    yield from (f"- {one_line(item.probe, 40)}: {one_line(item.says, LINE)}" for item in verdict.evidence)
    if verdict.lasting_fix and verdict.cause is not None and not is_over:  # its story names the fix that is owed
        yield f"Lasting fix: {one_line(verdict.lasting_fix, LINE)}"
    for title, rows in open_points(verdict):
        named = [f"{name} ({says})" if title == NOT_READ else name for name, says in rows]
        yield f"{title}: {one_line(', '.join(named), LINE)}"


def _several_nodes_lines(group: GroupView) -> Iterator[str]:
    yield group.headline
    worst = min(group.incidents, key=view_severity_key)
    if worst.verdict is not None and worst.verdict.evidence:
        yield f"{one_line(worst.node, 80)}: {one_line(worst.verdict.summary, LINE)}"
    yield from _to_do_lines(group)
    yield from (one_line(f"- {group.row(view)}", ROW) for view in group.incidents[:ROWS])
    if len(group.incidents) > ROWS:
        yield f"- and {len(group.incidents) - ROWS} more: the card in {group.chat} shows them all"


def _to_do_lines(group: GroupView, story: Sentence = ()) -> Iterator[str]:
    """The state, what a decision needs, and what can be chosen where there are buttons."""
    if words := plain(joined((story, group.needs))):
        yield f"→ {one_line(words, STORY)}"
    if group.choices:
        yield one_line(f"In {group.chat}: {choice_words(group.choices)}.", STORY)


def _fitting_lines(lines: Sequence[str], last: Sequence[str]) -> str:
    """As many lines as there is room for, the most important first; `last` is never cut."""
    room = LIMIT - sum(len(line) + 1 for line in last)
    kept: list[str] = []
    for line in lines:
        if len(line) + 1 > room - 2:
            kept.append("…")
            break
        kept.append(line)
        room -= len(line) + 1
    return "\n".join([*kept, *last])
