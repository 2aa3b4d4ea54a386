"""Incidents that came of pages, in any state, for tests of what PagerDuty is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain.alert import Alert
from bot.domain.events import AlertReceived, Escalated, IncidentEvent
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.domain.verdict import Verdict
from tests.record.incidents import NODE, TRIAGED, WAYS, entries

GROUP = "g7k3m9x2qp"


def opened(page: str, node: str = NODE) -> AlertReceived:
    """The first entry of an incident that came of a page."""
    return AlertReceived(Alert("pagerduty", page, "", "a node is slow"), node, GROUP, "node-health")


def of_page(
    page: str, state: State = State.PROPOSED, *, node: str = NODE, incident: str = "7k3m9x2qpv", after: int = 0
) -> Incident:
    """An incident of a page in some state, opened so many seconds after the others."""
    events = [opened(page, node) if isinstance(one, AlertReceived) else one for one in WAYS[state]]
    return moved(fold(entries(events, incident)), after)


def judged(page: str, verdict: Verdict, *, incident: str = "7k3m9x2qpv", after: int = 0) -> Incident:
    """An incident of a page with that verdict, and no plan."""
    plain = replace(verdict, plan=None)
    events: list[IncidentEvent] = [opened(page, verdict.node), replace(TRIAGED, verdict=plain)]
    return moved(fold(entries(events, incident)), after)


def moved(incident: Incident, after: int) -> Incident:
    """The same incident, so many seconds later."""
    return replace(incident, opened_at=incident.opened_at + timedelta(seconds=after))


def not_fixed(page: str, incident: str = "7k3m9x2qpv") -> Incident:
    """An incident in which something was done that did not help."""
    found = of_page(page, State.ESCALATED, incident=incident)
    assert isinstance(found.ending, Escalated)
    return found
