"""The bot's App Home, as a view. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.domain.entry import Entry
from bot.domain.incident import Incident, IncidentSummary
from bot.domain.safe_text import one_line
from bot.surfaces.slack.buttons import BRAKE, button, decision_buttons
from bot.surfaces.slack.message import Block, bullets, divider, footnote, header, paragraph
from bot.surfaces.slack.plan_blocks import plan_words
from bot.surfaces.slack.rich import bold, code, date, line, person, text

MOST_PENDING = 12
MOST_RUNNING = 15
COMMANDS = (
    ("/zombie check NODE…", "one verdict a node"),
    ("@zombie check NODE", "the same, in a thread, where slash commands do not work"),
    ("/zombie status", "what is open; cancel, undo, policy and brake are told by /zombie help"),
    ("/zombie help", "what I can do"),
)


@dataclass(frozen=True, slots=True)
class Pending:
    """A card that waits for a decision: its incidents that are still proposed."""

    plans: tuple[Incident, ...]


@dataclass(frozen=True, slots=True)
class Deeds:
    """What is acted upon, as one person sees it.

    Shape: `may_not` is why they may decide nothing, empty where they may; `braked` the entry by which the brake is on.
    """

    pending: Sequence[Pending] = ()
    running: Sequence[IncidentSummary] = ()
    braked: Entry | None = None
    may_not: str = ""


def home_view(
    nodes: int, running: int, waiting: int | None, deeds: Deeds | None = None, trouble: str = ""
) -> dict[str, Any]:
    """Return the view: what waits for this person, what runs, the brake, what to type, and how the bot itself is.

    Shape: `waiting` is None where the outbox cannot be asked, `deeds` where the ledger cannot, or nothing is ever done.
    `trouble` is why no alerts come, as a sentence.
    """
    posts = "the ledger cannot be asked" if waiting is None else f"{waiting} posts waiting for Slack"
    return {
        "type": "home",
        "blocks": [
            header("zombie"),
            paragraph("I log in to a sick node, read what matters, and post one verdict with its proof."),
            *([paragraph(f"⚠️ {one_line(trouble, 500)}")] if trouble else ()),
            *(_deeds(deeds) if deeds is not None else ()),
            bullets(COMMANDS),
            footnote(f"{nodes} nodes in the inventory · {running} being read now · {posts}"),
        ],
    }


def _deeds(deeds: Deeds) -> Iterator[Block]:
    yield header("Waiting for you")
    if deeds.may_not:
        yield paragraph(deeds.may_not)
    elif not deeds.pending:
        yield paragraph("Nothing waits for your decision.")
    for card in deeds.pending[:MOST_PENDING]:
        yield from _pending(card)
    if len(deeds.pending) > MOST_PENDING:
        yield footnote(f"And {len(deeds.pending) - MOST_PENDING} more: /zombie status")
    yield header("Running")
    for one in deeds.running[:MOST_RUNNING]:
        said = f" {one.state.value}" + (f", {one_line(one.cause, 80)}" if one.cause else "")
        since = [text(", since "), date(one.updated_at), text(" — "), code(one.id)]
        yield line(bold(one_line(one.node, 80) or "a node"), text(said), *since)
    if not deeds.running:
        yield paragraph("Nothing is being done.")
    elif len(deeds.running) > MOST_RUNNING:
        yield footnote(f"And {len(deeds.running) - MOST_RUNNING} more: /zombie status")
    yield from _brake(deeds.braked)
    yield divider()


def _pending(card: Pending) -> Iterator[Block]:
    for one in card.plans[:5]:
        words = plan_words(one.proposal.plan) if one.proposal is not None else ""
        asker = [text(", asked for by "), person(one.alert.asked_by)] if one.alert.asked_by else []
        yield line(bold(one_line(one.node, 80)), text(f": {words}", 500), *asker, text(" — "), code(one.id))
    if len(card.plans) > 5:
        yield footnote(f"And {len(card.plans) - 5} more nodes on the same card.")
    yield from decision_buttons(card.plans)


def _brake(braked: Entry | None) -> Iterator[Block]:
    yield header("Brake")
    if braked is None:
        yield paragraph("The brake is off.")
        yield {"type": "actions", "elements": [button("Pull the brake", BRAKE, "on", "danger")]}
        return
    reason = one_line(str(braked.body.get("reason", "")), 200)
    yield line(
        text("The brake is on: "), person(braked.by), text(" pulled it at "), date(braked.at), text(f": {reason}")
    )
    yield {"type": "actions", "elements": [button("Release the brake", BRAKE, "off")]}
