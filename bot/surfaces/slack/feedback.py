"""Was the verdict right? Two buttons on every closed card, what a click does, and their older form.

`feedback_buttons` have their own kind of block, and work in messages only:
https://docs.slack.dev/reference/block-kit/blocks/context-actions-block. A workspace that refuses it gets two buttons.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bot.domain.house_events import VerdictMarked
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.domain.verdict import Status
from bot.response.decision.verdict_marker import MarkResult
from bot.surfaces.slack.blocks import MOST_OPTIONS, OPTION, button, menu, option, row
from bot.surfaces.slack.message import Block, Message, clipped
from bot.surfaces.view.view import GroupView, IncidentView

FEEDBACK = "feedback"  # the action_id, and the prefix of its older form
RIGHT, WRONG = "right", "wrong"
_KIND = "context_actions"
_WORDS = {RIGHT: "Verdict right", WRONG: "Verdict wrong"}


def feedback_block(group: GroupView) -> Iterator[Block]:
    """Yield the question whether a closed card's verdicts were right.

    Shape: for a single node two buttons, for several two menus that name the nodes.
    """
    closed = [view for view in group.incidents if _can_be_marked(view)]
    if not closed:
        return
    if len(group.incidents) > 1:
        yield row([_menu(word, closed) for word in (RIGHT, WRONG)])
        return
    sides = {word: option(_WORDS[word], value_of(word, closed[0].id)) for word in (RIGHT, WRONG)}
    asked = {"type": "feedback_buttons", "action_id": FEEDBACK}
    yield {
        "type": _KIND,
        "elements": [{**asked, "positive_button": sides[RIGHT], "negative_button": sides[WRONG]}],
    }


def value_of(word: str, incident: str) -> str:
    """Return a button's value: its word and its incident."""
    return f"{word}-{incident}"


def said_of(value: str) -> tuple[str, bool] | None:
    """Return the incident of a value, and whether it says right; None for a value that no button has.

    Example:
    >>> said_of("wrong-7k3m9x2qpv"), said_of("7k3m9x2qpv"), said_of("right-")
    (('7k3m9x2qpv', False), None, None)
    """
    word, _, incident = value.partition("-")
    return (incident, word == RIGHT) if word in _WORDS and incident else None


def has_feedback(message: Message) -> bool:
    """True for a message with the newer form of these buttons."""
    return any(block.get("type") == _KIND for block in message.blocks)


def with_plain_feedback(message: Message) -> Message:
    """Return the message with two buttons of the older kind, which every workspace accepts."""
    return replace(message, blocks=tuple(map(_older, message.blocks))) if has_feedback(message) else message


def thanks(incident: Incident, marked: MarkResult) -> str:
    """Return the answer to a mark: what is on record, the cause's score, and what the person may do next."""
    event, score = marked.entry.event, marked.score
    assert isinstance(event, VerdictMarked)
    word = RIGHT if event.right else WRONG
    said = "On record" if marked.is_new else "You said so already"
    marks = score.right + score.wrong
    sentence = f"{said}: the verdict {event.cause} on {incident.node} was {word}."
    sentence += f" {event.cause}: {score.right} of {marks} right."
    if score.in_doubt:
        sentence += f" {score.doubt}"
    if event.right:
        return sentence
    expected = "CAUSE|none"
    return f"{sentence} To keep it as a test: zombie playbooks keep {incident.id} --dir DIR --expect {expected}"


def _can_be_marked(view: IncidentView) -> bool:
    return bool(view.id) and view.verdict is not None and view.verdict.status is not Status.UNREACHABLE


def _menu(word: str, closed: Sequence[IncidentView]) -> Block:
    nodes = [(clipped(one_line(view.node, OPTION), OPTION) or view.id, value_of(word, view.id)) for view in closed]
    return menu(f"{FEEDBACK}-{word}", f"{_WORDS[word]} on …", [option(*node) for node in nodes[:MOST_OPTIONS]])


def _older(block: Block) -> Block:
    if block.get("type") != _KIND:
        return block
    buttons = []
    for element in block["elements"]:
        for word, side in ((RIGHT, element["positive_button"]), (WRONG, element["negative_button"])):
            buttons.append(button(side["text"]["text"], FEEDBACK, side["value"], action_id=f"{FEEDBACK}-{word}"))
    return row(buttons)
