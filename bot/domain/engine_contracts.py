"""What an engine needs of others, and others of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeAlias

from bot.domain.contracts import Again
from bot.domain.incident import Incident

Advance: TypeAlias = Callable[[str], Awaitable[Again | None]]


class Groups(Protocol):
    """The incidents that are shown together."""

    async def together(self, card: str, /) -> Sequence[Incident]:
        """Return those of a card (`IncidentSummary.card`), the oldest first.

        Raises: LedgerError when the record cannot be asked.
        """
        ...


class Notices(Protocol):
    """Where an engine is told what happened here, and says what incidents wait for."""

    def decided(self, incident_id: str, /) -> None:
        """Say that something was decided about an incident here: it is seen to from here on, and at once."""
        ...

    def changed(self, group: str, /) -> None:
        """Say that a group went on here: it is shown, unless another live runner sees to it."""
        ...

    def waits_for(self, incident_id: str, /) -> str:
        """Return what an incident waits for; empty where it does not, or nobody knows."""
        ...


class Surface(Protocol):
    """Where people see incidents."""

    async def show(self, group: Sequence[Incident]) -> None:
        """Bring what people see of a group up to date: a function of the incidents alone, and twice is once."""
        ...
