"""The card of a group of incidents in every state after the verdict. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.domain.events import Cancelled, Escalated, PlanWithheld
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from bot.surfaces.slack.alarm_words import REOPENED, about
from bot.surfaces.slack.buttons import asked_buttons, decision_buttons, undo_buttons
from bot.surfaces.slack.card import verdict_card
from bot.surfaces.slack.message import (
    ALL_BLOCKS,
    TEXT,
    Block,
    Message,
    bullets,
    clipped,
    escaped,
    fitted,
    footnote,
    header,
    length,
    paragraph,
    preformatted,
    titled,
)
from bot.surfaces.slack.plan_blocks import SAID, approver_pieces, decided_line, plan_blocks, step_list
from bot.surfaces.slack.rich import date, line, person, slack_user, text, told_by
from bot.surfaces.slack.state_words import headline, is_withheld, looks, mark, row, told
from bot.surfaces.slack.telling import Telling

EVIDENCE = 5
ROWS = 10
ROW = 200
MOST_ASKED = 5  # questions with their buttons on one card; answered, they make room for the next
_BEYOND = (State.UNKNOWN, State.ESCALATED, State.CANCELLED)
_FIRST = (
    State.UNKNOWN,
    State.ESCALATED,
    State.PROPOSED,
    State.ACTING,
    State.APPROVED,
    State.VERIFYING,
    State.CANCELLED,
    State.EXPIRED,
    State.DECLINED,
    State.RESOLVED,
    State.TRIAGED,
    State.OPENED,
)


def acting_card(group: Sequence[Incident], telling: Telling) -> Message | None:
    """Return a group's card; None while its check is still under way, or where there is nothing beyond the verdicts."""
    if not group or any(one.state is State.OPENED for one in group):
        return None
    if not any(one.proposal is not None or is_withheld(one) or one.state in _BEYOND for one in group):
        return None
    if any(one.state is State.TRIAGED and not one.ended for one in group):
        return None  # whether its plan is offered is about to be known
    return _one(group[0], telling) if len(group) == 1 else _table(group, telling)


def _one(incident: Incident, telling: Telling) -> Message:
    if incident.withheld is not None and incident.verdict is not None:
        return _withheld(incident, incident.verdict, incident.withheld, telling)
    first: list[Block] = [header(f"{mark(incident)} {headline(incident)}")]
    if incident.verdict is not None and incident.verdict.summary.strip() and not incident.ended:
        first.append(paragraph(clipped(incident.verdict.summary, SAID * 2)))
    middle: list[Block] = []
    if incident.verdict is not None and incident.state in (State.PROPOSED, State.UNKNOWN):
        seen = [(one.probe, one_line(one.says, SAID)) for one in incident.verdict.evidence[:EVIDENCE]]
        middle = [bullets([(clipped(word, 60), says) for word, says in seen])] if seen else []
    last = [*_state_blocks(incident, telling), *_buttons([incident], telling), *_small_print([incident], telling)]
    said = told(incident, telling)
    if incident.verdict is not None and not incident.ended:
        said += f" {escaped(one_line(incident.verdict.summary, SAID))}"
    return Message(clipped(said, TEXT), fitted(first, middle, last))


def _withheld(incident: Incident, verdict: Verdict, withheld: PlanWithheld, telling: Telling) -> Message:
    """The verdict as it stood, and why what would help has no button."""
    base = verdict_card(verdict, slack_user(incident.alert.asked_by), incident.id)
    last: list[Block] = [
        titled("What would help is not offered"),
        paragraph(clipped(withheld.because, SAID * 2)),
    ]
    if withheld.lacking:
        last.append(titled("The login lacks these sudoers lines"))
        last.append(preformatted([clipped(one_line(each, 10_000), SAID) for each in withheld.lacking[:6]]))
    if telling.head:
        last.append(footnote(f"record {telling.head}"))
    if said := about([incident]):
        last.append(footnote(said))
    lacking = "; ".join(one_line(each, SAID) for each in withheld.lacking)
    words = [told(incident, telling), *([escaped(f"Lacking: {lacking}.")] if lacking else []), escaped(verdict.summary)]
    return Message(clipped(" ".join(words), TEXT), fitted(base.blocks[:1], base.blocks[1:], last))


def _state_blocks(incident: Incident, telling: Telling) -> Iterator[Block]:
    match incident.state:
        case State.PROPOSED:
            yield from plan_blocks(incident.proposal) if incident.proposal is not None else ()
            if who := telling.checking.get(incident.id):
                yield line(text("checking… "), person(who), text(" said yes, and the node is looked at again."))
            else:
                yield line(*approver_pieces(telling, [incident]))
        case State.APPROVED:
            yield from _steps(incident)
            if why := telling.waits_for.get(incident.id):
                until = telling.begins_until(incident)
                pieces = [text(f"It waits: {one_line(why, SAID)}")]
                yield line(*pieces, *([text(" Until "), date(until), text(" it may begin.")] if until else []))
        case State.ACTING:
            yield from _steps(incident)
            if why := telling.waits_for.get(incident.id):
                yield line(text(f"As of now: {one_line(why, SAID)}"))
        case State.VERIFYING:
            yield from _steps(incident)
            until = incident.validation_ends_at
            watched = [text("All steps are through. The node is watched")]
            watched += [text(" until "), date(until)] if until is not None else []
            yield line(*watched, text(f". {looks(incident)}"))
            if incident.samples and incident.samples[-1].seen:
                seen = [(one.probe, one_line(one.says, SAID)) for one in incident.samples[-1].seen[:EVIDENCE]]
                yield bullets([(clipped(word, 60), says) for word, says in seen])
        case State.UNKNOWN:
            yield from _question(incident, telling)
        case _:
            yield from _end(incident)


def _steps(incident: Incident) -> Iterator[Block]:
    if (decided := decided_line(incident, "Approved")) is not None:
        yield decided
    if (steps := step_list(incident)) is not None:
        yield steps
    if incident.state in (State.APPROVED, State.ACTING) and incident.proposal is not None:
        commands = [command for step in incident.proposal.plan.steps for command in step.commands]
        yield preformatted([clipped(one_line(command, 10_000), SAID) for command in commands[:6]] or [" "])


def _question(incident: Incident, telling: Telling) -> Iterator[Block]:
    if incident.question is not None:
        yield titled(clipped(f"A question: {incident.question.question}", SAID * 2))
    until = telling.answers_until(incident)
    if until is not None:
        yield line(text("Nothing more is sent to the node. Unanswered, it is escalated at "), date(until), text("."))
    yield from _steps(incident) if incident.steps else ()


def _end(incident: Incident) -> Iterator[Block]:
    if incident.state is State.DECLINED:
        if (decided := decided_line(incident, "Declined")) is not None:
            yield decided
        return
    because = getattr(incident.ending, "because", "") or getattr(incident.ending, "summary", "")
    if because:
        by, rest = told_by(clipped(because, SAID * 2))
        yield line(person(by), text(rest)) if by else paragraph(rest)
    match incident.ending:
        case Cancelled(differences=differences) if differences:
            yield bullets([("", one_line(one, SAID)) for one in differences[:8]])
        case Escalated(try_next=try_next) if try_next:
            yield bullets([("What to try", one_line(try_next, SAID * 2))])
    if incident.steps:
        yield from _steps(incident)


def _buttons(group: Sequence[Incident], telling: Telling) -> Iterator[Block]:
    yield from decision_buttons([one for one in group if telling.is_open(one)])
    for one in [one for one in group if one.state is State.UNKNOWN][:MOST_ASKED]:
        yield from asked_buttons(one)
    yield from undo_buttons([one for one in group if one.ended and one.id in telling.undoable])


def _small_print(group: Sequence[Incident], telling: Telling) -> Iterator[Block]:
    names = [f"incident {one.id}" for one in group[:1]] if len(group) == 1 else [f"{len(group)} incidents"]
    if len(group) == 1 and group[0].reopens:
        names.append(f"reopens {group[0].reopens}")
    if telling.head and all(one.ended for one in group):
        names.append(f"record {telling.head}")
    yield footnote(clipped(" · ".join(names), SAID))
    if said := about(group):
        yield footnote(said)
    askers = {user: None for one in group if (user := slack_user(one.alert.asked_by))}
    if askers:
        yield line(text("Asked by "), *({"type": "user", "user_id": user} for user in list(askers)[:3]))


def _table(group: Sequence[Incident], telling: Telling) -> Message:
    """One line a node, those that need a person first; the button covers what is still proposed."""
    ordered = sorted(group, key=lambda one: (_FIRST.index(one.state), one.node))
    counts = {state: sum(1 for one in group if one.state is state) for state in _FIRST}
    counted = ", ".join(f"{count} {_counted(state)}" for state, count in counts.items() if count)
    closed = all(one.ended for one in group)
    cured = closed and all(one.state in (State.RESOLVED, State.TRIAGED) for one in group)
    over = closed and all(one.is_over for one in group)
    first_word = "Resolved: " if cured or over else f"{REOPENED}: " if any(one.reopens for one in group) else ""
    words = f"{first_word}{len(group)} nodes: {counted}"
    waiting = [one for one in ordered if telling.is_open(one)]
    first: list[Block] = [header(words)]
    last = [*_buttons(ordered, telling), *_small_print(ordered, telling)]
    if waiting:
        last.insert(0, line(*approver_pieces(telling, waiting)))
    room = ALL_BLOCKS - sum(length(block) for block in (*first, *last)) - 200
    rows, shown = [row(one, telling) for one in ordered], 0
    table: list[Block] = []
    for at in range(0, len(rows), ROWS):
        block = preformatted([clipped(one, ROW) for one in rows[at : at + ROWS]])
        room -= length(block)
        if room < 0:
            table.append(footnote(f"And {len(rows) - shown} more: /zombie status"))
            break
        table.append(block)
        shown += ROWS
    foremost = " ".join(told(one, telling) for one in ordered[:3])
    return Message(clipped(f"{escaped(words)}. {foremost}", TEXT), (*first, *table, *last))


def _counted(state: State) -> str:
    words = {State.PROPOSED: "wait for approval", State.TRIAGED: "without a plan", State.UNKNOWN: "ask a question"}
    return words.get(state, state.value)
