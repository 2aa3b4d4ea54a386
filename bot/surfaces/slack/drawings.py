"""What a card shows as a strip of text until Slack has its picture: the load of cores, and growth."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

from bot.domain.core_heat import CoreHeat
from bot.domain.growth import Growth
from bot.domain.json_form import plain, read
from bot.surfaces.slack import heat_block
from bot.surfaces.slack.message import Block, preformatted
from bot.surfaces.view.growth_words import growth_words, sparkline

Drawn: TypeAlias = CoreHeat | Growth
COLUMNS = 36  # the widest strip that a phone does not wrap


def growth_strip(growth: Growth, incident: str) -> Block:
    """Return growth as bars over time, with the latest figure."""
    said = f"{growth.what}, up to {growth.latest.value:,.0f}"
    block = preformatted([sparkline(growth, COLUMNS), said])
    return {**block, "block_id": f"{heat_block.GROWTH}{name_of(growth, incident)}"}


def name_of(drawn: Drawn, incident: str) -> str:
    """Return the name of a drawing on an incident's card: a new count gets a new name."""
    if isinstance(drawn, CoreHeat):
        return heat_block.name_of(drawn, incident)
    looks = repr((drawn.cause, drawn.counted, [(look.at.isoformat(), look.value) for look in drawn.looks]))
    return f"{incident}-{hashlib.sha256(looks.encode()).hexdigest()[:12]}"


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
