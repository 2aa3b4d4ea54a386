"""How fast a leak grows, as text for a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bot.domain.growth import Growth
from bot.domain.safe_text import one_line
from bot.surfaces.view.growth_words import growth_words, sparkline


def growth_text(trends: Sequence[tuple[str, Growth]]) -> str:
    """Return a block for each node: its name, the strip of counts, and what they say."""
    if not trends:
        return "No node has two counts yet, some minutes apart. zombie serve and zombie check --open keep each count.\n"
    blocks = (
        f"{one_line(node, 80)}  {sparkline(growth)}  {growth.latest.value:,.0f} {growth.what} at "
        f"{growth.latest.at:%Y-%m-%d %H:%M} UTC\n  {growth_words(growth)}\n"
        for node, growth in trends
    )
    return "".join(blocks)


def growth_document(trends: Sequence[tuple[str, Growth]]) -> str:
    """Return it as JSON: slopes per hour, times in hours."""
    nodes = [{"node": node, **growth_body(growth)} for node, growth in trends]
    return json.dumps({"schema": 1, "nodes": nodes}, ensure_ascii=False, indent=2) + "\n"


def growth_body(growth: Growth) -> dict[str, Any]:
    """Return a node's growth as plain JSON values."""
    times = growth.harm_in
    return {
        "cause": growth.cause,
        "counts": growth.what,
        "latest": growth.latest.value,
        "at": growth.latest.at.isoformat(),
        "looks": growth.counted,
        "per_hour": growth.per_hour,
        "interval": [growth.low, growth.high] if growth.low is not None else None,
        "grows": growth.grows,
        "harm_at": growth.harm.value if growth.harm is not None else None,
        "harm": growth.harm.says if growth.harm is not None else None,
        "hours_to_harm": [each.total_seconds() / 3600 for each in times] if times is not None else None,
    }
