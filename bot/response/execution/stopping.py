"""How an incident stops short of its plan: called off, handed to a person, or parked on a question."""

from __future__ import annotations

from bot.domain.events import GIVE_UP, GO_ON, Cancelled, Escalated, Expired, IncidentEvent, QuestionAsked
from bot.domain.incident import Incident
from bot.domain.plan import Plan


def plan_of(incident: Incident) -> tuple[Plan, dict[str, str]]:
    """Return what was approved, and what it is bound to."""
    assert incident.proposal is not None
    return incident.proposal.plan, dict(incident.proposal.binds)


def asked(what: str) -> QuestionAsked:
    """Return the question that parks an incident whose node cannot be trusted."""
    return QuestionAsked(f"{what} Nothing more is sent to it. What is it?", (GO_ON, GIVE_UP))


def stopped(incident: Incident, because: str) -> IncidentEvent:
    """End an incident before its next step: called off where nothing was done, else handed to a person."""
    return Escalated(because, rest_of(incident)) if incident.steps else Cancelled(because)


def expired(incident: Incident, because: str) -> IncidentEvent:
    """End an incident whose approval's time is over: expired where nothing was done, else handed to a person."""
    return Escalated(because, rest_of(incident)) if incident.steps else Expired(because)


def rest_of(incident: Incident) -> str:
    """Say what of the plan was not done."""
    left = plan_of(incident)[0].steps[len(incident.steps) :]
    return f"Not done: {', '.join(step.action for step in left)}." if left else ""
