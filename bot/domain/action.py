"""An action is something that can be done on a node: a name, and the exact commands it would run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.domain.probe import Snapshot


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done.

    Shape: `commands(args, snapshot)` returns the command lines, quoted for a POSIX shell, in order.
    Raises: `commands` raises CannotRead when the snapshot lacks what the action must be fenced by.
    """

    name: str
    title: str
    commands: Callable[[Mapping[str, str], Snapshot], tuple[str, ...]]
