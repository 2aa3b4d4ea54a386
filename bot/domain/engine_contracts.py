"""What the engine needs of other rooms, and they of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from bot.domain.contracts import AdvanceLater
from bot.domain.incident import Incident

Advance: TypeAlias = Callable[[str], Awaitable[AdvanceLater | None]]


class CardIncidents(Protocol):
    """The incidents that are shown together."""

    async def incidents_of_card(self, card: str, /) -> Sequence[Incident]:
        """Return the incidents of a card (`IncidentSummary.card`), oldest first.

        Raises: LedgerError when the ledger cannot be read.
        """


class Notices(Protocol):
    """Tells the engine what happened in this program, and asks it what incidents wait for."""

    def decided(self, incident_id: str, /) -> None:
        """Say that an incident was decided in this program: this engine takes it over, and advances it at once."""

    def changed(self, group: str, /) -> None:
        """Say that this program appended to a group: it is shown, unless another live runner has the group."""

    def waits_for(self, incident_id: str, /) -> str:
        """Return what an incident waits for; empty if it does not wait, or this is not known."""


class Surface(Protocol):
    """Where people see incidents."""

    async def show(self, group: Sequence[Incident]) -> None:
        """Update what people see of a group. It depends only on the incidents, and repeating it changes nothing."""
