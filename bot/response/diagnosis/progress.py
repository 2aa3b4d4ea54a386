"""How the diagnoses under way come along, for whoever shows them; nothing of it is on record yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.domain.incident import Incident
from bot.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Underway:
    """How far the reading of one incident's node has come; `waiting` says why it has not begun."""

    incident: Incident
    answered: int = 0
    asked: int = 0
    waiting: str = ""


class Follower(Protocol):
    """Whoever shows diagnoses while they run. Of one group it is told one thing at a time."""

    async def begun(self, group: Sequence[Incident], reading: Sequence[Incident]) -> None:
        """Hear, before any progress, that these nodes of a group are about to be read; `group` is all of it."""
        ...

    def moved(self, underway: Underway) -> None:
        """Hear how far one of them has come; returns at once."""
        ...

    async def concluded(self, incident: Incident, verdict: Verdict) -> None:
        """Hear the verdict, with its snapshot; it is put on record when this returns."""
        ...

    def ended(self, incident: Incident) -> None:
        """Hear that nothing more comes: the verdict is on record, or the bot is stopping and somebody else owes it."""
        ...
