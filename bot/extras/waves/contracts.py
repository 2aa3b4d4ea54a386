"""What a wave needs of the ledger, as a contract; `store.py` implements it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from bot.domain.claim import Claim
from bot.domain.entry import Entry
from bot.extras.waves.events import WaveEvent
from bot.extras.waves.wave import NodeAlarm, Wave


class WaveLedger(Protocol):
    """The streams of waves. Raises: every method raises LedgerUnavailable when the database does not answer."""

    async def append(self, wave: str, expected_seq: int, event: WaveEvent, by: str) -> Entry:
        """Append an event. Raises: Conflict or ImpossibleEvent when it cannot come next."""

    async def find(self, wave: str) -> Wave | None:
        """Return the wave of that id; None if there is none."""

    async def read(self, wave: str) -> tuple[Entry, ...]:
        """Return the wave's entries in order."""

    async def ids(self, only_open: bool = False) -> tuple[str, ...]:
        """Return the ids of the waves."""

    async def room(self, incident: str, claim: Claim) -> None:
        """Raises: Braked, NodeBusy, BudgetSpent or AlreadyTried when a step could not begin now."""

    async def alarms(self, since: datetime, people: frozenset[str]) -> tuple[NodeAlarm, ...]:
        """Return the alerts of sources about nodes since then, except those of these kinds."""

    async def orphans(self, before: datetime) -> tuple[str, ...]:
        """Return the open incidents, opened before then, of waves that were never proposed."""

    async def now(self) -> datetime:
        """Return the ledger's time."""
