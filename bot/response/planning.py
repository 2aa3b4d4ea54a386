"""From what would end a cause to a plan with exact commands, or to no plan and the reason why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.domain.action import Action
from bot.domain.errors import CannotRead
from bot.domain.plan import Plan, Step
from bot.domain.playbook import Playbook
from bot.domain.protected import is_protected
from bot.domain.verdict import Verdict


def with_plan(verdict: Verdict, playbook: Playbook, actions: Mapping[str, Action]) -> Verdict:
    """Return the verdict with its plan, where its remedy may be offered by this playbook.

    Steps hang together: where one may not be offered, neither is any after it.
    """
    if not verdict.remedy or verdict.snapshot is None:
        return verdict
    allowed = next((used.remedy for used in playbook.causes if used.cause.name == verdict.cause), ())
    steps: list[Step] = []
    for step in verdict.remedy:
        action = actions.get(step.action)
        if action is None or step.action not in allowed or is_protected(step.args.values()):
            break
        try:
            steps.append(replace(step, commands=action.commands(step.args, verdict.snapshot)))
        except CannotRead:
            break
    if not steps:
        return verdict
    return replace(verdict, plan=Plan(verdict.node, tuple(steps), verdict.lasting_fix))
