"""What speaks against an event although its state would let it through: the promises that one table cannot hold.

They are about one incident and its record alone. Who may approve, budgets and the brake are guards, elsewhere.
"""

from __future__ import annotations

from bot.domain.alert import BOT
from bot.domain.event_form import Event
from bot.domain.events import (
    Approved,
    Cancelled,
    Declined,
    Endorsed,
    Expired,
    NodePicked,
    PlanProposed,
    PlanWithheld,
    QuestionAnswered,
    Resolved,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    Triaged,
    ValidationStarted,
)
from bot.domain.incident import Incident
from bot.domain.verdict import Confidence, Verdict


def objection(incident: Incident, event: Event, by: str) -> str:
    """Return why the event cannot be this incident's next, or nothing where it can."""
    match event:
        case NodePicked(node=node):
            return "it has its node" if incident.node else "" if node else "it names no node"
        case Triaged(verdict=verdict):
            return "" if verdict.node == incident.node else f"its node is {incident.node or 'not known yet'}"
        case PlanWithheld() | PlanProposed():
            return _about_plan(incident.verdict, event, undoes=bool(incident.undoes))
        case Endorsed() | Approved() | Declined():
            return _about_decision(incident, event, by)
        case Cancelled() | Expired():
            return "a step has begun" if incident.steps else ""
        case StepStarted() | StepSkipped() | StepVerified() | StepFailed() | ValidationStarted():
            return _about_step(incident, event)
        case Resolved():
            return "" if incident.samples and incident.samples[-1].holds else "the last look did not find it cured"
        case QuestionAnswered():
            return "" if incident.node else "its node has to be picked"
    return ""


def _about_plan(verdict: Verdict | None, event: PlanWithheld | PlanProposed, *, undoes: bool) -> str:
    if verdict is None or verdict.plan is None:
        return "its verdict has no plan"
    if isinstance(event, PlanWithheld):
        return ""
    if event.plan.node != verdict.node:
        return f"the plan is for {event.plan.node}"
    if not event.plan.steps:
        return "the plan has no steps"
    # What is taken back needs no cause: it was done, and that stands on record.
    if not undoes and verdict.confidence not in (Confidence.CONFIRMED, Confidence.LIKELY):
        return "what is only possible is not acted upon"
    if event.approvals_needed < 1:
        return "somebody has to approve"
    # Also where a secret was taken out of it: what is kept is then not what would run.
    return "" if event.is_whole else "its digest is not that of the plan on record"


def _about_decision(incident: Incident, event: Endorsed | Approved | Declined, by: str) -> str:
    proposal = incident.proposal
    if proposal is None:
        return "nothing was proposed"
    if isinstance(event, Declined):
        return "another plan was declined" if event.digest not in ("", proposal.digest) else ""
    if event.digest != proposal.digest:
        return "another plan was meant"
    if by == BOT:
        return "only a person says yes"
    if by in {endorsement.by for endorsement in incident.endorsements}:
        return f"{by} has said yes already"
    is_last = len(incident.endorsements) + 1 >= proposal.approvals_needed
    if isinstance(event, Approved) and not is_last:
        return f"{proposal.approvals_needed} have to say yes"
    return "this yes is the last that was needed" if isinstance(event, Endorsed) and is_last else ""


def _about_step(
    incident: Incident, event: StepStarted | StepSkipped | StepVerified | StepFailed | ValidationStarted
) -> str:
    if any(isinstance(step.outcome, StepFailed) for step in incident.steps):
        return "a step has failed"
    planned = len(incident.proposal.plan.steps) if incident.proposal is not None else 0
    open_step = incident.step_under_way
    if isinstance(event, ValidationStarted):
        return "" if open_step is None and len(incident.steps) == planned else "not all steps are through"
    if isinstance(event, StepVerified | StepFailed):
        return "" if open_step is not None and open_step.number == event.number else f"step {event.number} is not open"
    if isinstance(event, StepStarted) and open_step is not None:
        again = (open_step.number, open_step.attempt + 1)
        return "" if (event.number, event.attempt) == again else f"step {open_step.number} is open"
    if open_step is not None:
        return f"step {open_step.number} is open"
    if event.number != incident.next_step or event.number > planned:
        return f"step {event.number} is not the next of {planned}"
    return "" if isinstance(event, StepSkipped) or event.attempt == 1 else "its first attempt is number 1"
