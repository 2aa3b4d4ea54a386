"""Where verdicts are shown: pure functions of what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bot.domain.alert import MCP, TERMINAL
from bot.domain.pagerduty import PAGERDUTY
from bot.surfaces.descriptor import SurfaceDescriptor
from bot.surfaces.slack import member as slack
from bot.surfaces.teams import member as teams

if TYPE_CHECKING:
    from bot.sources.source import Source

PAGES = SurfaceDescriptor(PAGERDUTY, "on PagerDuty's pages", parts="pagerduty-")
SURFACES: tuple[SurfaceDescriptor, ...] = (
    slack.SURFACE,
    teams.SURFACE,
    SurfaceDescriptor(TERMINAL, "in a terminal"),
    SurfaceDescriptor(MCP, "by MCP"),
    PAGES,
)


def member_settings(
    sources: Sequence[Source] | None = None, surfaces: Sequence[SurfaceDescriptor] = SURFACES
) -> Mapping[str, type[Any]]:
    """Return the settings class of every source (all, if None), and of every surface that has one, by their names."""
    from bot.sources import SOURCES, settings_of  # they take long to import

    own = {surface.name: surface.settings for surface in surfaces if surface.settings is not None}
    return {**settings_of(SOURCES if sources is None else sources), **own}
