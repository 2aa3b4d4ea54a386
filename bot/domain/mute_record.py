"""Mutes as the record has them: entries of `house`, of which each muted a cause, or ended its mute."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from bot.domain.mute import Mute

if TYPE_CHECKING:
    from bot.domain.entry import Entry


class MuteRecord(Protocol):
    """Where mutes are kept: the ledger."""

    async def mutes(self) -> tuple[Entry, ...]:
        """Return every entry that muted or unmuted a cause, oldest first. Raises: LedgerError."""


@dataclass(frozen=True, slots=True)
class GivenMutes:
    """Mutes as they were read at a beginning, or came with an order: a `MuteRecord`."""

    entries: tuple[Entry, ...]

    async def mutes(self) -> tuple[Entry, ...]:
        """Return them."""
        return self.entries


def mutes_in_force(entries: Collection[Entry], at: datetime) -> tuple[Mute, ...]:
    """Return the mutes in force at that instant, oldest first; entries of newer programs are left out.

    If a cause was muted again for the same selector, only the later mute counts.
    """
    if not entries:  # as in most checks, which need not load the house's events then
        return ()
    from bot.domain.house_events import CauseMuted, CauseUnmuted

    found: dict[tuple[str, str], Mute] = {}
    for entry in entries:
        match entry.known_event:
            case CauseMuted(cause=cause, selector=selector, until=until, reason=reason):
                found[cause, selector] = Mute(cause, selector, until, reason, entry.by)
            case CauseUnmuted(cause=cause, selector=selector):
                found.pop((cause, selector), None)
    return tuple(mute for mute in found.values() if mute.until > at)
