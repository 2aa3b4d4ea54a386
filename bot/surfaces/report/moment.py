"""One thing that happened beside the record: on the node, or seen by a capture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Moment:
    """What happened, when, and who says so.

    Shape: `at` is on the clock of the record; `error` is how far it may be off, None where nobody measured it, and zero
    where the record's own clock told it.
    """

    at: datetime
    source: str
    what: str
    words: str
    error: timedelta | None = None
