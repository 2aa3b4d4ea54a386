"""Incidents in the log: a line for each change, with the incident's id."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bot.domain.contracts import Log
from bot.domain.events import StepFailed, StepSkipped, StepVerified
from bot.domain.incident import Incident, StepRecord

REMEMBERED = 5000  # incidents whose last logged entry is known; an open group is shown again and again
_OUTCOMES = {StepVerified: "verified", StepSkipped: "skipped", StepFailed: "failed"}


class IncidentLog:
    """A surface that logs incidents. Whatever happened before `since` was logged by the process that ran then."""

    def __init__(self, log: Log, since: datetime) -> None:
        self._log = log
        self._since = since
        self._told: dict[str, Incident] = {}

    async def show(self, group: Sequence[Incident]) -> None:
        """Log what is new in each incident."""
        for incident in group:
            before = self._told.pop(incident.id, None)
            self._told[incident.id] = incident
            if before is None or before.seq < incident.seq:
                self._tell(before, incident)
        while len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]

    def _tell(self, before: Incident | None, now: Incident) -> None:
        if now.updated_at < self._since:
            return
        cause = (now.verdict.cause if now.verdict is not None else None) or ""
        about = {"incident": now.id, "node": now.node}
        self._log("incident", **about, group=now.group, state=now.state.value, cause=cause, entries=now.seq)
        if now.triage is not None and (before is None or before.triage is None):
            verdict, taken_at = now.triage.verdict, now.triage.taken_at
            judged_at = taken_at + verdict.took if taken_at is not None else now.updated_at
            if judged_at >= self._since:
                after = max(0.0, (judged_at - now.opened_at).total_seconds())
                self._log("judged", **about, status=verdict.status.value, after_seconds=round(after, 3))
        known = {step.number for step in before.steps if step.outcome is not None} if before is not None else set()
        for step in now.steps:
            if step.outcome is not None and step.number not in known and self._is_ours(step):
                outcome = _OUTCOMES[type(step.outcome)]
                self._log("step_ended", **about, step=step.number, action=_action(now, step), outcome=outcome)

    def _is_ours(self, step: StepRecord) -> bool:
        return step.ended_at is not None and step.ended_at >= self._since


def _action(incident: Incident, step: StepRecord) -> str:
    steps = incident.proposal.plan.steps if incident.proposal is not None else ()
    return steps[step.number - 1].action if step.number <= len(steps) else "unknown"
