"""The export: every entry as a line of JSON, page by page, so that a slow reader delays nobody and loses nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, LargeBinary, Row, Text, cast, literal, select, tuple_

from bot.domain.json_form import DECODER
from bot.ledger.database import Database
from bot.ledger.tables import ENTRIES

_PAGE = 500  # entries
_NO_UTF8 = re.compile("[\udc80-\udcff]")
_FIELDS = ("stream", "seq", "at", "by", "kind", "body", "hash")
_KEY = (ENTRIES.c.at, ENTRIES.c.stream, ENTRIES.c.seq)
_IN_TIME = select(ENTRIES).order_by(*_KEY).limit(_PAGE)
_LAST = select(ENTRIES).order_by(*(column.desc() for column in _KEY)).limit(1)


def exported(database: Database) -> Iterator[str]:
    """Yield every entry as a line of JSON, in order of time. A body that is not JSON as we write it becomes a string.

    Each page is a separate transaction, which ends before its first line is yielded: PostgreSQL ends a transaction that
    waits for its reader for seconds. Entries appended after the first page was read are not included.

    Raises: LedgerUnavailable when the database cannot be read.
    """
    with database.reading() as connection:
        last = connection.execute(_LAST).first()
    page, until = _IN_TIME, _order_key(last) if last is not None else None
    while until is not None:
        with database.reading() as connection:
            rows = connection.execute(page.where(tuple_(*_KEY) <= until)).all()
        yield from map(_line, rows)
        if len(rows) < _PAGE:
            return
        page = _IN_TIME.where(tuple_(*_KEY) > _order_key(rows[-1]))


def _order_key(row: Row[Any]) -> ColumnElement[Any]:
    return tuple_(*(_as_stored(value) for value in (row.at, row.stream, row.seq)))


def _as_stored(value: Any) -> ColumnElement[Any]:
    """Return a value as the database compares it: SQLite may hold text that is no UTF-8, read as surrogates."""
    if isinstance(value, str) and _NO_UTF8.search(value):
        return cast(literal(value.encode("utf-8", "surrogateescape"), LargeBinary), Text)
    return literal(value)


def _line(row: Row[Any]) -> str:
    fields: dict[str, Any] = {name: row._mapping[name] for name in _FIELDS}
    try:
        fields["body"] = DECODER.decode(fields["body"])
    except (TypeError, ValueError, RecursionError):
        fields["body"] = str(fields["body"])
    return json.dumps(fields, separators=(",", ":"), default=repr)  # what is no text was put there by hand
