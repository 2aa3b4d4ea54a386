"""Checks whether a playbook may offer a remedy: the rules of its actions about order and causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.domain.action import Action
from bot.domain.cause import Cause
from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line


def actions_for_playbooks(actions: Mapping[str, Action]) -> tuple[str, ...]:
    """Return the names of the actions that a playbook may offer."""
    return tuple(name for name, action in actions.items() if action.remedy is not None)


def remedy_fault(
    cause: Cause, remedy: Sequence[str], actions: Mapping[str, Action], causes: Mapping[str, Cause]
) -> str | None:
    """Return what is wrong with a remedy, None if nothing is; `causes` are all causes, to say which it would help."""
    known = actions_for_playbooks(actions)
    for name in remedy:
        if name not in known:
            return f'"{one_line(name, 60)}" is not an action. {did_you_mean(name, known)}'
    if len(set(remedy)) != len(remedy):
        return "an action is named twice"
    reboot_at = next((at for at, name in enumerate(remedy) if actions[name].reboots), len(remedy))
    for at, name in enumerate(remedy):
        rules = actions[name].remedy
        assert rules is not None
        if rules.last and name != remedy[-1]:
            return f"{name} comes last: {rules.last}"
        if rules.before_reboot and at > reboot_at:
            return f"{name} comes before reboot: {rules.before_reboot}"
    for name in sorted(remedy, key=lambda name: not actions[name].reboots):  # a reboot's fault comes first
        if fault := _fault_for_cause(cause, name, remedy, actions, causes):
            return fault
    return None


def _fault_for_cause(
    cause: Cause, name: str, remedy: Sequence[str], actions: Mapping[str, Action], causes: Mapping[str, Cause]
) -> str | None:
    action = actions[name]
    rules = action.remedy
    assert rules is not None
    if rules.only_where and name not in cause.eased_by:
        helped = [other.name for other in causes.values() if name in other.eased_by]
        return f"{name} is not for this cause: {rules.only_where}, so it helps only {' and '.join(helped) or 'none'}"
    stopped = any(actions[before].stops_a_unit for before in remedy[: remedy.index(name)])
    if not rules.after_stopping or stopped or name in cause.cured_alone_by:
        return None
    stopping = " or ".join(known for known in actions_for_playbooks(actions) if actions[known].stops_a_unit)
    cured = [other.name for other in causes.values() if name in other.cured_alone_by]
    alone = f" (alone it cures only {' and '.join(cured)})" if cured else ""
    what = "a reboot" if action.reboots else name
    return f"{what} needs {stopping} before it: {rules.after_stopping}{alone}"
