"""The incidents that follow from the entries: folded, and listed in a row each; both can be made again from them."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy import Connection, Row, and_, bindparam, func, insert, or_, select, update

from bot.domain.alert import SourceKind
from bot.domain.entry import Entry, instant_of, instant_text
from bot.domain.errors import ImpossibleEvent, UnreadableEntry
from bot.domain.fold import fold, fold_entry
from bot.domain.incident import Changes, Incident, IncidentSummary
from bot.domain.transitions import State
from bot.ledger.entries import check_are_texts, entry_of, read_stream
from bot.ledger.tables import ENTRIES, INCIDENTS

MOST_KEPT = 300  # folded; an incident with 800 alerts takes half a megabyte

LINE = tuple(
    column for column in INCIDENTS.c if column is not INCIDENTS.c.change
)  # the columns that come from the incident
_UPDATE = update(INCIDENTS).where(INCIDENTS.c.id == bindparam("named"))  # built once: building costs more than running
_INSERT = insert(INCIDENTS)
_LAST = select(func.coalesce(func.max(INCIDENTS.c.change), 0))
_CHANGED = _UPDATE.values(change=_LAST.scalar_subquery() + 1)
_SINCE = select(INCIDENTS).where(INCIDENTS.c.change > bindparam("since")).order_by(INCIDENTS.c.change)
_TOGETHER = (
    select(INCIDENTS.c.id)
    .where(
        or_(INCIDENTS.c.group == bindparam("card"), and_(INCIDENTS.c.group == "", INCIDENTS.c.id == bindparam("card")))
    )
    .order_by(INCIDENTS.c.opened_at, INCIDENTS.c.id)
)
_CARD_OF = select(INCIDENTS.c.group).where(INCIDENTS.c.id == bindparam("named"))
_NODES = select(INCIDENTS.c.node).where(INCIDENTS.c.group == bindparam("of_group")).distinct()
_OPEN = select(INCIDENTS).where(~INCIDENTS.c.ended).order_by(INCIDENTS.c.change)
_FROM = (
    select(ENTRIES)
    .where(ENTRIES.c.stream == bindparam("named"), ENTRIES.c.seq >= bindparam("first"))
    .order_by(ENTRIES.c.seq)
)


class Folded(Protocol):
    """What the entries of a stream make: its stream, and the number and hash of the last entry."""

    @property
    def id(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def head(self) -> str: ...


F = TypeVar("F", bound=Folded)


class FoldCache(Generic[F]):
    """Streams folded so far, so that each new entry costs the same, however long the stream is. Threads may share it.

    What is kept covers the entries up to its last entry, and is used only while that entry has the same hash.
    So it does not matter who appended later entries, or whether a folded transaction was rolled back.
    """

    def __init__(
        self, fold: Callable[[Sequence[Entry]], F], fold_entry: Callable[[F, Entry], F], most_kept: int = MOST_KEPT
    ) -> None:
        self._fold, self._fold_entry = fold, fold_entry
        self._most_kept = most_kept
        self._kept: OrderedDict[str, F] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, connection: Connection, stream: str) -> F | None:
        """Return what a stream's entries make; None where it has none.

        Raises: ImpossibleEvent when they do not follow each other; UnreadableEntry when one cannot be read here.
        """
        with self._lock:
            kept = self._kept.get(stream)
        found = self._folded_further(connection, kept) if kept is not None else None
        if found is None:
            entries = read_stream(connection, stream)
            found = self._fold(entries) if entries else None
        with self._lock:
            self._kept.pop(stream, None)
            if found is not None:
                self._kept[stream] = found
                while len(self._kept) > self._most_kept:
                    self._kept.popitem(last=False)
        return found

    def _folded_further(self, connection: Connection, kept: F) -> F | None:
        """Fold the later entries; None where the last folded entry is gone."""
        rows = connection.execute(_FROM, {"named": kept.id, "first": kept.seq}).all()
        if not rows or (rows[0].seq, rows[0].hash) != (kept.seq, kept.head):
            return None
        for entry in map(entry_of, rows[1:]):
            kept = self._fold_entry(kept, entry)
        return kept


class IncidentCache(FoldCache[Incident]):
    """Incidents folded so far."""

    def __init__(self, most_kept: int = MOST_KEPT) -> None:
        super().__init__(fold, fold_entry, most_kept)

    def readable(
        self, connection: Connection, streams: Iterable[str]
    ) -> tuple[tuple[Incident, ...], Mapping[str, str]]:
        """Return these incidents in order, and by id why others among them cannot be read."""
        found, unreadable = list[Incident](), dict[str, str]()
        for name in streams:
            try:
                incident = self.find(connection, name)
            except (ImpossibleEvent, UnreadableEntry) as no:  # of a newer program, or damaged
                unreadable[name] = str(no)
            else:
                found += [incident] if incident is not None else []
        return tuple(found), unreadable


def write_incident_row(connection: Connection, incident: Incident) -> None:
    """Write the incident's row."""
    line = line_of(incident)
    done = connection.execute(_UPDATE, line | {"named": incident.id})
    if not done.rowcount:
        connection.execute(_INSERT, line)


def mark_changed(connection: Connection, incident: str) -> None:
    """Give an incident's row the next change number."""
    connection.execute(_CHANGED, {"named": incident})


def changes(connection: Connection, since: int | None) -> Changes:
    """Return the rows that changed after that change number, in order; all open ones for None.

    Malformed rows are left out, so that the others can be seen; an audit reports them.
    """
    if since is None:
        rows = connection.execute(_OPEN).all()
        last = int(connection.execute(_LAST).scalar_one())
    else:
        rows = connection.execute(_SINCE, {"since": since}).all()
        last = rows[-1].change if rows else since
    return Changes(last, tuple(_readable(rows)))


def incident_ids_of_card(connection: Connection, card: str) -> tuple[str, ...]:
    """Return the ids of the incidents that are shown together, the oldest first; none for an empty name."""
    if not card:
        return ()
    return tuple(connection.execute(_TOGETHER, {"card": card}).scalars())


def card_of(connection: Connection, incident: str) -> str:
    """Return the card that an incident is shown on."""
    return connection.execute(_CARD_OF, {"named": incident}).scalar_one_or_none() or incident


def _readable(rows: Sequence[Row[Any]]) -> Iterator[IncidentSummary]:
    for row in rows:
        with contextlib.suppress(UnreadableEntry):
            yield summary_of(row)


def line_of(incident: Incident) -> dict[str, Any]:
    """Return an incident's row."""
    summary = incident.summary
    times = {"opened_at": instant_text(summary.opened_at), "updated_at": instant_text(summary.updated_at)}
    return asdict(summary) | times | {"state": summary.state.value}


def nodes_of_group(connection: Connection, group: str) -> frozenset[str]:
    """Return the nodes of a group's incidents."""
    return frozenset(connection.execute(_NODES, {"of_group": group}).scalars())


def read_summaries(
    connection: Connection, only_open: bool, node: str | None = None, since: datetime | None = None
) -> tuple[IncidentSummary, ...]:
    """Return the summaries, of all nodes or of a single node, the newest first; of ended ones, those of news `since`.

    Raises: UnreadableEntry when a row is malformed.
    """
    lines = select(INCIDENTS).order_by(INCIDENTS.c.opened_at.desc(), INCIDENTS.c.id)
    if only_open:
        lines = lines.where(~INCIDENTS.c.ended)
    if since is not None:
        lines = lines.where(~INCIDENTS.c.ended | (INCIDENTS.c.updated_at >= instant_text(since)))
    if node is not None:
        lines = lines.where(INCIDENTS.c.node == node)
    return tuple(summary_of(row) for row in connection.execute(lines))


def summary_of(row: Row[Any]) -> IncidentSummary:
    """Return a row's summary.

    Raises: UnreadableEntry when it is malformed.
    """
    line = row._mapping
    try:
        check_are_texts(*line.values())
        return IncidentSummary(
            id=line["id"],
            node=line["node"],
            group=line["group"],
            state=State(line["state"]),
            cause=line["cause"],
            source=SourceKind(line["source"]),
            source_id=line["source_id"],
            opened_at=instant_of(line["opened_at"]),
            updated_at=instant_of(line["updated_at"]),
            ended=line["ended"],
        )
    except (TypeError, ValueError) as no:
        raise UnreadableEntry(f"The line of incident {line['id']} is malformed: {no}.") from no
