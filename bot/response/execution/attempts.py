"""What this program knows about its attempts at steps: what was sent, what was heard back, when to look again."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from bot.domain.command import Completed
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import Braked
from bot.domain.fence import FenceRefusal
from bot.domain.node import Node
from bot.domain.safe_text import one_line

POLL, LONGEST_POLL = timedelta(seconds=2), timedelta(seconds=5)
HELD_UP = "it was delayed before its command was sent"
_BOOTED = "it was not run, because the node was booted since it was read"
_NOBODY_SAYS = 124  # from here on, the exit status comes from whatever ended the command

Attempt: TypeAlias = tuple[str, int, int]  # incident, step, and which attempt at it


@dataclass(frozen=True, slots=True)
class Attempts:
    """For each attempt, the outcome of its command; lost with the program, and then only the node can tell.

    Shape: `ran` are attempts whose command this program sent, or may have sent: None while its end was not heard, a
    sentence if it failed, empty if it succeeded. `ended` are attempts whose end was heard: they are never sent again.
    Attempts in `unsent` were never sent, or were refused by their fence. `strange` notes that another machine
    answered, and `said` what the last round of calls returned.
    """

    ran: dict[Attempt, str | None] = field(default_factory=dict)
    ended: set[Attempt] = field(default_factory=set)
    unsent: set[Attempt] = field(default_factory=set)
    strange: dict[Attempt, str] = field(default_factory=dict)
    said: dict[Attempt, str] = field(default_factory=dict)

    def heard(self, key: Attempt, ended: Completed | None) -> None:
        """Note how the command of an attempt ended; None where that was not heard."""
        self.ran[key] = _failure(ended)
        if ended is not None and ended.exit_status is not None:
            self.ended.add(key)
        self.said[key] = one_line(ended.stdout, 500) if ended is not None else ""

    def not_sent(self, key: Attempt, because: str) -> AdvanceLater:
        """Note that an attempt was not sent, so that the next attempt need not wait for its fence."""
        self.ran.pop(key, None)
        self.unsent.add(key)
        return AdvanceLater(POLL, because)

    def not_there(self, key: Attempt, because: str) -> AdvanceLater:
        """Note that another machine answered, and that nothing was sent to it or run there."""
        self.strange[key] = because
        return self.not_sent(key, because)

    def kept_back(self, key: Attempt, node: Node, why: FenceRefusal) -> AdvanceLater:
        """Note that the fence let nothing run, and why."""
        if why is FenceRefusal.BOOT:
            self.ran[key] = _BOOTED
            return AdvanceLater(POLL, _BOOTED)
        if why is FenceRefusal.MACHINE:
            return self.not_there(key, f"Another machine answers as {node.name}: nothing was run there.")
        return self.not_sent(key, "its command came too late, and was not run")

    def braked(self, key: Attempt, pause: timedelta, no: Braked) -> AdvanceLater:
        """Note that the brake stops the rest of a step: that is reported too if its deadline passes meanwhile."""
        self.said[key] = f"{no.name}: {no.sentence}"
        return AdvanceLater(pause, self.said[key])


def pause_of(since: datetime, now: datetime) -> timedelta:
    """Return the pause before the next look: short at first, longer for what takes minutes."""
    return min(max(POLL, (now - since) / 10), LONGEST_POLL)


def _failure(ended: Completed | None) -> str | None:
    """Why a command failed; empty if it succeeded, None if that is not known."""
    if ended is None or ended.exit_status is None or ended.exit_status >= _NOBODY_SAYS:
        return None
    return "" if ended.exit_status == 0 else one_line(ended.stderr, 200) or f"exit status {ended.exit_status}"
