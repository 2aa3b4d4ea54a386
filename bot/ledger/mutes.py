"""The entries of `house` by which causes were muted or unmuted, kept as far as they were read.

`house` is long and is never changed, so each question looks only at what came after the one before.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select

from bot.domain.entry import Entry
from bot.domain.house_events import HOUSE, CauseMuted, CauseUnmuted
from bot.ledger.tables import ENTRIES, entry_of, head_of

KINDS = (CauseMuted.__name__, CauseUnmuted.__name__)
_LATER = (
    select(ENTRIES)
    .where(
        ENTRIES.c.stream == HOUSE,
        ENTRIES.c.seq > bindparam("after"),
        ENTRIES.c.seq <= bindparam("until"),
        ENTRIES.c.kind.in_(KINDS),
    )
    .order_by(ENTRIES.c.seq)
)


class KeptMutes:
    """What was read of them, and up to which entry; of two that read at once, the later answer stays."""

    def __init__(self) -> None:
        self._read: tuple[int, tuple[Entry, ...]] = (0, ())

    def entries(self, connection: Connection) -> tuple[Entry, ...]:
        """Return all of them, the oldest first.

        Raises: UnreadableEntry when a row is malformed.
        """
        after, known = self._read
        until = head_of(connection, HOUSE)[0].seq
        if until > after:
            rows = connection.execute(_LATER, {"after": after, "until": until})
            known = (*known, *(entry_of(row) for row in rows))
            self._read = (until, known)
        return known
