"""What every source of alerts can do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from bot.domain.alarm import Delivery
from bot.domain.alert import SourceKind


class Source(Protocol):
    """One source. It touches nothing, so that it can be tried with bytes alone."""

    @property
    def kind(self) -> SourceKind:
        """Its name."""
        ...

    @property
    def path(self) -> str:
        """Where on the web edge it is mounted."""
        ...

    def is_genuine(self, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
        """True when a request proves that it comes from there; `headers` by lower-case name, `body` as it came."""
        ...

    def delivery(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Return what a genuine request tells.

        Raises: MalformedDelivery when it is not of the form that the source's documentation gives.
        """
        ...
