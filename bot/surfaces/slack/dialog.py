"""The dialog that asks for the reason of a decision, with everything that is decided spelt out. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bot.domain.safe_text import one_line, safe
from bot.surfaces.slack.message import Block, clipped, footnote, paragraph, preformatted, titled
from bot.surfaces.slack.plan_blocks import bound_words, moved_blocks
from bot.surfaces.slack.rich import bold, line, text
from bot.surfaces.view.view import IncidentView

REASON = "reason"
MOST_PLANS = 25  # decided by one dialog; those left over are decided by the next
MOST_BLOCKS = 90  # of the 100 that a dialog may have
LONGEST_REASON = 1000
PIECE = 2500
_TITLES = {
    "approve": ("Approve", "Approve"),
    "decline": ("Decline", "Decline"),
    "undo": ("Undo", "Propose undo"),
    "brake on": ("Pull the brake", "Pull it"),
    "brake off": ("Release the brake", "Release it"),
    "answer": ("Answer", "Answer"),
}
_PLACEHOLDERS = {
    "approve": "Why this may be done now",
    "decline": "Why this is not done",
}


def reason_dialog(
    wish: str, sealed: str, plans: Sequence[IncidentView], words: Sequence[str] = (), objection: str = ""
) -> dict[str, Any]:
    """Return the view.

    Shape: `plans` are shown with every node and every command, whole. `words` are paragraphs for a dialog that is about
    no plan; `objection` is what already speaks against it.
    """
    title, submit = _TITLES[wish]
    blocks: list[Block] = [paragraph(f"As it stands, this will be refused. {objection}")] if objection else []
    if len(plans) > 1:
        blocks.append(titled(f"{len(plans)} nodes: {', '.join(one_line(view.node, 60) for view in plans)}"))
    blocks += [paragraph(sentence) for sentence in words if sentence.strip()]
    for view in plans:
        blocks += _plan(view)
    if plans and wish == "approve":
        blocks.append(footnote("Each node is read again first; one that is not as shown here is left alone."))
    blocks.append(_input(_PLACEHOLDERS.get(wish, "Why")))
    return {
        "type": "modal",
        "callback_id": REASON,
        "private_metadata": sealed,
        "title": _plain(title),
        "submit": _plain(submit),
        "close": _plain("Cancel"),
        "blocks": blocks,
    }


def covered(plans: Sequence[IncidentView]) -> list[IncidentView]:
    """Return as many of these, from the first on, as one dialog shows whole: nobody approves what they do not see."""
    found: list[IncidentView] = []
    room = MOST_BLOCKS
    for view in plans[:MOST_PLANS]:
        room -= len(list(_plan(view)))
        if room < 0:
            break
        found.append(view)
    return found


def _plan(view: IncidentView) -> Iterator[Block]:
    plan = view.plan
    if plan is None:
        return
    yield line(bold(f"{one_line(view.node, 80)}: "), text(plan.words, 500))
    commands = "\n".join(safe(command) for command in plan.commands)
    for at in range(0, len(commands), PIECE):
        yield preformatted(commands[at : at + PIECE].split("\n"))
    yield from moved_blocks(plan)
    bound = f"Bound to {bound_words(plan)}." if plan.bound_to else ""
    yield footnote(clipped(" ".join([plan.impact, *plan.notes, bound]).strip(), 1500))


def _input(placeholder: str) -> Block:
    return {
        "type": "input",
        "block_id": REASON,
        "label": _plain("Reason"),
        "hint": _plain("It goes on record with your name."),
        "element": {
            "type": "plain_text_input",
            "action_id": REASON,
            "multiline": True,
            "max_length": LONGEST_REASON,
            "placeholder": _plain(placeholder),
            "focus_on_load": True,
        },
    }


def _plain(words: str) -> Block:
    return {"type": "plain_text", "text": words, "emoji": False}
