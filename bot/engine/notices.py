"""What others tell an engine, and what it tells them: made before either, and handed to both."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decided:
    """Something was decided about an incident here: it is seen to from here on, and at once."""

    incident: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A group went on here: it is shown, unless another live runner sees to it."""

    group: str


class NoticeBoard:
    """Keeps what is told until the engine takes it; keeps `contracts.Notices`."""

    def __init__(self) -> None:
        self._told: asyncio.Queue[Decided | Changed] = asyncio.Queue()
        self._waits: dict[str, str] = {}

    def decided(self, incident_id: str) -> None:
        """Say that something was decided about an incident here."""
        self._told.put_nowait(Decided(incident_id))

    def changed(self, group: str) -> None:
        """Say that a group went on here."""
        self._told.put_nowait(Changed(group))

    def waits_for(self, incident_id: str) -> str:
        """Return what an incident waits for, as its last advance said; empty where it does not, or nobody knows."""
        return self._waits.get(incident_id, "")

    async def next(self) -> Decided | Changed:
        """Wait for what is told next."""
        return await self._told.get()

    def waits(self, incident_id: str, because: str) -> bool:
        """Note what an incident waits for; True where that is news."""
        is_new = because != self.waits_for(incident_id)
        if because:
            self._waits[incident_id] = because
        else:
            self._waits.pop(incident_id, None)
        return is_new
