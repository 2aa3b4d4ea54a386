"""The dialog that asks for the reason of a decision, with everything that is decided spelt out. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bot.domain.incident import Incident
from bot.domain.safe_text import one_line, safe
from bot.surfaces.slack.message import Block, clipped, footnote, paragraph, preformatted, titled
from bot.surfaces.slack.plan_blocks import blast_radius, bound_words, moved_blocks, plan_words
from bot.surfaces.slack.rich import bold, line, text

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
    wish: str, sealed: str, plans: Sequence[Incident], words: Sequence[str] = (), objection: str = ""
) -> dict[str, Any]:
    """Return the view.

    Shape: `plans` are shown with every node and every command, whole. `words` are paragraphs for a dialog that is about
    no plan; `objection` is what already speaks against it.
    """
    title, submit = _TITLES[wish]
    blocks: list[Block] = [paragraph(f"As it stands, this will be refused. {objection}")] if objection else []
    if len(plans) > 1:
        blocks.append(titled(f"{len(plans)} nodes: {', '.join(one_line(one.node, 60) for one in plans)}"))
    blocks += [paragraph(one) for one in words if one.strip()]
    for incident in plans:
        blocks += _plan(incident)
    if plans and wish == "approve":
        blocks.append(footnote("Each node is looked at again first; what is another than shown here is not touched."))
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


def covered(plans: Sequence[Incident]) -> list[Incident]:
    """Return as many of these, from the first on, as one dialog shows whole: nobody approves what they do not see."""
    found: list[Incident] = []
    room = MOST_BLOCKS
    for one in plans[:MOST_PLANS]:
        room -= len(list(_plan(one)))
        if room < 0:
            break
        found.append(one)
    return found


def _plan(incident: Incident) -> Iterator[Block]:
    if incident.proposal is None:
        return
    plan = incident.proposal.plan
    yield line(bold(f"{one_line(incident.node, 80)}: "), text(plan_words(plan), 500))
    commands = "\n".join(safe(command) for step in plan.steps for command in step.commands)
    for at in range(0, len(commands), PIECE):
        yield preformatted(commands[at : at + PIECE].split("\n"))
    yield from moved_blocks(incident.proposal)
    told = [blast_radius(plan), *plan.notes, f"Bound to {bound_words(incident.proposal.binds)}."]
    yield footnote(clipped(" ".join(told), 1500))


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
