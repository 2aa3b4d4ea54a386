"""Choices as buttons and menus, with the opaque values by which they are known again. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.domain.safe_text import one_line
from bot.surfaces.slack.message import Block, clipped
from bot.surfaces.view.choices import ANSWER, APPROVE, DECLINE, PICK, UNDO, Choice

BRAKE = "brake"
BUTTON = 75
OPTION = 75
MOST_ANSWERS = 5
MOST_OPTIONS = 100


def choice_blocks(choices: Sequence[Choice]) -> Iterator[Block]:
    """Yield what can be chosen on a card: Approve and Decline in one row, each question and each Undo in its own."""
    if decisions := [choice for choice in choices if choice.kind in (APPROVE, DECLINE)]:
        yield _row([_decision(choice) for choice in decisions])
    for choice in choices:
        if choice.kind == PICK:
            yield {**_row([_menu(choice)]), "block_id": f"pick-{choice.about}"}
        elif choice.kind == ANSWER:
            yield _row(
                [
                    button(one_line(option, BUTTON), ANSWER, choice.about, action_id=f"{ANSWER}-{number}")
                    for number, option in enumerate(choice.options[:MOST_ANSWERS])
                ]
            )
    undos = [choice for choice in choices if choice.kind == UNDO]
    for choice in undos:
        words = "Undo" if len(undos) == 1 else f"Undo on {one_line(choice.nodes[0], 50)}"
        yield _row([button(words, UNDO, choice.about)])


def button(words: str, action: str, value: str, style: str = "", action_id: str = "") -> Block:
    """One button; its words are plain text."""
    block = {
        "type": "button",
        "text": _plain(clipped(words, BUTTON)),
        "action_id": action_id or action,
        "value": value,
    }
    return {**block, "style": style} if style else block


def _decision(choice: Choice) -> Block:
    return button(choice.words.capitalize(), choice.kind, choice.about, "primary" if choice.kind == APPROVE else "")


def _menu(choice: Choice) -> Block:
    nodes = [clipped(one_line(node, OPTION), OPTION) for node in choice.options if node][:MOST_OPTIONS]
    return {
        "type": "static_select",
        "action_id": PICK,
        "placeholder": _plain("Which node is it?"),
        "options": [{"text": _plain(node), "value": node} for node in nodes],
    }


def _row(elements: Sequence[Block]) -> Block:
    return {"type": "actions", "elements": list(elements)}


def _plain(words: str) -> Block:
    return {"type": "plain_text", "text": words, "emoji": False}
