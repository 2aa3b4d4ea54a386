"""Mutes: a cause that people know of and accept, on some nodes, until a time, for a reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from bot.domain.errors import UnreadableEntry, UsageError
from bot.domain.house_events import CauseMuted, CauseUnmuted
from bot.domain.safe_text import one_line
from bot.domain.selector import Kind, Selector

if TYPE_CHECKING:
    from bot.domain.entry import Entry
    from bot.domain.node import Node

LONGEST = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Mute:
    """One mute in force: `selector` says which nodes, `by` is whoever accepted the cause, as the record names them."""

    cause: str
    selector: str
    until: datetime
    reason: str
    by: str = ""

    def covers(self, node: Node) -> bool:
        """True when the selector means this node: by its name, a glob of names, or all of its labels that it names."""
        try:
            return Selector.of(self.selector).covers(node)
        except UsageError:
            return False


class MuteRecord(Protocol):
    """Where mutes are kept: the ledger."""

    async def mutes(self) -> tuple[Entry, ...]:
        """Return every entry by which a cause was muted or unmuted, the oldest first. Raises: LedgerError."""
        ...


def valid_selector(text: str) -> str:
    """Return `text` when it can say which nodes a mute is for.

    Raises: UsageError when it is neither a name, nor a glob of names, nor labels.

    Example:
    >>> valid_selector("ray-gpu-*"), valid_selector("role=gpu,az=us-east-1a")
    ('ray-gpu-*', 'role=gpu,az=us-east-1a')
    """
    try:
        if Selector.of(text).kind is not Kind.WORKLOAD:  # where one runs changes from hour to hour
            return text
    except UsageError:
        pass
    raise UsageError(
        f"“{one_line(text, 60)}” does not say which nodes.",
        "Write a node's name, a glob such as ray-gpu-*, or labels such as role=gpu,az=us-east-1a.",
    )


def in_force(entries: Iterable[Entry], at: datetime) -> tuple[Mute, ...]:
    """Return the mutes that hold at that instant, the oldest first; what a newer program wrote is left out.

    A cause that is muted once more for the same selector has the later mute alone.
    """
    found: dict[tuple[str, str], Mute] = {}
    for entry in entries:
        try:
            event = entry.event
        except UnreadableEntry:
            continue
        match event:
            case CauseMuted():
                found[event.cause, event.selector] = Mute(
                    event.cause, event.selector, event.until, event.reason, entry.by
                )
            case CauseUnmuted():
                found.pop((event.cause, event.selector), None)
    return tuple(mute for mute in found.values() if mute.until > at)
