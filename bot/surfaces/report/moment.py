"""Something that happened outside the record: on the node, or seen by a capture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened, when, and who says so.

    Shape: `at` is on the record's clock; `error` is how far it may be off, None where nobody measured it, zero where it
    comes from the record's own clock.
    """

    at: datetime
    source: str
    what: str
    words: str
    error: timedelta | None = None
