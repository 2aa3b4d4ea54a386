"""The cases stored with incidents: what their nodes said, compressed, and limited in size."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import Connection, bindparam, func, insert, select
from sqlalchemy import case as where

from bot.domain.case import MOST_ROOM, Case, read_case
from bot.domain.errors import LedgerUnavailable
from bot.domain.events import Triaged
from bot.domain.json_form import memory_bytes
from bot.ledger.database import COMPUTING, Store, on_thread, on_thread_of
from bot.ledger.pruning import forget
from bot.ledger.tables import KEPT_CASES

MOST_BYTES = 1024 * 1024  # compressed; a node of 96 cores says 60 kB
MOST_TEXT = 64 * MOST_BYTES  # as UTF-8

_OF = (KEPT_CASES.c.incident == bindparam("of_incident"), KEPT_CASES.c.digest == bindparam("of_digest"))
_BODY = where((func.length(KEPT_CASES.c.body) <= MOST_BYTES, KEPT_CASES.c.body))
_ONE = select(_BODY).where(*_OF)
_ALL = select(KEPT_CASES.c.incident, KEPT_CASES.c.digest, _BODY).execution_options(yield_per=10)
_IS_THERE = select(KEPT_CASES.c.digest).where(*_OF)
_OLD = KEPT_CASES.c.kept_at < bindparam("before")


class CaseStore(Store):
    """The cases stored with incidents. Raises: every method raises LedgerUnavailable."""

    @on_thread_of(COMPUTING)
    def keep(self, incident: str, case: Case) -> str:
        """Store what an incident's node said; return its content hash, empty if it is too large to store."""
        text = case.text()
        digest = str(json.loads(text.removesuffix("\n").rpartition("\n")[2])["sha256"])  # its last line
        raw = text.encode()
        body = zlib.compress(raw)
        if len(body) > MOST_BYTES or max(len(raw), memory_bytes(text)) > MOST_ROOM:
            return ""
        row = {"incident": incident, "digest": digest, "body": body}
        with self.database.writing() as connection:
            if connection.execute(_IS_THERE, {"of_incident": incident, "of_digest": digest}).first() is None:
                connection.execute(insert(KEPT_CASES), row | {"kept_at": self.stamp(connection)})
        return digest

    @on_thread
    def text(self, incident: str, digest: str, most: int = MOST_TEXT) -> str | None:
        """Return the text of a case, None if it was deleted."""
        with self.database.reading() as connection:
            row = connection.execute(_ONE, {"of_incident": incident, "of_digest": digest}).one_or_none()
        if row is None:
            return None
        try:
            raw = _content(row[0], digest, most)
            return raw.decode() if raw is not None else None
        except (zlib.error, ValueError, TypeError) as no:
            raise LedgerUnavailable(f"The case of incident {incident} is damaged: {no}.") from no

    @on_thread_of(COMPUTING)
    def of_verdict(self, incident: str, triaged: Triaged) -> Case | None:
        """Return the case behind an incident's verdict, with what was muted then; None if it is not stored.

        Raises: CaseError when it is damaged.
        """
        text, shown = self.text.now(incident, triaged.case) if triaged.case else None, triaged.verdict
        if text is None:
            return None
        return read_case(text, f"The case of incident {incident}", shown.node, muted=shown.muted)

    @on_thread
    def forget(self, kept_for: timedelta, dry_run: bool = False) -> int:
        """Forget cases older than that; return how many.

        Raises: LedgerUnavailable when the database cannot be used.
        """
        return forget(self, KEPT_CASES, _OLD, kept_for, dry_run)


def stored_cases(connection: Connection) -> Iterator[tuple[str, str, str]]:
    """Yield the incident and the hash of each stored case, and what is wrong with it; a few are in memory at a time."""
    for incident, digest, body in connection.execute(_ALL):
        says = ""
        try:
            _content(body, digest, MOST_TEXT)
        except (zlib.error, ValueError, TypeError) as no:
            says = str(no)
        yield str(incident), str(digest), says


def _content(body: bytes | None, digest: str, most: int) -> bytes | None:
    """Return the stored text; None where it has more than `most` bytes. Raises: ValueError, zlib.error."""
    if body is None:
        raise ValueError("it is larger than any that is kept")
    raw = zlib.decompressobj().decompress(body, most + 1)
    if len(raw) > most:
        return None
    if hashlib.sha256(raw[: raw.rfind(b"\n", 0, -1) + 1]).hexdigest() != digest:  # of all but the last line
        raise ValueError("it is not the one that its entry names")
    return raw
