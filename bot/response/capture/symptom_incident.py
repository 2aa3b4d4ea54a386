"""The incident that a caught symptom belongs to: the newest that was open then, or opened soon after."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from bot.domain.incident import IncidentSummary

LED_TO = timedelta(minutes=30)  # a symptom this long before an alert may be its cause


def incident_of(summaries: Iterable[IncidentSummary], node: str, at: datetime) -> IncidentSummary | None:
    """Return the node's incident that it belongs to; None where there is none."""
    of_node = [
        summary
        for summary in summaries
        if summary.node == node and summary.opened_at - LED_TO <= at and (not summary.ended or at <= summary.updated_at)
    ]
    return max(of_node, key=lambda summary: summary.opened_at, default=None)
