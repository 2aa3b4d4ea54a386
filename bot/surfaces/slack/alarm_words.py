"""What a card says of the alerts that it comes of: what they said, whether they are over, and what that means."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.alert import Alert
from bot.domain.incident import Incident
from bot.domain.safe_text import one_line
from bot.surfaces import PEOPLE
from bot.surfaces.slack.message import clipped

RESOLVED, REOPENED = "Resolved", "Reopened"
ABOUT = 600
MOST_ALERTS = 5


def is_alarm(alert: Alert) -> bool:
    """True for what a source told; false where somebody asked at a surface."""
    return alert.kind not in PEOPLE


def lead(group: Sequence[Incident]) -> str:
    """Return how the card begins: closed once every alert is over, reopened once one has come back."""
    if group and all(one.is_over for one in group):
        return RESOLVED
    return REOPENED if any(one.reopens and not one.is_over for one in group) else ""


def about(group: Sequence[Incident]) -> str:
    """Return what the alerts said, and why no plan is offered whatever the verdict."""
    alerts = {(one.kind, one.id): one for incident in group for one in incident.alerts if is_alarm(one)}
    said = [f"{one.kind} {one_line(one.id, 60)}: {one_line(one.text, 400)}" for one in alerts.values()]
    more = [f"and {len(said) - MOST_ALERTS} more alerts"] if len(said) > MOST_ALERTS else []
    why = dict.fromkeys(one.withholds for one in group if one.withholds)
    return clipped(" · ".join([*said[:MOST_ALERTS], *more, *why]), ABOUT)
