"""A cache of `house` entries of a few kinds: mutes, marks of verdicts, captures.

`house` is long and never changes, so each read looks only at what came after the previous read.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from bot.domain.entry import Entry
from bot.domain.house_events import (
    HOUSE,
    CaptureApproved,
    CaptureAsked,
    CaptureBegan,
    CaptureEnded,
    CaptureStarting,
    CaptureStopping,
    CauseLookedAt,
    CauseMuted,
    CauseUnmuted,
    SymptomCaught,
    VerdictMarked,
)
from bot.ledger.tables import ENTRIES, entry_of, head_of

MUTES = (CauseMuted.__name__, CauseUnmuted.__name__)
MARKS = (VerdictMarked.__name__, CauseLookedAt.__name__)
CAPTURES = (
    CaptureAsked.__name__,
    CaptureApproved.__name__,
    CaptureStarting.__name__,
    CaptureBegan.__name__,
    SymptomCaught.__name__,
    CaptureStopping.__name__,
    CaptureEnded.__name__,
)
_LATER = (
    select(ENTRIES)
    .where(
        ENTRIES.c.stream == HOUSE,
        ENTRIES.c.seq > bindparam("after"),
        ENTRIES.c.seq <= bindparam("until"),
        ENTRIES.c.kind.in_(bindparam("kinds", expanding=True)),
    )
    .order_by(ENTRIES.c.seq)
)


class HouseEntries:
    """The entries read so far, and up to which number; of two simultaneous reads, the later answer stays."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self._kinds = kinds
        self._read: tuple[int, tuple[Entry, ...]] = (0, ())

    def read(self, connection: Connection) -> tuple[Entry, ...]:
        """Return all of them, the oldest first.

        Raises: UnreadableEntry when a row is malformed.
        """
        after, known = self._read
        until = head_of(connection, HOUSE)[0].seq
        if until > after:
            rows = connection.execute(_LATER, {"after": after, "until": until, "kinds": self._kinds})
            known = (*known, *(entry_of(row) for row in rows))
            self._read = (until, known)
        return known
