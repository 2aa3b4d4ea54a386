"""What an incident cost: how long its node was in trouble, where that time went, and its GPUs by their label."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from bot.domain.events import (
    Approved,
    Cancelled,
    Declined,
    Escalated,
    Expired,
    PlanProposed,
    StepStarted,
    Triaged,
    ValidationStarted,
)
from bot.domain.node import GPUS_LABEL
from bot.domain.safe_text import one_line
from bot.extras.reports.report_data import ReportData

_COUNT = re.compile(r"\d{1,4}(\.\d{1,3})?\Z", re.ASCII)


def cost_words(data: ReportData) -> str:
    """Return what an incident cost, from its first entry to its end, or until now while it is open.

    Example: "90.0 node-minutes, 12.00 GPU-hours (8 GPUs by the label gpus)."
    """
    lasted = max(timedelta(0), (data.ended_at or data.made_at) - data.incident.opened_at)
    minutes, label = f"{lasted / timedelta(minutes=1):,.1f} node-minutes", data.labels.get(GPUS_LABEL)
    if label is None:
        return f"{minutes}; GPU-hours are not known: the node has no label {GPUS_LABEL}."
    if _COUNT.match(label) is None:
        return f"{minutes}; GPU-hours are not known: the label {GPUS_LABEL} is {one_line(label, 40)!r}."
    gpus = float(label)
    hours = gpus * (lasted / timedelta(hours=1))
    return f"{minutes}, {hours:,.2f} GPU-hours ({gpus:g} GPUs by the label {GPUS_LABEL})."


def spans(data: ReportData) -> Iterator[tuple[str, datetime, datetime]]:
    """Yield where the time went: the phase, its start, its end."""
    ended = data.ended_at or data.made_at
    decided = data.at(Approved, Declined, Expired, Cancelled, Escalated)
    marks = (
        ("read and judged", data.incident.opened_at, data.at(Triaged)),
        ("waited for a decision", data.at(PlanProposed), decided),
        ("waited to begin", data.at(Approved), data.at(StepStarted)),
        ("acted", data.at(StepStarted), data.at(ValidationStarted)),
        ("watched the cure", data.at(ValidationStarted), data.ended_at),
    )
    for what, since, until in marks:
        if since is not None:
            yield what, since, min(until or ended, ended)
