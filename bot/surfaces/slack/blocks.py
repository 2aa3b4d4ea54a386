"""Blocks that several messages share: rich text, plans, and choices as buttons and menus. Pure functions.

Rich text shows people and dates, and never reads a node's words as markup:
https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from bot.domain.safe_text import one_line, safe
from bot.surfaces.slack.member import SLACK
from bot.surfaces.slack.message import Block, clipped, escaped, footnote, plain_text, preformatted, titled
from bot.surfaces.view.plan_words import SAID, PlanView, StepView
from bot.surfaces.view.standing import ANSWER, APPROVE, DECLINE, PICK, UNDO, Choice
from bot.surfaces.view.words import Group, Instant, Person, Piece, Sentence, plain, utc

LONGEST = 1500
_USER = re.compile(r"[UW][A-Z0-9]{1,30}\Z")


def text(words: str, limit: int = LONGEST) -> Block:
    """Words as they are."""
    return {"type": "text", "text": clipped(safe(words), limit) or " "}


def bold(words: str, limit: int = LONGEST) -> Block:
    """Bold words."""
    return {**text(words, limit), "style": {"bold": True}}


def code(words: str, limit: int = LONGEST) -> Block:
    """A name or a command among words."""
    return {**text(words, limit), "style": {"code": True}}


def link(words: str, address: str) -> Block:
    """Words that link to an address from the settings."""
    return {"type": "link", "url": address, "text": clipped(one_line(words, 75), 75)}


def date(at: datetime, pattern: str = "{time}") -> Block:
    """An instant, shown to each reader in local time."""
    return {"type": "date", "timestamp": int(at.timestamp()), "format": pattern, "fallback": utc(at)}


def slack_user(by: str) -> str:
    """Return the Slack id of a person named as in the record; empty for people outside Slack.

    Example:
    >>> slack_user("slack:T024/U123"), slack_user("terminal:ann"), slack_user("slack:T024/<!here>")
    ('U123', '', '')
    """
    kind, _, name = by.partition(":")
    user = name.rpartition("/")[2]
    return user if kind == SLACK and _USER.match(user) else ""


def person(by: str) -> Block:
    """A person, shown by their Slack name; people outside Slack as text."""
    user = slack_user(by)
    return {"type": "user", "user_id": user} if user else text(one_line(by, 140))


def drawn(sentence: Sentence) -> list[Block]:
    """Draw a sentence of a view, with its people and instants, as pieces of a paragraph."""
    return [_piece(piece) for piece in sentence]


def marked_up(sentence: Sentence) -> str:
    """Return a sentence of a view as a message's text; its only markup is people's names."""
    return "".join(_named(piece.by) if isinstance(piece, Person) else escaped(plain((piece,))) for piece in sentence)


def _piece(piece: Piece) -> Block:
    match piece:
        case Person(by=by):
            return person(by)
        case Group(id=group):
            kind, _, name = group.partition(":")
            known = kind == SLACK and name.isalnum()
            return {"type": "usergroup", "usergroup_id": name} if known else code(name, 60)
        case Instant(at=at, exact=exact):
            return date(at, "{time_secs}" if exact else "{time}")
    return text(piece)


def _named(by: str) -> str:
    """A person in a text: Slack's clients and screen readers turn the id into a name."""
    user = slack_user(by)
    return f"<@{user}>" if user else escaped(one_line(by, 140))


def with_people(said: str, people: Collection[str], limit: int) -> list[Block]:
    """Return a sentence that shows these people, named as in the record, by their Slack names."""
    words = clipped(safe(said), limit)
    if not people:
        return [text(words)]
    parts = re.split(f"({'|'.join(map(re.escape, sorted(people)))})", words)
    return [person(part) if part in people else text(part) for part in parts if part]


def line(*pieces: Block) -> Block:
    """A paragraph."""
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(pieces)}]}


def merged(paragraphs: Sequence[Block]) -> Block:
    """Paragraphs and lists as one block, for a view may have few."""
    return {"type": "rich_text", "elements": [element for block in paragraphs for element in block["elements"]]}


def listing(items: Sequence[Sequence[Block]], style: str = "bullet") -> Block:
    """A list, `bullet` or `ordered`, of paragraphs."""
    elements = [{"type": "rich_text_section", "elements": list(item)} for item in items]
    return {"type": "rich_text", "elements": [{"type": "rich_text_list", "style": style, "elements": elements}]}


SUMMARY = 300  # characters of a verdict's summary on a card; the thread has longer summaries whole
MOST_NOTES = 2  # on the card; the dialog shows all
NOTE = 160
MOST_MOVED = 12  # pods in the dialog; the record has all
MOST_NAMED = 3  # pods on the card
FEW_ENDS, MOST_ENDS = 4, 12  # rows of what ends: on the card; in the dialog, beside databases


def offer_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield the offer and what a yes would do to the node and its workload, without commands."""
    yield line(bold(f"Offered: {plan.words}. "), text(f"What that does: {plan.effect}"))
    yield from ends_blocks(replace(plan, ends=plan.ends_briefly), FEW_ENDS)  # the dialog names the containers
    if plan.moves:
        named = "; ".join(one_line(row, 80) for row in plan.moves[:MOST_NAMED])
        more = f"; and {len(plan.moves) - MOST_NAMED} more" if len(plan.moves) > MOST_NAMED else ""
        yield line(bold(f"Work it moves ({len(plan.moves)}): "), text(f"{named}{more}."))
    yield from (line(text(sentence, len(sentence))) for sentence in plan.also)  # never shortened: a yes covers it too
    for note in plan.notes[:MOST_NOTES]:
        yield footnote(clipped(note, NOTE))


def ends_blocks(plan: PlanView, most: int) -> Iterator[Block]:
    """Yield what ends with a plan, gravest first, and what of it was not read."""
    if plan.ends:
        more = len(plan.ends) - most
        rows = [*plan.ends[:most], *([f"and {more} more"] if more > 0 else [])]
        title = {"type": "rich_text_section", "elements": [bold("What ends:")]}
        yield {"type": "rich_text", "elements": [title, *listing([[text(row, SAID)] for row in rows])["elements"]]}
    if plan.ends_unread:
        yield line(text(plan.ends_unread, SAID * 2))


def moved_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield what a drain would move now, with the jobs that it belongs to."""
    if rows := [clipped(one_line(row, 1000), SAID) for row in plan.moves[:MOST_MOVED]]:
        yield titled(f"What the drain moves, as of now ({len(plan.moves)})")
        more = len(plan.moves) - len(rows)
        yield preformatted([*rows, f"… and {more} more"] if more else rows)


def bound_words(plan: PlanView) -> str:
    """Return the machine and boot that a plan is for, and how that is enforced."""
    if not plan.bound_to:
        return ""
    held = "each command has a fence: on another machine, in another boot or too late it does nothing"
    if any(step.journal for step in plan.steps):
        held += "; logger is told on its input who approved it and why, for the node's journal"
    return f"{plan.bound_to}: if one of these has changed by then, the plan is cancelled; {held}"


def step_blocks(plan: PlanView) -> Iterator[Block]:
    """Yield the steps of an approved plan with their outcomes."""
    if plan.steps:
        yield listing([_step(step) for step in plan.steps], "ordered")


def _step(step: StepView) -> list[Block]:
    pieces = [bold(step.words, 200), text(f" — {step.outcome_so_far}", SAID * 2)]
    if step.since is not None:
        usually = [text(f"; {step.usually}")] if step.usually else []
        return [*pieces, text(", since "), date(step.since, "{time_secs}"), *usually]
    return [*pieces, *(piece for seen in step.seen for piece in (text(". "), code(seen)))]


BRAKE, REPORT, WHO_ELSE = "brake", "report", "who-else"
BUTTON = 75
OPTION = 75
MOST_ANSWERS = 5
MOST_REPORTS = 5  # on a card; the command writes the others
MOST_OPTIONS = 100
MOST_ROWS = 4  # nodes with their own buttons; more are chosen from a menu
MOST_SINGLE = 20  # nodes in such a menu, the most that fit a message; the rest follow once these are decided
DECIDE = "decide-"  # prefix of the id of a block with a node's buttons, on a card of several
AMONG = "/"  # between the name of a card and the id of its incident


PROFILE = "profile"  # the action of the button that samples a node's cores
OF_EXTRAS = frozenset((REPORT, PROFILE, WHO_ELSE))  # there with an extra whose door names it
CHECK_AGAIN, CHECK_MEANT = "check_again", "check_meant"


def choice_blocks(choices: Sequence[Choice]) -> Iterator[Block]:
    """Yield what can be decided on a card: a row with Approve and Decline, a row for each question."""
    if decisions := [choice for choice in choices if choice.kind in (APPROVE, DECLINE)]:
        yield row([_decision(choice) for choice in decisions])
    for choice in choices:
        if choice.kind == PICK:
            yield {**row([_menu(choice)]), "block_id": f"pick-{choice.about}"}
        elif choice.kind == ANSWER:
            yield row(
                [
                    button(one_line(option, BUTTON), ANSWER, choice.about, action_id=f"{ANSWER}-{number}")
                    for number, option in enumerate(choice.options[:MOST_ANSWERS])
                ]
            )


def undo_buttons(choices: Sequence[Choice]) -> list[Block]:
    """Return a button for each incident whose steps can be undone."""
    undos = [choice for choice in choices if choice.kind == UNDO]
    named = ["Undo" if len(undos) == 1 else f"Undo on {one_line(choice.nodes[0], 50)}" for choice in undos]
    return [button(words, UNDO, choice.about) for words, choice in zip(named, undos, strict=True)]


def again_button(incident: str, nodes: int = 1) -> Block:
    """Return the button that checks every node of an incident's card again."""
    return button("Check again" if nodes == 1 else f"Check {nodes} again", CHECK_AGAIN, incident)


def meant_blocks(near: Sequence[str]) -> Iterator[Block]:
    """Yield a button for each node that the person may have meant."""
    if near:
        numbered = enumerate(near[:MOST_ANSWERS])
        yield row(
            [button(f"Check {one_line(node, 60)}", "", node, action_id=f"{CHECK_MEANT}-{at}") for at, node in numbered]
        )


def single_choice_blocks(choices: Sequence[Choice]) -> Iterator[Block]:
    """Yield the choices for each node by itself: buttons, or menus where there are many nodes."""
    decisions = [choice for choice in choices if choice.kind in (APPROVE, DECLINE) and len(choice.incidents) > 1]
    if not decisions:
        return
    nodes = decisions[0].nodes
    if len(nodes) > MOST_ROWS:
        yield row([_nodes_menu(choice) for choice in decisions])
        return
    for at, node in enumerate(nodes):
        words = {APPROVE: f"Approve {one_line(node, 60)}", DECLINE: "Decline"}
        buttons = row([button(words[choice.kind], choice.kind, single(choice, at)) for choice in decisions])
        yield {**buttons, "block_id": f"{DECIDE}{decisions[0].incidents[at]}"}


def single(choice: Choice, at: int) -> str:
    """Return the button value for a node among several: the card's name and the node's incident."""
    return f"{choice.about}{AMONG}{choice.incidents[at]}"


def _nodes_menu(choice: Choice) -> Block:
    named = [(one_line(node, OPTION) or "?", at) for at, node in enumerate(choice.nodes[:MOST_SINGLE])]
    options = [option(clipped(node, OPTION), single(choice, at)) for node, at in named]
    return menu(choice.kind, f"{choice.kind.capitalize()} a node …", options)


def report_buttons(ended: Sequence[tuple[str, str]]) -> list[Block]:
    """Return a button for the report of each ended incident, given as id and node."""
    return [button(f"Report on {one_line(node, 50)}", REPORT, incident) for incident, node in ended[:MOST_REPORTS]]


def button(words: str, action: str, value: str, style: str = "", action_id: str = "") -> Block:
    """A button; its words are plain text."""
    block = {
        "type": "button",
        "text": plain_text(clipped(words, BUTTON)),
        "action_id": action_id or action,
        "value": value,
    }
    return {**block, "style": style} if style else block


def option(words: str, value: str) -> Block:
    """An entry of a menu."""
    return {"text": plain_text(words), "value": value}


def menu(action: str, placeholder: str, options: Sequence[Block]) -> Block:
    """A menu of which one entry may be chosen."""
    return {
        "type": "static_select",
        "action_id": action,
        "placeholder": plain_text(placeholder),
        "options": list(options),
    }


def row(elements: Sequence[Block]) -> Block:
    """Buttons and menus side by side."""
    return {"type": "actions", "elements": list(elements)}


def asked_by(by: str) -> Iterator[Block]:
    """Yield who asked, if that is a person in Slack."""
    if slack_user(by):
        yield line(text("Asked by "), person(by))


def _decision(choice: Choice) -> Block:
    return button(choice.words.capitalize(), choice.kind, choice.about, "primary" if choice.kind == APPROVE else "")


def _menu(choice: Choice) -> Block:
    nodes = [clipped(one_line(node, OPTION), OPTION) for node in choice.options if node][:MOST_OPTIONS]
    return menu(PICK, "Which node is it?", [option(node, node) for node in nodes])
