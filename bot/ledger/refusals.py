"""Refusals on record: the first of each kind and person have an entry of their own, the rest of the hour is counted.

Otherwise whoever clicks on a button that is not for them, again and again, makes the stream `house` grow without bound.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, insert, select, update

from bot.domain.entry import instant_of, instant_text
from bot.domain.house_events import WishRefused
from bot.ledger.tables import REFUSALS

WRITTEN, WITHIN = 10, timedelta(hours=1)
_ALIKE = (
    REFUSALS.c.by == bindparam("named"),
    REFUSALS.c.refusal == bindparam("name"),
    REFUSALS.c.wish == bindparam("wished"),
)
_FIND = select(REFUSALS).where(*_ALIKE)
_UPDATE = update(REFUSALS).where(*_ALIKE)


def to_write(connection: Connection, event: WishRefused, by: str, now: datetime) -> WishRefused | None:
    """Count a refusal, and return it as it goes on record; None where it is only counted."""
    alike = {"named": by, "name": event.refusal, "wished": event.wish}
    row = connection.execute(_FIND, alike).one_or_none()
    if row is None:
        first = {"since": instant_text(now), "told": 1, "counted": 0}
        connection.execute(insert(REFUSALS).values(by=by, refusal=event.refusal, wish=event.wish, **first))
        return event
    if not timedelta(0) <= now - instant_of(row.since) < WITHIN:
        again = {"since": instant_text(now), "told": 1, "counted": 0}
        connection.execute(_UPDATE, alike | again)
        return replace(event, unwritten=row.counted)
    if row.told < WRITTEN:
        connection.execute(_UPDATE, alike | {"told": row.told + 1})
        return event
    connection.execute(_UPDATE, alike | {"counted": row.counted + 1})
    return None
