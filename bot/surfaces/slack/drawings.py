"""What a card shows as a strip of text until Slack has its picture: the load of cores, and growth."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

from bot.domain.core_heat import CoreHeat
from bot.domain.growth import Growth
from bot.domain.json_form import plain, read
from bot.surfaces.slack.message import Block, preformatted
from bot.surfaces.view.growth_words import growth_words, sparkline
from bot.surfaces.view.heat_strip import heat_strip

Drawn: TypeAlias = CoreHeat | Growth
COLUMNS, BARS = 41, 36  # the widest preformatted line that a phone does not wrap, and the widest strip of bars
# Prefixes of block ids, which never contain words of a node or an alert.
HEAT, GROWTH = "heat-", "growth-"


def name_of(drawn: Drawn, incident: str) -> str:
    """Return the name of a drawing on an incident's card: a new reading or count gets a new name and picture."""
    if isinstance(drawn, CoreHeat):
        spans = [f"{span:.3f}" for span in drawn.spans]
        shown = repr((drawn.what, drawn.hot, drawn.cores, spans, drawn.percents))
    else:
        shown = repr((drawn.cause, drawn.counted, [(look.at.isoformat(), look.value) for look in drawn.looks]))
    return f"{incident}-{hashlib.sha256(shown.encode()).hexdigest()[:12]}"


def heat_block(heat: CoreHeat, incident: str = "") -> Block:
    """Return the load of cores as a strip; with `incident`, a picture may replace it."""
    block = preformatted([*(str(line) for line in heat_strip(heat, COLUMNS)), heat.words])
    return {**block, "block_id": f"{HEAT}{name_of(heat, incident)}"} if incident else block


def growth_block(growth: Growth, incident: str) -> Block:
    """Return growth as bars over time, with the latest figure; a picture may replace it."""
    said = f"{growth.what}, up to {growth.latest.value:,.0f}"
    return {**preformatted([sparkline(growth, BARS), said]), "block_id": f"{GROWTH}{name_of(growth, incident)}"}


def alt_text(drawn: Drawn) -> str:
    """Return what the picture shows, for screen readers."""
    return drawn.alt_text if isinstance(drawn, CoreHeat) else f"{drawn.what} over time: {growth_words(drawn)}"


def kept(drawn: Drawn) -> dict[str, Any]:
    """Return the form in which it is stored until Slack has it."""
    return {"heat" if isinstance(drawn, CoreHeat) else "growth": plain(drawn)}


def of_kept(content: Mapping[str, Any]) -> Drawn:
    """Return what was stored. Raises: NotOfForm."""
    if "growth" in content:
        return read(Growth, content["growth"])
    return read(CoreHeat, content.get("heat"))


def png_of(drawn: Drawn, node: str) -> tuple[str, bytes]:
    """Draw it; return the file's name and the picture. The first call loads Pillow."""
    if isinstance(drawn, CoreHeat):
        from bot.profile.core_picture import core_picture

        return "cores.png", core_picture(drawn, node)
    from bot.profile.growth_picture import growth_picture

    return "growth.png", growth_picture(drawn, node, growth_words(drawn))


def load() -> None:
    """Load Pillow and its letters, so that the first picture is drawn as quickly as any other."""
    png_of(CoreHeat("", 0, (0,), (1.0,), ((0,),)), "")
