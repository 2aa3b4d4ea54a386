"""When something about an incident may still happen, and when to look at it again."""

from __future__ import annotations

from datetime import datetime

from bot.domain.contracts import Clock
from bot.domain.incident import Incident
from bot.response.policy import Policy


def now_of(clock: Clock, incident: Incident) -> datetime:
    """Return the time for an incident: a clock that was put back revives nothing."""
    return max(clock(), incident.updated_at)


def lives_until(policy: Policy, incident: Incident) -> datetime | None:
    """Return until when the next step may begin: so long after the decision, or after the step before it."""
    if incident.approval is None:
        return None
    ended = [step.ended_at for step in incident.steps if step.ended_at is not None]
    return max([incident.approval.at, *ended]) + policy.approval_expires
