"""Mutes: causes that people know and accept, on some nodes, until a time, for a reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot.domain.errors import UsageError
from bot.domain.safe_text import one_line
from bot.domain.selector import Selector, SelectorKind

if TYPE_CHECKING:
    from bot.domain.node import Node


@dataclass(frozen=True, slots=True)
class Mute:
    """A mute in force: `selector` says which nodes, `by` is who accepted the cause, as the ledger writes people."""

    cause: str
    selector: str
    until: datetime
    reason: str
    by: str = ""

    def covers(self, node: Node) -> bool:
        """True when the selector covers this node: by name, by a glob of names, or by all labels that it lists."""
        try:
            return Selector.of(self.selector).covers(node)
        except UsageError:
            return False


def valid_selector(text: str) -> str:
    """Return `text` if it is a valid selector for a mute.

    Raises: UsageError when it is not a name, a glob of names or labels.

    Example:
    >>> valid_selector("ray-gpu-*"), valid_selector("role=gpu,az=us-east-1a")
    ('ray-gpu-*', 'role=gpu,az=us-east-1a')
    """
    try:
        if Selector.of(text).kind is not SelectorKind.WORKLOAD:  # a workload moves between nodes from hour to hour
            return text
    except UsageError:
        pass
    raise UsageError(
        f"“{one_line(text, 60)}” does not say which nodes.",
        "Write a node's name, a glob such as ray-gpu-*, or labels such as role=gpu,az=us-east-1a.",
    )
