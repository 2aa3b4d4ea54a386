"""Facts of a step as they stand on record, so that proof and undo can be told from the record alone."""

from __future__ import annotations

from collections.abc import Mapping

from bot.domain.action import Action, Facts
from bot.domain.events import StepVerified
from bot.domain.incident import Incident, StepRecord
from bot.domain.plan import Step
from bot.domain.verdict import Evidence
from bot.response.execution.stopping import plan_of

_TOLD = 12  # facts in the sentence; all of them stand in the lines


def as_evidence(action: Action, step: Step, facts: Facts) -> Evidence:
    """Return facts as they go on record."""
    lines = tuple(f"{name}={value}" for name, value in facts.items())
    return Evidence(step.action, "look", f"{action.said(step.args)}: {', '.join(lines[:_TOLD])}", lines)


def recorded(record: StepRecord, otherwise: Facts) -> Facts:
    """Return what was seen before a step began; `otherwise` where it never began."""
    if record.started is None:
        return otherwise
    return facts_of(record.started.before)


def earlier(incident: Incident) -> dict[str, Facts]:
    """Return what each step so far began from, by its action; nothing of one that never began."""
    steps = zip(plan_of(incident)[0].steps, incident.steps, strict=False)
    return {step.action: recorded(record, {}) for step, record in steps}


def proved(record: StepRecord) -> Facts:
    """Return what proved a step; empty where it was skipped, or is not proved."""
    return facts_of(record.outcome.proof) if isinstance(record.outcome, StepVerified) else {}


def undo_commands(action: Action, step: Step, record: StepRecord) -> tuple[str, ...]:
    """Return the commands that bring back what was before a step; none where it was never begun."""
    return action.undo(step.args, recorded(record, {})) if record.started is not None else ()


def undoable(incident: Incident, actions: Mapping[str, Action]) -> bool:
    """True when something that an incident did can be taken back."""
    steps = incident.proposal.plan.steps if incident.proposal is not None else ()
    return any(
        record.started is not None
        and step.action in actions
        and bool(actions[step.action].inverse(step.args, recorded(record, {})))
        for record, step in zip(incident.steps, steps, strict=False)
    )


def facts_of(evidence: tuple[Evidence, ...]) -> Facts:
    """Return the facts that a step's evidence holds."""
    return dict(line.split("=", 1) for seen in evidence[:1] for line in seen.source if "=" in line)
