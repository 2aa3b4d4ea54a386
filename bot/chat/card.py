"""The card of a group of incidents, from the first reading to the end, as a document.

A node's card is for a person just woken, on a phone: how bad, which node, what it is, what a yes would do,
and the buttons, on one screen of 390 × 844. The proof is in the thread, the commands are in the dialog.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.chat.blocks import (
    FEW_ENDS,
    PROFILE,
    REPORT,
    SUMMARY,
    WHO_ELSE,
    check_again_button,
    choice_blocks,
    ends_blocks,
    offer_blocks,
    question_blocks,
    report_buttons,
    single_choice_blocks,
    step_blocks,
    undo_buttons,
)
from bot.chat.document import (
    Block,
    BlockGroup,
    Button,
    ButtonRow,
    CoreLoadStrip,
    Document,
    IfRoom,
    Line,
    Lines,
    Listing,
    Paragraph,
    Record,
    SmallPrint,
    Table,
    Title,
    bullets,
    clipped,
    line,
    small,
)
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.domain.verdict import Evidence, Status, Verdict
from bot.view.before_after import MOST_CHANGES, change_words, changes
from bot.view.standing import APPROVE
from bot.view.view import GroupView, IncidentView
from bot.view.words import (
    Bold,
    Link,
    Sentence,
    Styled,
    cause_words,
    joined,
    remainder_words,
    series,
    trait_words,
    verdict_words,
    with_instants,
)

SAID = 500  # characters of a sentence
ABOUT = 240  # of what the alerts said, on a node's card
MOST_LINKED = 4  # nodes with their own links on a card of several: it has to fit a phone
EVIDENCE = 3
EVIDENT = 180  # characters of a piece of evidence; the thread has the whole
HEADING = ("Status", "Node", "Cause", "What now")
WOULD_HELP = "would help: "
ROW = 200
MOST_LACKING = 6
MOST_UNSETTLED = 3  # sentences about likely verdicts on a card of several nodes
_STATUS_MARKS = {
    Status.HEALTHY: "🟢",
    Status.DEGRADED: "🟡",
    Status.CRITICAL: "🔴",
    Status.UNKNOWN: "⚪",
    Status.UNREACHABLE: "⚫",
}
_MUTED = "🔕"  # for a cause that is known and accepted
_CURED, _ASKS, _UNUSUAL = "✅", "❓", "🔎"
# What some core ran would tell more of these: there a profile is worth its cost.
_CORE_PROBES = ("cpu", "softirq", "processes")
# Of other probes: a core was not given back, and whatever held it need not have come while the node was looked at.
_CORE_FINDINGS = ("nic-starved", "nic-starved-earlier", "lockup", "memcg-walk-stack", "memcg-walk-earlier")
_SHOWS_EVIDENCE = (State.TRIAGED, State.UNKNOWN)  # an offered plan takes this room
_SHOWS_HEAT = (State.TRIAGED, State.PROPOSED, State.UNKNOWN)


def incident_card(group: GroupView) -> Document:
    """Return the card of a group in any state; its text says everything on a locked phone."""
    return _single_node_card(group, group.incidents[0]) if len(group.incidents) == 1 else _group_card(group)


# --- a single node


def _single_node_card(group: GroupView, view: IncidentView) -> Document:
    word = view.headline.removesuffix(view.diagnosis)  # it comes first: "Resolved: 🟢 node-1: HEALTHY"
    first: list[Block] = [Title(f"{word}{_gravity_sign(view)} {view.diagnosis}".strip())]
    middle: list[CoreLoadStrip | Listing] = []
    said: tuple[Sentence, ...] = ()
    sooner, later = _profile_button(group, view)
    if view.verdict is not None and (not view.ended or view.state is State.TRIAGED):
        is_evaluated = view.state in (State.TRIAGED, State.PROPOSED)
        said = verdict_words(view.verdict, bool(sooner)) if is_evaluated else ((view.verdict.summary,),)
        rows = [_shortened(sentence) for sentence in (*said, (view.recurs,), (view.growth,)) if any(sentence)]
        first += [BlockGroup(tuple(map(Line, rows)))] if rows else []  # one block: the buttons come soon after it
    seen = view.verdict.heat if view.verdict is not None and view.state in _SHOWS_HEAT else None
    heat = [CoreLoadStrip(seen, view.id)] if seen is not None else []  # a picture replaces each strip once it is there
    if view.verdict is not None and view.state in _SHOWS_EVIDENCE:
        # Only the sentences: the node's own lines are in the thread, where nobody has to scroll past them.
        more = [item for item in view.verdict.evidence if item.says != view.verdict.summary]
        middle, heat = [*_evidence(more), *heat], []
    blocks = _verdict_blocks(view) if view.state is State.TRIAGED else _state_blocks(view)
    # The buttons come before the picture: people look for them first.
    busy = [line(Bold(view.working))] if view.working else []
    last = [*blocks, *_decision_blocks(group, sooner), *busy, *heat, *_other_buttons(group, view, later)]
    last += (block for question in group.asks for block in question_blocks(group, question))
    if view.verdict is not None and view.state in (State.TRIAGED, State.PROPOSED):
        last += _not_decided_lines(view.verdict, group.rest)
    last += _closing_blocks(group)
    stop = "" if view.state is State.OPENED else "."
    words = joined(((view.headline + stop,), *view.harm, view.story, change_words(view.compared), group.needs, *said))
    return Document((*words, f"\n{group.about}") if group.about else words, (*first, *map(IfRoom, middle), *last))


def _shortened(sentence: Sentence) -> Sentence:
    """A sentence of a verdict, whose whole length stands in the thread."""
    return tuple(clipped(piece, SUMMARY) if isinstance(piece, str) else piece for piece in sentence)


def _verdict_blocks(view: IncidentView) -> Iterator[Block]:
    if view.plan is not None:
        yield line(Bold("What would help: "), f"{view.plan.words}. Nothing is done.")
        if ends := tuple(ends_blocks(replace(view.plan, ends=view.plan.ends_briefly), FEW_ENDS)):
            yield BlockGroup(ends)
        yield from (Paragraph(clipped(note, SAID)) for note in view.plan.notes)
    verdict = view.verdict
    if verdict is not None and verdict.lasting_fix and verdict.cause is not None:
        yield SmallPrint((clipped(f"Lasting fix: {verdict.lasting_fix}", SAID),))
    if view.is_beyond_verdict and view.withheld is not None:
        yield line(Bold("What would help is not offered"))
        yield line(*with_instants((clipped(view.withheld.because, SAID),), view.as_of))
        if view.withheld.lacking:
            yield line(Bold("The login lacks these sudoers lines"))
            lacking = [clipped(one_line(right, 10_000), SAID) for right in view.withheld.lacking]
            yield Lines(tuple(lacking[:MOST_LACKING]))


def _state_blocks(view: IncidentView) -> Iterator[Block]:
    if view.state is State.PROPOSED and view.plan is not None:
        yield from (line(*sentence) for sentence in view.sentences[: 1 if view.is_checked else 0])
        yield from offer_blocks(view.plan)
    elif view.sentences:
        yield BlockGroup(
            tuple(line(*with_instants(sentence, view.as_of)) for sentence in (*view.sentences, *view.harm))
        )
    if view.decided:
        yield line(*view.decided)
    if view.compared:
        yield replace(bullets(changes(view.compared)[:MOST_CHANGES]), title="Before → after:")
    if view.plan is not None and view.decided and not (view.compared and view.ended):
        yield from step_blocks(view.plan)
    yield from _evidence(view.seen)


def _evidence(evidence: Sequence[Evidence]) -> Iterator[Listing]:
    if shown := [(clipped(item.probe, 60), one_line(item.says, EVIDENT)) for item in evidence[:EVIDENCE]]:
        yield bullets(shown)


def _profile_button(group: GroupView, view: IncidentView) -> tuple[list[Button], list[Button]]:
    """The button that profiles a node's cores: beside Approve, where it would settle what is decided, or after it."""
    verdict = view.verdict if view.id and not view.working and view.state in _SHOWS_HEAT else None
    found = verdict.evidence if verdict is not None and PROFILE not in group.absent else ()
    if not any(seen.probe in _CORE_PROBES or seen.finding in _CORE_FINDINGS for seen in found):
        return [], []
    if verdict is not None and verdict.profile_settles and any(each.kind == APPROVE for each in group.choices):
        return [Button("Profile first", PROFILE, view.id, "primary")], []
    return [], [Button("Profile", PROFILE, view.id)]


def _other_buttons(group: GroupView, view: IncidentView, looks: Sequence[Button]) -> Iterator[Block]:
    """The other buttons of a node, in a row; none of them acts."""
    if not view.id:
        return
    reports = view.ended and view.state is not State.TRIAGED and REPORT not in group.absent
    row = [*[Button("Report", REPORT, view.id)] * reports, *_other_nodes_button(group), *looks]
    if view.node and (_is_before_action(group, view) or view.ended):
        row.append(check_again_button(view.id))
    row += undo_buttons(group.choices)  # last: it is weighed once what came of it has been seen
    yield from small(*(choice.warning for choice in group.choices))
    if row:
        yield ButtonRow(tuple(row))


def _is_before_action(group: GroupView, view: IncidentView) -> bool:
    """True while nothing was done on a node, and something may be."""
    return view.state is State.TRIAGED or (view.state is State.PROPOSED and bool(group.choices))


def _other_nodes_button(group: GroupView) -> Iterator[Button]:
    """The button that asks which other nodes have it, where it is a single cause; the first node says of which role."""
    found = [view for view in group.incidents if view.id and view.node and _is_before_action(group, view)]
    causes = {
        view.verdict.cause: view.id for view in reversed(found) if view.verdict is not None and view.verdict.cause
    }
    if len(causes) == 1 and WHO_ELSE not in group.absent:
        yield Button("Other nodes?", WHO_ELSE, *causes.values())


# --- several nodes


def _group_card(group: GroupView) -> Document:
    """A row for each node, the worst first; the rest is counted, and complete in the thread."""
    settles = [(clipped(", ".join(of), ROW), clipped(words, SUMMARY)) for words, of in group.only_likely.items()]
    first = [Title(group.headline), node_table(group), *([bullets(settles[:MOST_UNSETTLED])] if settles else ())]
    last = [*_decision_blocks(group), *single_choice_blocks(group.choices), *_group_buttons(group)]
    last += (block for question in group.asks for block in question_blocks(group, question))
    last += _closing_blocks(group)
    words = joined(((f"{group.headline}.",), group.needs, *_first_nodes_sentences(group)))
    return Document((*words, f"\n{group.about}") if group.about else words, (*first, *last))


def node_table(group: GroupView) -> Table:
    """Return a row for each node, the worst first."""
    return Table(HEADING, [_node_row(group, view) for view in group.incidents], group.headline, "/zombie status")


def _node_row(group: GroupView, view: IncidentView) -> tuple[str, ...]:
    """How bad, which node, which cause, and what is offered or done."""
    verdict = view.verdict
    how = verdict.status.value if verdict is not None and view.state is not State.RESOLVED else view.state.value
    if verdict is None or view.state is State.OPENED:
        how = f"{_ASKS} a question" if view.state is State.UNKNOWN else f"{_gravity_sign(view)} …".strip()
        return (how, one_line(view.node, ROW), "", view.diagnosis.removeprefix(f"{view.node}: "))
    stands = view.short
    if group.words_verdict(view):
        plan = f"{WOULD_HELP}{view.plan.words}" if view.plan is not None else ""
        stands = plan or one_line(verdict.try_next or (verdict.lasting_fix if verdict.cause is not None else ""), ROW)
    is_told = verdict.status not in (Status.UNKNOWN, Status.UNREACHABLE)  # what was not read is not "none"
    return (
        f"{_gravity_sign(view)} {how}".strip(),
        one_line(view.node, ROW),
        cause_words(verdict) or ("none" if is_told else "not known"),
        stands or ("nothing" if view.is_ordinary or not group.words_verdict(view) else "look by hand"),
    )


def _first_nodes_sentences(group: GroupView) -> Iterator[Sentence]:
    """The first nodes of a table, for screen readers."""
    if group.shows_verdicts:
        worst = [view for view in group.incidents[:3] if view.severity is not None and not view.is_ordinary]
        yield ("; ".join(view.headline for view in worst),)
        return
    first = [view for view in group.incidents[:3] if view.state is not State.OPENED]
    yield from (said for view in first for said in ((f"{view.headline}.",), view.story))


# --- on both kinds of card


def _gravity_sign(view: IncidentView) -> str:
    """The sign for how bad it is, whatever is being done; the words beside it say the same."""
    if view.state is State.RESOLVED:
        return _UNUSUAL if view.beside else _CURED  # green would end the search
    if view.verdict is not None:
        is_said = view.verdict.status.value.upper() in view.diagnosis  # an undo's card judges no node
        if is_said and view.severity is Status.HEALTHY and not view.is_ordinary:
            return _UNUSUAL
        return (_MUTED if view.verdict.is_muted else _STATUS_MARKS[view.verdict.status]) if is_said else ""
    return _ASKS if view.state is State.UNKNOWN else ""


def _decision_blocks(group: GroupView, first: Sequence[Button] = ()) -> Iterator[Block]:
    """What a decision needs, and what can be chosen."""
    if said := joined((group.needs, group.approvers)):
        yield line(*said)
    yield from choice_blocks(group.choices, first)


def _group_buttons(group: GroupView) -> Iterator[Block]:
    """The other buttons of a table: undo, reports, who else has it, and checking all nodes again."""
    acted = [(view.id, view.node) for view in group.incidents if group.ended and view.state is not State.TRIAGED]
    reports = report_buttons(acted) if REPORT not in group.absent else []
    rows: dict[str, list[Button]] = {report.value: [report] for report in reports}
    for undo in undo_buttons(group.choices):
        rows.setdefault(undo.value, []).append(undo)
    yield from (ButtonRow(tuple(row)) for row in rows.values())
    known = [view for view in group.incidents if view.id and view.node]
    closed = all(view.ended or view.state is State.TRIAGED for view in group.incidents)
    looks = list(_other_nodes_button(group))
    if known and (closed or any(choice.kind == APPROVE for choice in group.choices)):
        looks.append(check_again_button(known[0].id, len({view.node for view in known})))
    if looks:
        yield ButtonRow(tuple(looks))


# --- its last lines: what the verdict leaves open, links, the record's head, the alerts, and who asked


def _not_decided_lines(verdict: Verdict, rest: str) -> Iterator[Block]:
    """One line for the causes, one for the probes; `rest` says where the reasons are, with a list of each."""
    for words in remainder_words(verdict):
        yield SmallPrint((clipped(f"{words} {rest}".rstrip(), SAID),))


def _closing_blocks(group: GroupView) -> Iterator[Block]:
    """The last lines of a card, for a single node or for several."""
    if len(group.incidents) == 1:
        (view,) = group.incidents
        if view.verdict is not None and view.state is State.TRIAGED:
            said = " · ".join(part for part in (view.verdict.took_words, trait_words(view.verdict.snapshot)) if part)
            yield SmallPrint((clipped(said, SAID),))
        name: list[Styled] = [f"incident {view.id}"] if view.id else []
        name += [f"reopens {view.reopens}"] if view.reopens else []
    else:
        name = [f"{len(group.incidents)} incidents"] if all(view.id for view in group.incidents) else []
        yield from _links_of_many(group)
    if group.head:
        yield Record(group.head)
    if group.about:
        about = clipped(group.about, ABOUT if len(group.incidents) == 1 else len(group.about))
        timed = with_instants((about,), group.incidents[0].as_of)  # small print cannot show a reader's clock
        yield SmallPrint((about,)) if len(timed) == 1 else line(*timed)
    name += [Link(*each) for each in group.incidents[0].links] if len(group.incidents) == 1 else []
    pieces: list[Styled] = [] if group.needs else [*group.asked]
    for part in name:
        pieces += [*([" · "] if pieces else []), part]
    if pieces:
        yield Line(tuple(pieces))


def _links_of_many(group: GroupView) -> Iterator[Block]:
    """A line of links for all nodes, and a line for each of the first nodes."""
    linked = [view for view in group.incidents if view.links]
    shared = [each for each in linked[0].links if all(each in view.links for view in group.incidents)] if linked else []
    rows: list[tuple[str, list[tuple[str, str]]]] = [("All", shared)]
    rows += [(view.node, [each for each in view.links if each not in shared]) for view in linked[:MOST_LINKED]]
    for word, links in rows:
        if shown := series(" ", (Link(*each) for each in links), " · "):
            yield line(Bold(f"{one_line(word, 60)}:"), *shown)
