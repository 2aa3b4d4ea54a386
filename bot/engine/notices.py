"""Messages between the engine and other parts: made before both, and handed to both."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decided:
    """Something was decided about an incident here: this runner takes it over at once."""

    incident: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A group changed here: it is shown, unless another live runner owns it."""

    group: str


class NoticeBoard:
    """Stores messages until the engine takes them; implements `contracts.Notices`."""

    def __init__(self) -> None:
        self._told: asyncio.Queue[Decided | Changed] = asyncio.Queue()
        self._waits: dict[str, str] = {}

    def decided(self, incident_id: str) -> None:
        """Report that something was decided about an incident here."""
        self._told.put_nowait(Decided(incident_id))

    def changed(self, group: str) -> None:
        """Report that a group changed here."""
        self._told.put_nowait(Changed(group))

    def waits_for(self, incident_id: str) -> str:
        """Return what an incident waits for, as its last advance said; empty if it does not wait, or if unknown."""
        return self._waits.get(incident_id, "")

    async def next(self) -> Decided | Changed:
        """Wait for the next message."""
        return await self._told.get()

    def waits(self, incident_id: str, because: str) -> bool:
        """Note what an incident waits for; True if that is new."""
        is_new = because != self.waits_for(incident_id)
        if because:
            self._waits[incident_id] = because
        else:
            self._waits.pop(incident_id, None)
        return is_new
