"""The load of cores, which a card shows as a strip of text until Slack has its picture."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from bot.domain.core_heat import CoreHeat
from bot.domain.json_form import plain, read
from bot.surfaces.slack.message import Block, preformatted
from bot.surfaces.view.heat_strip import heat_strip

COLUMNS = 41  # the widest preformatted line that a phone does not wrap
HEAT = "heat-"  # a prefix of block ids, which never contain words of a node or an alert


def name_of(heat: CoreHeat, incident: str) -> str:
    """Return the name of the drawing on an incident's card: a new reading gets a new name and picture."""
    spans = [f"{span:.3f}" for span in heat.spans]
    shown = repr((heat.what, heat.hot, heat.cores, spans, heat.percents))
    return f"{incident}-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"


def heat_block(heat: CoreHeat, incident: str = "") -> Block:
    """Return the load of cores as a strip; with `incident`, a picture may replace it."""
    block = preformatted([*(str(line) for line in heat_strip(heat, COLUMNS)), heat.words])
    return {**block, "block_id": f"{HEAT}{name_of(heat, incident)}"} if incident else block


def kept(heat: CoreHeat) -> dict[str, Any]:
    """Return the form in which it is stored until Slack has it."""
    return {"heat": plain(heat)}


def of_kept(content: Mapping[str, Any]) -> CoreHeat:
    """Return what was stored. Raises: NotOfForm."""
    return read(CoreHeat, content.get("heat"))


def png_of(heat: CoreHeat, node: str) -> bytes:
    """Draw it. The first call loads Pillow."""
    from bot.surfaces.view.core_picture import core_picture

    return core_picture(heat, node)


def load() -> None:
    """Load Pillow and its letters, so that the first picture is drawn as quickly as any other."""
    png_of(CoreHeat("", 0, (0,), (1.0,), ((0,),)), "")
