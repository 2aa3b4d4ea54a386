"""The actions that a playbook may offer, and in which order they cure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.nearest import did_you_mean
from bot.domain.safe_text import one_line

ACTIONS = ("disable_unit", "mask_unit", "drop_caches", "drain", "uncordon", "reboot")
_STOPPING = {"disable_unit", "mask_unit"}
# Causes in which nothing leaks that a reboot would bring back: the kernel itself is stuck or full.
FREED_BY_DROPPING = "leaked-memory-cgroups"
REBOOT_ALONE = ("lockup", "too-many-live-cgroups")


def remedy_fault(cause: str, remedy: Sequence[str]) -> str | None:
    """Return what is wrong with a remedy, None when nothing is.

    Example:
    >>> remedy_fault("lockup", ["reboot"]) is None
    True
    >>> remedy_fault("crash-looping-unit", ["reboot", "disable_unit"])
    'disable_unit comes before reboot: a reboot starts again what is not disabled'
    """
    for action in remedy:
        if action not in ACTIONS:
            return f'"{one_line(action, 60)}" is no action. {did_you_mean(action, ACTIONS)}'
    if len(set(remedy)) != len(remedy):
        return "an action is named twice"
    if "uncordon" in remedy and remedy[-1] != "uncordon":
        return "uncordon comes last: it lets work back onto the node"
    if "reboot" not in remedy:
        return _dropping_fault(cause, remedy)
    after = remedy[remedy.index("reboot") :]
    for action in after:
        if action in _STOPPING:
            return f"{action} comes before reboot: a reboot starts again what is not disabled"
        if action == "drain":
            return "drain comes before reboot: afterwards there is nothing left to move away"
    if not _STOPPING & set(remedy) and cause not in REBOOT_ALONE:
        return (
            "a reboot needs disable_unit or mask_unit before it, or the cause is back after it "
            f"(alone it cures only {' and '.join(REBOOT_ALONE)})"
        )
    return _dropping_fault(cause, remedy)


def _dropping_fault(cause: str, remedy: Sequence[str]) -> str | None:
    if "drop_caches" not in remedy:
        return None
    if cause != FREED_BY_DROPPING:
        return f"drop_caches frees dying memory cgroups: it helps only {FREED_BY_DROPPING}"
    if not _STOPPING & set(remedy[: remedy.index("drop_caches")]):
        return "drop_caches needs disable_unit or mask_unit before it: it frees for now, and stops no leak"
    return None
