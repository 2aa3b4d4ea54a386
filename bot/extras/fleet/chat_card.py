"""The card of a sweep, from the question to its counts, and the result of a comparison. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from itertools import accumulate

from bot.chat.document import (
    MOST_OPTIONS,
    OPTION,
    Block,
    Button,
    ButtonRow,
    Document,
    Menu,
    Paragraph,
    SmallPrint,
    Table,
    Title,
    asked_by,
    bullets,
    clipped,
)
from bot.domain.duration import span_words
from bot.domain.safe_text import counted, one_line, safe
from bot.domain.verdict import Status
from bot.extras.fleet.comparison import Comparison, left_out, peers, rest, says, sides, summary, surprise, without_cause
from bot.extras.fleet.fleet_request import MOST_WORDS, FleetRequest
from bot.extras.fleet.report import FleetReport, among, headline, remarks, seen_words
from bot.extras.fleet.sweep import NodeAnswer, NodeOutcome
from bot.view.words import severity_key

GO, STOP, CHECK, DIFF, PLAN = "fleet-go", "fleet-stop", "fleet-check", "fleet-diff", "fleet-plan"
OF_FLEET = "fleet-"
SAID = 500
AN_OPTION = 90  # characters of a menu's entry beside its words
OPTIONS_ROOM = 2_500  # of a message's characters, for the menu; the table lists the nodes, and /zombie check takes any
CELL = 60  # characters of what a node has
DIFFERENCES = 8
GROUPS = 5
CAUSES = 6
SURPRISE = "Surprise 3 is a chance of 1 in 1,000. Telling: unlikely by chance, even among all facts compared."
_COLUMNS = ("az", "role")
_WHAT = {
    "check": "checked, each with its own incident",
    "wave": "checked, and a wave proposed for those that have it",
}


def many_card(ask: FleetRequest, nodes: int, seconds: float, name: str, by: str) -> Document:
    """Ask whether so many nodes should be read: how many, and how long it takes. `name` is the card's."""
    what = _WHAT.get(ask.kind, "asked")
    words = f"{nodes:,} nodes would be {what}; that takes about {_span(seconds)}."
    buttons = [Button(f"Yes, all {nodes:,}", GO, ask.text, "primary")] if ask.text else []
    if ask.kind == "fleet" and not ask.sample:
        drawn = FleetRequest(ask.words, ask.causes, "20", ask.full, ask.namespace, ask.kind)
        buttons.append(Button("A sample of 20", GO, drawn.text, name=f"{GO}-sample"))
    blocks: tuple[Block, ...] = (
        Title(f"{nodes:,} nodes?"),
        Paragraph(words),
        *([ButtonRow(tuple(buttons), name)] if buttons else []),
        *_small_print(ask, by),
    )
    return Document(f"{nodes:,} nodes? {words}", blocks)


def running_card(ask: FleetRequest, report: FleetReport, name: str, by: str) -> Document:
    """Show how far a sweep is, and how to stop it."""
    found = sum(bool(answer.found) for answer in report.answers)
    words = f"Asking {report.asked:,} nodes: {len(report.answers):,} answered so far, {found:,} of them have it."
    blocks: tuple[Block, ...] = (
        Title("Which other nodes have it?" if ask.causes else "What is in this fleet?"),
        Paragraph(words),
        ButtonRow((Button("Stop", STOP, name),)),
        *_small_print(ask, by),
    )
    return Document(words, blocks)


def report_card(
    ask: FleetRequest, report: FleetReport, by: str, ended: str = "", cured: Collection[str] = ()
) -> Document:
    """Show the result of a sweep; `ended` says why it is incomplete, `cured` are the causes with a remedy."""
    found = [count for count in report.causes if count.nodes]
    title = _title(ask, report)
    said = [f"{headline(report)}. {ended}".strip()]
    first: list[Block] = [Title(title), Paragraph(clipped(said[0], SAID))]
    if found:
        first.append(bullets([(count.cause, clipped(count.prevalence.says, SAID)) for count in found[:CAUSES]]))
        groups = list(among(report, found[0].cause))[:GROUPS]
        if groups:
            first.append(bullets([(f"by {label}", clipped(counts, SAID)) for label, counts in groups]))
    last: list[Block] = [*_choices(ask, report, cured), *_remark_blocks(report), *_small_print(ask, by)]
    rows = [_row(answer, report, ask) for answer in _unhealthy_answers(report)]
    more = f"zombie fleet {one_line(ask.says, 200)}"
    middle = [Table(_heading(report, ask), rows, "Nodes, the gravest first", more, sortable=True)] if rows else []
    said += [f"{count.cause}: {count.prevalence.says}." for count in found[:CAUSES]]
    return Document(f"{title}. {' '.join(said)}", (*first, *middle, *last))


def broken_off_card(ask: FleetRequest, because: str, by: str) -> Document:
    """Say why a sweep has no result."""
    words = clipped(one_line(because, SAID), SAID)
    return Document(words, (Title("No answer"), Paragraph(words), *_small_print(ask, by)))


def comparison_message(comparison: Comparison) -> Document:
    """Return how the nodes differ from their peers, in the words of the terminal."""
    shown, said = comparison.shown[:DIFFERENCES], summary(comparison)
    title = f"{counted(len(comparison.here), 'node')} beside {peers(comparison)}"
    warned = [
        words for words in (without_cause(comparison), *(each.says for each in comparison.accidents[:3])) if words
    ]
    blocks: list[Block] = [Title(title), *(Paragraph(clipped(words, SAID)) for words in (*warned, said))]
    if shown:
        rows = [(safe(each.fact), *sides(each, comparison), surprise(each)) for each in shown]
        table = Table(("fact", "here", "peers", "surprise"), rows, "What differs", sortable=True)
        blocks += [table, SmallPrint((SURPRISE,))]
    out = left_out(comparison)
    blocks += [SmallPrint((clipped(words, SAID),)) for words in (rest(comparison, len(shown)), out) if words]
    first = "; ".join(says(each, comparison) for each in shown[:3])
    text = (f"{title}.", *warned, said, first, "" if comparison.there else out)
    return Document(" ".join(filter(None, text)), tuple(blocks))


def _title(ask: FleetRequest, report: FleetReport) -> str:
    having = sum(bool(answer.found) for answer in report.answers)
    what = ask.causes[0] if len(ask.causes) == 1 else "a cause"
    verb = "has" if having == 1 else "have"
    open_ = f", not known for {len(report.unknown):,}" if report.unknown else ""
    return f"{having:,} of {report.answered:,} nodes {verb} {what}{open_}"


def _unhealthy_answers(report: FleetReport) -> list[NodeAnswer]:
    """Every node that is not known to be without it, the gravest first; the others are counted above."""
    shown = {answer.node: answer for answer in (*report.unreachable, *report.unknown)}
    shown |= {answer.node: answer for answer in report.answers if answer.found}
    return sorted(shown.values(), key=lambda answer: (severity_key(Status(answer.status)), answer.node))


def _varying_labels(report: FleetReport) -> Sequence[str]:
    return [label for label in _COLUMNS if len(report.by.get(label, {})) > 1]


def _heading(report: FleetReport, ask: FleetRequest) -> Sequence[str]:
    return ("node", *(["status"] if ask.full else []), "what", *_varying_labels(report), "kernel")


def _row(answer: NodeAnswer, report: FleetReport, ask: FleetRequest) -> Sequence[str]:
    """How it is by a whole check; by a single look only what was seen, which a check may judge otherwise."""
    what = ", ".join(f"{found.cause} ({found.confidence})" if ask.full else found.cause for found in answer.found)
    if len(ask.causes) == 1 and answer.found:
        what = clipped(seen_words(answer.found[0]), CELL)  # a phone shows a cell in two lines, and a check tells all
    labels = [report.labels.get(answer.node, {}).get(label, "") for label in _varying_labels(report)]
    kernel = answer.traits.get("kernel", "")
    status = [answer.status] if ask.full else []
    is_open = answer.outcome is NodeOutcome.ANSWERED and answer.undecided  # its verdict is of another question
    because = next(iter(answer.undecided.values())) if is_open else answer.because
    return (answer.node, *status, what or _without_node_name(answer.node, because), *labels, kernel)


def _without_node_name(node: str, says: str) -> str:
    """Why nothing was found, without the node's name and address, which stand in the row."""
    return clipped(re.sub(rf"^{re.escape(node)} (?:\([^)]*\) )?", "", one_line(says, SAID)), CELL)


def _choices(ask: FleetRequest, report: FleetReport, cured: Collection[str]) -> Iterator[Block]:
    sick = [answer.node for answer in _unhealthy_answers(report) if answer.found and len(answer.node) <= OPTION]
    elements: list[Button | Menu] = []
    if sick:
        elements.append(Menu(CHECK, "Check a node", _options(sick)))
    causes = ask.causes or tuple(count.cause for count in report.causes if count.nodes)[:1]
    compared = FleetRequest(ask.words, causes[:1], "", False, ask.namespace, "diff")
    if sick and len(sick) < report.answered and compared.text:
        elements.append(Button("Diff", DIFF, compared.text))
    if (plan := _wave_request(ask, report, cured)).causes and plan.text:
        elements.append(Button("Plan", PLAN, plan.text))
    if elements:
        yield ButtonRow(tuple(elements))


def _options(nodes: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The first nodes as menu entries, as many as there is room for."""
    sizes = accumulate(2 * len(node) + AN_OPTION for node in nodes[:MOST_OPTIONS])
    return tuple((node, node) for node, size in zip(nodes, sizes, strict=False) if size <= OPTIONS_ROOM)


def _wave_request(ask: FleetRequest, report: FleetReport, cured: Collection[str]) -> FleetRequest:
    """Return the request for a wave over the nodes of the first cause with a remedy; no causes if there is none."""
    found = [count.cause for count in report.causes if count.nodes and count.cause in cured]
    sick = tuple(answer.node for answer in report.answers if {each.cause for each in answer.found} & set(found[:1]))
    named = FleetRequest(sick, tuple(found[:1]), kind="wave")
    if len(sick) <= MOST_WORDS and named.text:
        return named
    return FleetRequest(ask.words, tuple(found[:1]), namespace=ask.namespace, kind="wave")


def _remark_blocks(report: FleetReport) -> Iterator[Block]:
    if any(count.judged.value == "signature" and count.nodes for count in report.causes):
        yield SmallPrint(("By signature, a single look: possible, not proven. A check gives the verdict.",))
    if open_ := [count for count in report.causes if count.undecided]:
        said = "; ".join(f"{count.cause} of {len(count.undecided)}" for count in open_)
        yield SmallPrint((clipped(f"Not known: {said}", SAID),))
    for remark in remarks(report)[:3]:
        yield SmallPrint((clipped(remark, SAID),))


def _small_print(ask: FleetRequest, by: str) -> Iterator[Block]:
    yield SmallPrint((clipped(one_line(ask.command, SAID), SAID),))
    yield from asked_by(by)


def _span(seconds: float) -> str:
    return span_words(timedelta(seconds=max(1.0, seconds)))
