"""Bringing what happened to the app, and what became of it; two ways: Socket Mode and signed HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias

Kind: TypeAlias = Literal["slash_commands", "interactive", "events_api"]

NOBODY = "dispatch_failed"  # no connection, or nobody answered at the address
TOO_LATE = "operation_timeout"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long Slack waits: for an acknowledgement, and before each further try with an event."""

    acknowledgement: timedelta = timedelta(seconds=3)
    event_retries: tuple[timedelta, ...] = (timedelta(0), timedelta(minutes=1), timedelta(minutes=5))


@dataclass(frozen=True, slots=True)
class Delivered:
    """One try to bring something to the app; `failure` is empty where it was acknowledged in time."""

    kind: Kind
    payload: dict[str, Any]
    envelope_id: str = ""
    failure: str = ""
    answer: dict[str, Any] | None = None
    took: timedelta = timedelta(0)

    @property
    def is_acknowledged(self) -> bool:
        """Whether the app said in time that it has it."""
        return not self.failure


class Way(Protocol):
    """A way to the app."""

    async def bring(
        self, kind: Kind, payload: dict[str, Any], *, answerable: bool, attempt: int = 0, reason: str = ""
    ) -> Delivered:
        """Bring one payload and wait for its acknowledgement; `attempt` counts the tries before this one."""
        ...
