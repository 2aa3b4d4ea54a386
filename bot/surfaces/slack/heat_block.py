"""The load of cores on a card: as a strip of text, and as the picture that replaces it."""

from __future__ import annotations

import hashlib

from bot.domain.core_heat import CoreHeat
from bot.surfaces.slack.message import Block, Message, preformatted
from bot.surfaces.view.heat_strip import heat_strip

COLUMNS = 41  # the widest preformatted line that a phone does not wrap
# Prefixes of block ids, which never contain words of a node or an alert.
_STRIP, GROWTH, _PICTURE = "heat-", "growth-", "picture-"


def name_of(heat: CoreHeat, incident: str) -> str:
    """Return the name of an incident's heat: a node that is read again gets a new name and picture."""
    samples = repr((heat.what, heat.hot, heat.cores, [f"{span:.3f}" for span in heat.spans], heat.percents))
    return f"{incident}-{hashlib.sha256(samples.encode()).hexdigest()[:12]}"


def strip_block(heat: CoreHeat, incident: str = "") -> Block:
    """Return the heat as text; with `incident`, a picture may replace the strip."""
    block = preformatted([*(str(line) for line in heat_strip(heat, COLUMNS)), heat.words])
    return {**block, "block_id": f"{_STRIP}{name_of(heat, incident)}"} if incident else block


def picture_block(name: str, file: str, alt_text: str) -> Block:
    """Return a picture that Slack has as a file."""
    return {"type": "image", "slack_file": {"id": file}, "alt_text": alt_text, "block_id": f"{_PICTURE}{name}"}


def shown_by(block: Block) -> str:
    """Return the name of the drawing that a block shows, as a strip or as a picture; empty for any other block."""
    name = str(block.get("block_id", ""))
    begins = next((begins for begins in (_STRIP, GROWTH, _PICTURE) if name.startswith(begins)), "")
    return name.removeprefix(begins) if begins else ""


def has_pictures(message: Message) -> bool:
    """True for a message with pictures that Slack has as files."""
    return any("slack_file" in block for block in message.blocks)
