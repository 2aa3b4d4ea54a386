"""Refusals on record: the first of each kind and person get their own entries, the rest of the hour is counted.

Otherwise whoever clicks on a button that is not for them, again and again, makes the stream `house` grow without bound.
Whoever can make up people, with a stolen signing secret, could do it all the same: so there is a bound for all of them.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from bot.domain.entry import instant_of, instant_text
from bot.domain.house_events import WishRefused
from bot.ledger.tables import REFUSALS

WRITTEN, WITHIN = 10, timedelta(hours=1)
WRITTEN_IN_ALL = 500  # entries within the same time, of all people together
FORGOTTEN = timedelta(days=7)  # who was refused nothing since needs no row any more
_EVERYBODY = {"named": "*", "name": "*", "wished": "*"}  # the row that counts all; nobody is called so
_ALIKE = (
    REFUSALS.c.by == bindparam("named"),
    REFUSALS.c.refusal == bindparam("name"),
    REFUSALS.c.wish == bindparam("wished"),
)
_FIND = select(REFUSALS).where(*_ALIKE)
_UPDATE = update(REFUSALS).where(*_ALIKE)
_OLD = delete(REFUSALS).where(REFUSALS.c.since < bindparam("before"), REFUSALS.c.by != "*")


def count_refusal(connection: Connection, event: WishRefused, by: str, now: datetime) -> WishRefused | None:
    """Count a refusal, and return it as it goes on record; None where it is only counted.

    Shape: the next entry that is written says how many were only counted: of its kind and person, and of those for whom
    there was no room at all.
    """
    alike = {"named": by, "name": event.refusal, "wished": event.wish}
    own = connection.execute(_FIND, alike).one_or_none()
    is_over = own is None or _is_over(own, now)
    if own is not None and not is_over and own.told >= WRITTEN:
        connection.execute(_UPDATE, alike | {"counted": own.counted + 1})
        return None
    if (left_out := _take_allowance(connection, now)) is None:
        return None
    if own is not None and not is_over:
        connection.execute(_UPDATE, alike | {"told": own.told + 1})
        return replace(event, unwritten=left_out)
    _count_anew(connection, own, alike, now)
    return replace(event, unwritten=left_out + (own.counted if own is not None else 0))


def _take_allowance(connection: Connection, now: datetime) -> int | None:
    """Take an entry of the allowance that all people share; None where there is none left, which is counted.

    Shape: what is returned is how many had none in the time before, told once.
    """
    row = connection.execute(_FIND, _EVERYBODY).one_or_none()
    if row is None or _is_over(row, now):
        _count_anew(connection, row, _EVERYBODY, now)
        connection.execute(_OLD, {"before": instant_text(now - FORGOTTEN)})
        return row.counted if row is not None else 0
    if row.told >= WRITTEN_IN_ALL:
        connection.execute(_UPDATE, _EVERYBODY | {"counted": row.counted + 1})
        return None
    connection.execute(_UPDATE, _EVERYBODY | {"told": row.told + 1})
    return 0


def _count_anew(connection: Connection, row: Row[Any] | None, alike: dict[str, str], now: datetime) -> None:
    """Begin to count anew: the entry that is made now is the first."""
    first = {"since": instant_text(now), "told": 1, "counted": 0}
    if row is None:
        names = {"by": alike["named"], "refusal": alike["name"], "wish": alike["wished"]}
        connection.execute(insert(REFUSALS).values(**names, **first))
    else:
        connection.execute(_UPDATE, alike | first)


def _is_over(row: Row[Any], now: datetime) -> bool:
    return not timedelta(0) <= now - instant_of(row.since) < WITHIN
