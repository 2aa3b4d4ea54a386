"""From what would end a cause to a plan with exact commands, or to no plan and the reason why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.actions.drop_caches import COSTS
from bot.domain.action import Action
from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.domain.plan import Plan, Step
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.domain.protected import is_protected
from bot.domain.verdict import Verdict
from bot.response.draining import Draining

_NONE = Draining()
_REBOOT, _FOR_NOW = "reboot", "drop_caches"


def with_plan(
    verdict: Verdict,
    playbook: Playbook,
    actions: Mapping[str, Action],
    node: Node | None = None,
    draining: Draining = _NONE,
) -> Verdict:
    """Return the verdict with its plan, where its remedy may be offered by this playbook.

    Steps hang together: where one may not be offered, neither is any after it. A reboot that is offered brings drain
    and uncordon with it, where the node is one of a Kubernetes cluster. A playbook that offers to drop caches and no
    reboot has the one in the place of the other: it frees for now what a reboot would clear.
    """
    if not verdict.remedy or verdict.snapshot is None:
        return verdict
    allowed = next((used.remedy for used in playbook.causes if used.cause.name == verdict.cause), ())
    steps: list[Step] = []
    for step in _without_reboot(verdict.remedy, allowed):
        action = actions.get(step.action)
        if action is None or step.action not in allowed or is_protected(step.args.values()):
            break
        try:
            steps.append(_with_commands(step, actions, verdict.snapshot))
        except CannotRead:
            break
    if not steps:
        return verdict
    whole, note = draining.around(node, steps) if node is not None else (tuple(steps), "")
    planned = tuple(_with_commands(step, actions, verdict.snapshot) for step in whole)
    costs = COSTS if any(step.action == _FOR_NOW for step in planned) else ""
    notes = tuple(filter(None, (note, costs)))
    return replace(verdict, plan=Plan(verdict.node, planned, verdict.lasting_fix, notes))


def _without_reboot(remedy: tuple[Step, ...], allowed: Sequence[str]) -> tuple[Step, ...]:
    """Put the gentler step in the reboot's place, where a playbook offers that one and no reboot."""
    if _REBOOT in allowed or _FOR_NOW not in allowed:
        return remedy
    return tuple(Step(_FOR_NOW) if step.action == _REBOOT else step for step in remedy)


def _with_commands(step: Step, actions: Mapping[str, Action], snapshot: Snapshot) -> Step:
    return replace(step, commands=actions[step.action].commands(step.args, snapshot))
