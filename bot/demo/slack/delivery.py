"""Delivery of commands, interactions and events to the app, by Socket Mode or by signed HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, Protocol, TypeAlias

DeliveryKind: TypeAlias = Literal["slash_commands", "interactive", "events_api"]

NOBODY = "dispatch_failed"  # no connection, or no answer from the address
TOO_LATE = "operation_timeout"


@dataclass(frozen=True, slots=True)
class DeliveryTimeouts:
    """How long Slack waits for an acknowledgement, and before each retry of an event."""

    acknowledgement: timedelta = timedelta(seconds=3)
    event_retries: tuple[timedelta, ...] = (timedelta(0), timedelta(minutes=1), timedelta(minutes=5))


@dataclass(frozen=True, slots=True)
class Delivered:
    """An attempt to deliver something. `failure` is empty if the app acknowledged it in time."""

    kind: DeliveryKind
    payload: dict[str, Any]
    failure: str = ""
    answer: dict[str, Any] | None = None

    @property
    def is_acknowledged(self) -> bool:
        """Whether the app acknowledged it in time."""
        return not self.failure


class Way(Protocol):
    """A way to reach the app: there are two."""

    async def deliver(
        self, kind: DeliveryKind, payload: dict[str, Any], *, answerable: bool, attempt: int = 0, reason: str = ""
    ) -> Delivered:
        """Deliver a payload and wait for the acknowledgement; `attempt` is the number of earlier attempts."""
        ...
