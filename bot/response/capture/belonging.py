"""To which incident what was caught on a node belongs: the newest that was open then, or opened soon after."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from bot.domain.incident import IncidentSummary

LED_TO = timedelta(minutes=30)  # what was caught so long before an alert may be why it came


def incident_of(summaries: Iterable[IncidentSummary], node: str, at: datetime) -> IncidentSummary | None:
    """Return the incident of that node that it belongs to; None where there is none."""
    of_node = [
        summary
        for summary in summaries
        if summary.node == node and summary.opened_at - LED_TO <= at and (not summary.ended or at <= summary.updated_at)
    ]
    return max(of_node, key=lambda summary: summary.opened_at, default=None)
