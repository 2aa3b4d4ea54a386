"""What goes into a card's thread once an incident has ended: the table of before and after, and a call for help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.domain.events import Compared, Escalated, Resolved
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line, safe
from bot.surfaces.slack.message import TEXT, Block, Message, bullets, clipped, escaped, paragraph, titled
from bot.surfaces.slack.plan_blocks import SAID, step_list
from bot.surfaces.slack.state_words import diagnosis

MOST_ROWS = 20
CELL = 120


@dataclass(frozen=True, slots=True)
class Reply:
    """One message for a card's thread, by the name under which it is kept: there is never a second of it."""

    part: str
    message: Message


def replies(incident: Incident) -> Iterator[Reply]:
    """Yield what is said in the thread of an incident that has ended."""
    match incident.ending:
        case Resolved(summary=summary, compared=compared) if compared:
            yield Reply(f"after-{incident.id}", _before_and_after(incident, summary, compared))
        case Escalated(because=because, try_next=try_next) if incident.steps:
            yield Reply(f"escalated-{incident.id}", _not_fixed(incident, because, try_next))


def _before_and_after(incident: Incident, summary: str, compared: tuple[Compared, ...]) -> Message:
    rows = [("", "before", "after"), *((one.name, one.before, one.after) for one in compared[:MOST_ROWS])]
    table: Block = {
        "type": "table",
        "column_settings": [{"is_wrapped": True}] * 3,  # a thread is narrow
        "rows": [[{"type": "raw_text", "text": one_line(cell, CELL) or " "} for cell in row] for row in rows],
    }
    words = "; ".join(f"{one.name}: {one.before} → {one.after}" for one in compared)
    said = f"{incident.node} before and after. {one_line(summary, SAID)} {one_line(words, TEXT)}"
    return Message(clipped(escaped(said), TEXT), (titled(f"{incident.node}: before and after"), table))


def _not_fixed(incident: Incident, because: str, try_next: str) -> Message:
    """What was done, that it did not help, and what a person may try: also said in the channel."""
    words = f"{diagnosis(incident)}: acted, but not fixed."
    blocks: list[Block] = [titled(clipped(words, SAID)), paragraph(clipped(safe(because), SAID * 2))]
    if (steps := step_list(incident)) is not None:
        blocks.append(steps)
    if try_next.strip():
        blocks.append(bullets([("What to try", one_line(try_next, SAID * 2))]))
    said = f"{words} {one_line(because, SAID)} {one_line(try_next, SAID)}".strip()
    return Message(clipped(escaped(said), TEXT), tuple(blocks), broadcast=True)
