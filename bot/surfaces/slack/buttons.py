"""The buttons of cards and of the App Home: their words, and the opaque values by which they are known again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.domain.events import GIVE_UP, GO_ON
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.surfaces.slack.message import Block, clipped

APPROVE, DECLINE, UNDO, BRAKE, PICK, ANSWER = "approve", "decline", "undo", "brake", "pick_node", "answer"
BUTTON = 75
OPTION = 75
MOST_UNDO = 10
MOST_OPTIONS = 100


def button(words: str, action: str, value: str, style: str = "", action_id: str = "") -> Block:
    """One button; its words are plain text."""
    found = {
        "type": "button",
        "text": {"type": "plain_text", "text": clipped(words, BUTTON), "emoji": False},
        "action_id": action_id or action,
        "value": value,
    }
    return {**found, "style": style} if style else found


def group_of(incident: Incident) -> str:
    """Return the name of the card that an incident stands on."""
    return incident.group or incident.id


def decision_buttons(open_ones: Sequence[Incident]) -> Iterator[Block]:
    """Yield Approve and Decline for those of one card that are still to be decided."""
    if not open_ones:
        return
    value, number = group_of(open_ones[0]), len(open_ones)
    many = f" {number} plans" if number > 1 else ""
    yield {
        "type": "actions",
        "elements": [
            button(f"Approve{many}", APPROVE, value, "primary"),
            button(f"Decline{many}", DECLINE, value),
        ],
    }


def undo_buttons(ended: Sequence[Incident]) -> Iterator[Block]:
    """Yield an Undo for each of these, as far as there is room; the others are undone by the command."""
    for one in ended[:MOST_UNDO]:
        words = "Undo" if len(ended) == 1 else f"Undo on {one_line(one.node, 50)}"
        yield {"type": "actions", "elements": [button(words, UNDO, one.id)]}


def options_of(incident: Incident) -> tuple[str, ...]:
    """Return what can be answered to an incident's open question."""
    if incident.question is None:
        return ()
    return incident.question.options or ((GO_ON, GIVE_UP) if incident.node else ())


def asked_buttons(incident: Incident) -> Iterator[Block]:
    """Yield what can be answered to an incident's question: a menu of nodes, or a button for each answer."""
    options = options_of(incident)
    if not incident.node:
        if not options:
            return
        yield {
            "type": "actions",
            "block_id": f"pick-{incident.id}",
            "elements": [
                {
                    "type": "static_select",
                    "action_id": PICK,
                    "placeholder": {"type": "plain_text", "text": "Which node is it?", "emoji": False},
                    "options": [_option(one) for one in dict.fromkeys(options) if one][:MOST_OPTIONS],
                }
            ],
        }
        return
    elements = [
        button(one_line(option, BUTTON), ANSWER, incident.id, action_id=f"{ANSWER}-{number}")
        for number, option in enumerate(options[:5])
    ]
    yield {"type": "actions", "elements": elements}


def _option(name: str) -> Block:
    words = clipped(one_line(name, OPTION), OPTION)
    return {"text": {"type": "plain_text", "text": words, "emoji": False}, "value": words}
