"""Where verdicts are shown: pure functions of what happened."""

from bot.domain.alert import TERMINAL
from bot.domain.pagerduty import PAGERDUTY
from bot.surfaces.mcp import member as mcp
from bot.surfaces.member import SurfaceMember
from bot.surfaces.slack import member as slack

PAGES = SurfaceMember(PAGERDUTY, "on PagerDuty's pages", parts="pagerduty-")
SURFACES: tuple[SurfaceMember, ...] = (
    slack.SURFACE,
    SurfaceMember(TERMINAL, "in a terminal", has_people=True),
    mcp.SURFACE,
    PAGES,
)
PEOPLE = frozenset(surface.name for surface in SURFACES if surface.has_people)  # the kinds of people that the bot knows
