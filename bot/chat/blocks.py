"""What cards and dialogs share: the names of buttons, plans, and choices as buttons and menus. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.chat.document import (
    BUTTON,
    MOST_OPTIONS,
    OPTION,
    Block,
    BlockGroup,
    Button,
    ButtonRow,
    Line,
    Lines,
    Listing,
    Menu,
    Paragraph,
    Pieces,
    clipped,
    line,
    small,
)
from bot.domain.safe_text import listed, one_line
from bot.view.context import ClosingQuestion
from bot.view.plan_words import SAID, PlanView, StepView
from bot.view.standing import ANSWER, APPROVE, DECLINE, PICK, UNDO, Choice
from bot.view.view import GroupView
from bot.view.words import Bold, Code, Instant

SUMMARY = 300  # characters of a verdict's summary on a card; the thread has longer summaries whole
MOST_NOTES = 4  # on the card; the dialog shows all
NOTE = 160
REVIEW = "Review and approve"  # it opens a dialog with the commands, and runs none of them
ENDS = "Cost: what ends (the bot restarts none of it):"
MOST_NAMED = 3  # pods on the card; the dialog has all
FEW_ENDS, MOST_ENDS = 4, 12  # rows of what ends: on the card; in the dialog, beside databases


def offer_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield the offer and what a yes would do to the node and its workload, without commands."""
    parts: list[Line | Listing] = [line(Bold(f"Offer: {plan.words}. "), plan.effect)]
    parts += [line(plan.proof)] if plan.proof else []
    parts += ends_blocks(replace(plan, ends=plan.ends_briefly), FEW_ENDS)  # the dialog names the containers
    if plan.moves:
        named = listed([one_line(row, 80) for row in plan.moves], MOST_NAMED, "; ")
        parts.append(line(Bold(f"Work it moves ({len(plan.moves)}): "), f"{named}."))
    yield BlockGroup(tuple(parts))
    yield from (Paragraph(sentence, whole=True) for sentence in plan.also)  # a yes covers it too
    yield from small(" ".join([clipped(note, NOTE) for note in plan.notes if note != plan.proof][:MOST_NOTES]))


def ends_blocks(plan: PlanView, most: int) -> Iterator[Line | Listing]:
    """Yield what ends with a plan, gravest first, and what of it was not read."""
    if plan.ends:
        more = len(plan.ends) - most
        rows = [*plan.ends[:most], *([f"and {more} more"] if more > 0 else [])]
        yield Listing(tuple((clipped(row, SAID),) for row in rows), ENDS)
    if plan.ends_unread:
        yield line(clipped(plan.ends_unread, SAID * 2))


def moved_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield each pod that a drain moved as of its offer, with the job that it belongs to: a yes covers all of them."""
    if plan.moves:
        as_of = (Bold(", as of "), Instant(plan.offered_at)) if plan.offered_at is not None else ()
        yield line(Bold(f"What the drain moves ({len(plan.moves)})"), *as_of)
        yield Lines(tuple(one_line(row, 1000) for row in plan.moves))


def step_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield the steps of an approved plan with their outcomes."""
    if plan.steps:
        yield Listing(tuple(_step_line(step) for step in plan.steps), ordered=True)


def _step_line(step: StepView) -> Pieces:
    pieces = (Bold(clipped(step.words, 200)), clipped(f" — {step.outcome}", SAID * 2))
    if step.since is not None:
        return (*pieces, ", since ", Instant(step.since, exact=True))
    return (*pieces, *(piece for seen in step.seen for piece in (". ", Code(seen))))


BRAKE, REPORT, WHO_ELSE = "brake", "report", "who-else"
MOST_ANSWERS = 5
MOST_REPORTS = 5  # on a card; the command writes the others
MOST_ROWS = 4  # nodes with their own buttons; more are chosen from a menu
MOST_SINGLE = 20  # nodes in such a menu, the most that fit a message; the rest follow once these are decided
DECIDE = "decide-"  # prefix of the id of a block with a node's buttons, on a card of several
AMONG = "/"  # between the name of a card and the id of its incident


PROFILE = "profile"  # the action of the button that samples a node's cores
OF_EXTRAS = frozenset((REPORT, PROFILE, WHO_ELSE))  # there with an extra whose door names it
CHECK_AGAIN, CHECK_MEANT = "check_again", "check_meant"


def choice_blocks(choices: Sequence[Choice], first: Sequence[Button] = ()) -> Iterator[ButtonRow]:
    """Yield what can be decided on a card: a row with Approve and Decline, a row for each question.

    Shape: `first` are buttons that had better be pressed before that.
    """
    if decisions := [choice for choice in choices if choice.kind in (APPROVE, DECLINE)]:
        best = "" if first else APPROVE
        buttons = (
            Button(_label(made), made.kind, made.about, "primary" if made.kind == best else "") for made in decisions
        )
        yield ButtonRow((*first, *buttons))
    for choice in choices:
        if choice.kind == PICK:
            nodes = tuple((node, node) for each in choice.options if (node := clipped(one_line(each, OPTION), OPTION)))
            yield ButtonRow((Menu(PICK, "Which node is it?", nodes[:MOST_OPTIONS]),), f"pick-{choice.about}")
        elif choice.kind == ANSWER:
            numbered = enumerate(choice.options[:MOST_ANSWERS])
            answers = (
                Button(one_line(words, BUTTON), ANSWER, choice.about, name=f"{ANSWER}-{at}") for at, words in numbered
            )
            yield ButtonRow(tuple(answers))


def _label(choice: Choice) -> str:
    words = choice.button_words
    return REVIEW + words.removeprefix(APPROVE) if choice.kind == APPROVE else words.capitalize()


def undo_buttons(choices: Sequence[Choice]) -> list[Button]:
    """Return a button for each incident whose steps can be undone."""
    undos = [choice for choice in choices if choice.kind == UNDO]
    where = "" if len(undos) == 1 else " on {}"
    return [
        Button(f"Undo{where.format(one_line(each.nodes[0], 50))}: {each.options[0]}", UNDO, each.about)
        for each in undos
    ]


def check_again_button(incident: str, nodes: int = 1) -> Button:
    """Return the button that checks every node of an incident's card again."""
    return Button("Check again" if nodes == 1 else f"Check {nodes} again", CHECK_AGAIN, incident)


def near_name_buttons(near: Sequence[str]) -> Iterator[ButtonRow]:
    """Yield a button for each node that the person may have meant."""
    if near:
        numbered = enumerate(near[:MOST_ANSWERS])
        yield ButtonRow(
            tuple(Button(f"Check {one_line(node, 60)}", "", node, name=f"{CHECK_MEANT}-{at}") for at, node in numbered)
        )


def single_choice_blocks(choices: Sequence[Choice]) -> Iterator[ButtonRow]:
    """Yield the choices for each node by itself: buttons, or menus where there are many nodes."""
    decisions = [choice for choice in choices if choice.kind in (APPROVE, DECLINE) and len(choice.incidents) > 1]
    if not decisions:
        return
    nodes = decisions[0].nodes
    if len(nodes) > MOST_ROWS:
        yield ButtonRow(tuple(_nodes_menu(choice) for choice in decisions))
        return
    for at, node in enumerate(nodes):
        words = {APPROVE: f"{REVIEW} {one_line(node, 50)}", DECLINE: "Decline"}
        buttons = tuple(Button(words[choice.kind], choice.kind, single_value(choice, at)) for choice in decisions)
        yield ButtonRow(buttons, f"{DECIDE}{decisions[0].incidents[at]}")


def single_value(choice: Choice, at: int) -> str:
    """Return the button value for a node among several: the card's name and the node's incident."""
    return f"{choice.about}{AMONG}{choice.incidents[at]}"


def _nodes_menu(choice: Choice) -> Menu:
    options = ((node, single_value(choice, at)) for at, node in enumerate(choice.nodes[:MOST_SINGLE]))
    return Menu(choice.kind, f"{choice.kind.capitalize()} a node …", tuple(options))


def report_buttons(ended: Sequence[tuple[str, str]]) -> list[Button]:
    """Return a button for the report of each ended incident, given as id and node."""
    return [Button(f"Report on {one_line(node, 50)}", REPORT, incident) for incident, node in ended[:MOST_REPORTS]]


def question_blocks(group: GroupView, question: ClosingQuestion) -> Iterator[ButtonRow]:
    """Yield a question about a card's verdicts: for a single node two buttons, for several two menus that name them."""
    about = [
        view for view in group.incidents if view.id and view.verdict is not None and question.is_about(view.verdict)
    ]
    if not about:
        return
    answers = question.yes, question.no
    if len(group.incidents) > 1:
        nodes = [(one_line(view.node, OPTION) or view.id, view.id) for view in about[:MOST_OPTIONS]]
        menus = (
            Menu(f"{question.action}-{word}", f"{label} on …", tuple((node, f"{word}-{name}") for node, name in nodes))
            for word, label in answers
        )
        yield ButtonRow(tuple(menus))
        return
    yield ButtonRow(
        tuple(
            Button(label, question.action, f"{word}-{about[0].id}", name=f"{question.action}-{word}")
            for word, label in answers
        )
    )
