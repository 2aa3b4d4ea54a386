"""All labels of later causes, one line a cause."""

from __future__ import annotations

from tests.independent.label import Label
from tests.independent.later import heat, links, packets, pages, starved

LATER: tuple[Label, ...] = (*links.BONDS, *heat.HEAT, *packets.TCP, *pages.PAGES, *starved.STARVED)
