"""The card of a group of incidents, from the first reading to the end: a view, drawn in Slack's blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Evidence, Status
from bot.surfaces.slack.blocks import (
    PROFILE,
    button,
    choice_blocks,
    command_block,
    drawn,
    effect_blocks,
    line,
    marked_up,
    person,
    report_blocks,
    slack_user,
    step_blocks,
    text,
)
from bot.surfaces.slack.feedback import feedback_block
from bot.surfaces.slack.fleet_card import who_else_block
from bot.surfaces.slack.heat_block import strip_block
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
    record_line,
    titled,
)
from bot.surfaces.text import facts
from bot.surfaces.view.context import ViewContext
from bot.surfaces.view.view import GroupView, IncidentView, group_view
from bot.surfaces.view.words import Sentence, joined, mute_words

SAID = 500  # characters of one sentence on the card
EVIDENCE = 5
ROWS = 10  # nodes of a table in one block
ROW = 200
MOST_LACKING = 6
MOST_ASKERS = 3
_STATUS_MARKS = {
    Status.HEALTHY: "🟢",
    Status.DEGRADED: "🟡",
    Status.CRITICAL: "🔴",
    Status.UNKNOWN: "⚪",
    Status.UNREACHABLE: "⚫",
}
_MUTED = "🔕"  # of a cause that is known and accepted
_STATE_MARKS = {
    State.PROPOSED: "✋",
    State.APPROVED: "👍",
    State.ACTING: "🔧",
    State.VERIFYING: "👀",
    State.UNKNOWN: "❓",
    State.RESOLVED: "✅",
    State.DECLINED: "🚫",
    State.EXPIRED: "⌛",
    State.CANCELLED: "↩️",
    State.ESCALATED: "🆘",
}
_SHOWS_EVIDENCE = (State.TRIAGED, State.PROPOSED, State.UNKNOWN)
_ABOUT_CORES = ("cpu", "softirq", "processes")  # probes: a function of some core explains what they saw
_SHOWS_COMMANDS = (State.PROPOSED, State.APPROVED, State.ACTING)


def incident_card(group: GroupView) -> Message:
    """Return the card of a group in any state; its text says it all on a locked phone."""
    return _single(group, group.incidents[0]) if len(group.incidents) == 1 else _table(group)


def acting_card(group: Sequence[Incident], context: ViewContext) -> Message | None:
    """Return the card of a group on which there is more than verdicts; None while there is not."""
    if not group:
        return None
    view = group_view(group, context)
    return None if view.shows_verdicts else incident_card(view)


# --- one node


def _single(group: GroupView, view: IncidentView) -> Message:
    word = view.headline.removesuffix(view.diagnosis)  # it comes first: "Resolved: 🟢 node-1: HEALTHY"
    first: list[Block] = [header(f"{word}{_mark(view)} {view.diagnosis}".strip())]
    middle: list[Block] = []
    summary = ""
    if view.verdict is not None and (not view.ended or view.state is State.TRIAGED):
        summary = view.verdict.summary
        said = (summary, view.verdict.try_next) if view.state is State.TRIAGED else (summary,)
        said = (*said, view.recurs, *mute_words(view.verdict))
        first += [paragraph(clipped(words, SAID)) for words in said if words.strip()]
    if view.verdict is not None and view.state in _SHOWS_EVIDENCE:
        # Only the sentences: the node's own lines stand in the thread, where nobody has to scroll past them.
        middle = list(_evidence(view.verdict.evidence))
        if view.verdict.heat is not None:
            middle.append(strip_block(view.verdict.heat, view.id))  # a picture takes its place once there is one
    last = [*(_verdict_blocks(view) if view.state is State.TRIAGED else _state_blocks(view)), *_decision(group)]
    last += _profile_button(view)
    stop = "" if view.state is State.OPENED else "."
    words = joined(((view.headline + stop,), view.story, group.needs, (summary,) if summary else ()))
    return Message(_text(group, words), fitted(first, middle, last))


def _verdict_blocks(view: IncidentView) -> Iterator[Block]:
    if view.plan is not None:
        yield titled("What would help (nothing is done by this card)")
        yield command_block(view.plan)
        for note in view.plan.notes:
            yield paragraph(clipped(note, SAID))
    verdict = view.verdict
    if verdict is not None and verdict.lasting_fix and verdict.cause is not None:
        yield footnote(clipped(f"Lasting fix: {verdict.lasting_fix}", SAID))
    if view.is_beyond_verdict and view.withheld is not None:
        yield titled("What would help is not offered")
        yield paragraph(clipped(view.withheld.because, SAID))
        if view.withheld.lacking:
            yield titled("The login lacks these sudoers lines")
            lacking = [clipped(one_line(right, 10_000), SAID) for right in view.withheld.lacking]
            yield preformatted(lacking[:MOST_LACKING])
    if verdict is not None and verdict.undecided:
        names = ", ".join(open_.cause for open_ in verdict.undecided)
        yield footnote(clipped(f"Undecided: {names}. What would decide them is in the thread.", SAID))
    if verdict is not None and verdict.unread:
        names = ", ".join(unread.probe for unread in verdict.unread)
        yield footnote(clipped(f"Not read: {names}. The reasons are in the thread.", SAID))


def _state_blocks(view: IncidentView) -> Iterator[Block]:
    if view.sentences:
        yield line(*drawn(joined(view.sentences)))
    if view.decided:
        yield line(*drawn(view.decided))
    if view.plan is not None:
        if view.decided:
            yield from step_blocks(view.plan)
        if view.state in _SHOWS_COMMANDS:
            yield command_block(view.plan)
        if view.state is State.PROPOSED:
            yield from effect_blocks(view.plan)
    yield from _evidence(view.seen)


def _evidence(evidence: Sequence[Evidence]) -> Iterator[Block]:
    if shown := [(clipped(item.probe, 60), one_line(item.says, SAID)) for item in evidence[:EVIDENCE]]:
        yield bullets(shown)


def _profile_button(view: IncidentView) -> Iterator[Block]:
    """A button that samples the node's cores, where what was found is about cores."""
    found = view.verdict.evidence if view.verdict is not None and view.state in _SHOWS_EVIDENCE else ()
    if view.id and any(item.probe in _ABOUT_CORES for item in found):
        yield {"type": "actions", "elements": [button("Profile", PROFILE, view.id)]}


# --- several nodes


def _table(group: GroupView) -> Message:
    """One line a node; what does not fit is counted, and stands in the thread in full."""
    first: list[Block] = [header(group.headline)]
    last = list(_decision(group))
    room = ALL_BLOCKS - sum(length(block) for block in (*first, *last)) - 500
    rows, shown = [f"{_mark(view) or '…'} {one_line(group.row(view), ROW)}" for view in group.incidents], 0
    table: list[Block] = []
    for at in range(0, len(rows), ROWS):
        block = preformatted(rows[at : at + ROWS])
        room -= length(block)
        if room < 0:
            table.append(footnote(f"And {len(rows) - shown} more: /zombie status"))
            break
        table.append(block)
        shown += ROWS
    words = joined(((f"{group.headline}.",), group.needs, *_foremost(group)))
    return Message(_text(group, words), (*first, *table, *last))


def _foremost(group: GroupView) -> Iterator[Sentence]:
    """The first nodes of a table, for those who hear its text."""
    if group.shows_verdicts:
        worst = [view for view in group.incidents[:3] if view.severity not in (None, Status.HEALTHY)]
        yield ("; ".join(view.headline for view in worst),)
        return
    for view in group.incidents[:3]:
        yield (f"{view.headline}.",)
        yield view.story


# --- what both have


def _mark(view: IncidentView) -> str:
    """The sign of a state, or of a status where only that is known; the words beside it say the same."""
    if view.verdict is not None and view.state in (State.OPENED, State.TRIAGED):
        return _MUTED if view.verdict.is_muted else _STATUS_MARKS[view.verdict.status]
    return _STATE_MARKS.get(view.state, "")


def _decision(group: GroupView) -> Iterator[Block]:
    """What a decision needs, what can be chosen, and the small print."""
    yield from (line(*drawn(sentence)) for sentence in (group.needs, group.approvers) if sentence)
    yield from choice_blocks(group.choices)
    if all(view.ended for view in group.incidents):
        closed = [(view.id, view.node) for view in group.incidents if view.state is not State.TRIAGED]
        yield from report_blocks(closed)
    yield from feedback_block(group)
    yield from _who_else(group)
    yield from _small_print(group)


def _who_else(group: GroupView) -> Iterator[Block]:
    """For one node with a cause: the button that asks who else has it."""
    if len(group.incidents) == 1:
        (view,) = group.incidents
        asks = bool(view.id) and (view.state is State.TRIAGED or (view.state is State.PROPOSED and group.choices))
        if asks and view.verdict is not None and view.verdict.cause is not None:
            yield who_else_block(view.id)


def _small_print(group: GroupView) -> Iterator[Block]:
    parts = [f"{len(group.incidents)} incidents"] if all(view.id for view in group.incidents) else []
    if len(group.incidents) == 1:
        (view,) = group.incidents
        parts = [f"incident {view.id}"] if view.id else []
        parts += [f"reopens {view.reopens}"] if view.reopens else []
        if view.verdict is not None and view.state is State.TRIAGED:
            parts.insert(0, f"read in {view.verdict.took.total_seconds():.1f} s")
            parts.append(facts(view.verdict.snapshot))
    if said := " · ".join(part for part in parts if part):
        yield footnote(clipped(said, SAID))
    if group.head:
        yield record_line(group.head)
    if group.about:
        yield footnote(group.about)
    if askers := [person(by) for by in group.askers if slack_user(by)][:MOST_ASKERS]:
        yield line(text("Asked by "), *askers)


def _text(group: GroupView, words: Sentence) -> str:
    return clipped(f"{marked_up(words)}\n{escaped(group.about)}".strip(), TEXT)
