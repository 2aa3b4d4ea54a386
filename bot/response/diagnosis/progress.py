"""The progress of running diagnoses, for surfaces; nothing of it is on record yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.domain.incident import Incident
from bot.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """How far the reading of a node is; `waiting` says why it has not begun, `slow` that it answers slowly."""

    incident: Incident
    answered: int = 0
    asked: int = 0
    waiting: str = ""
    slow: str = ""


class DiagnosisFollower(Protocol):
    """Shows diagnoses while they run. It is told about a group event by event."""

    async def begun(self, group: Sequence[Incident], reading: Sequence[Incident]) -> None:
        """Called before any progress, when these nodes of a group are about to be read; `group` is the whole group."""

    def moved(self, underway: ReadingProgress) -> None:
        """Called with the progress of a reading; returns at once."""

    async def concluded(self, incident: Incident, verdict: Verdict) -> None:
        """Called with the verdict and its snapshot; it is recorded when this returns."""

    def ended(self, incident: Incident) -> None:
        """Called when nothing more comes: the verdict is on record, or the bot stops and the next run reads again."""


class Readings(Protocol):
    """Counts the running readings."""

    @property
    def running(self) -> int:
        """How many nodes are being read now."""
