"""Large records, made by bulk insert: chains, house and list as if every entry had been appended, much faster.

The tables of posts, cases and attempts are filled as full as they would be, without entries that tell of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, insert

from bot.domain.alert import BOT, Alert
from bot.domain.entry import NOTHING_BEFORE, Event, body_of, canonical_body, entry_hash, instant_text, kind_of
from bot.domain.events import AlertJoined, AlertReceived, Cancelled
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased, HouseEvent, IncidentEnded, PolicyChanged
from bot.domain.transitions import State
from bot.ledger import Database
from bot.ledger.tables import ATTEMPTS, CASES, ENTRIES, INCIDENTS, POSTS

ROWS_AT_ONCE = 20_000
BEGAN_AT = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Large:
    """What a large record is made of.

    Shape: of the incidents, the last `still_open` have not ended; each has `entries` of them. The house begins with a
    policy and a brake that was pulled and released, and then has one entry for each incident that ended.
    Units: incidents are opened a minute apart, entries of one are a millisecond apart.
    """

    incidents: int
    entries: int = 10
    still_open: int = 0
    began_at: datetime = BEGAN_AT
    policy: str = "0" * 64
    _house: list[tuple[HouseEvent, str]] = field(default_factory=list)

    def fill(self, url: str) -> None:
        """Create the database and write the record into it."""
        with Database.open(url) as database:
            for table, rows in ((ENTRIES, self._entries()), (ENTRIES, self._of_house())):
                _insert_all(database, table, rows)
            for table, row_of in ((INCIDENTS, self._line), (POSTS, self._post), (CASES, self._case)):
                _insert_all(database, table, (row_of(number) for number in range(self.incidents)))
            ended = self.incidents - self.still_open
            _insert_all(database, ATTEMPTS, (self._attempt(number) for number in range(ended)))
            with database.writing() as connection:
                connection.exec_driver_sql("ANALYZE")

    def name(self, number: int) -> str:
        """The id of an incident, counted from 0."""
        return f"{number:012x}"

    def _ended(self, number: int) -> bool:
        return number < self.incidents - self.still_open

    def _at(self, number: int, milliseconds: int = 0) -> str:
        return instant_text(self.began_at + timedelta(minutes=number, milliseconds=milliseconds))

    def _entries(self) -> Iterator[dict[str, Any]]:
        joined = _form(AlertJoined(Alert("alertmanager", "a1b2", text="NodeSlow")))
        cancelled = _form(Cancelled("The alert is over."))
        for number in range(self.incidents):
            name = self.name(number)
            events = [_form(AlertReceived(Alert("alertmanager", name), f"node-{number % 2000}", f"group-{name}"))]
            events += [joined] * (self.entries - 2)
            events.append(cancelled if self._ended(number) else joined)
            digest = NOTHING_BEFORE
            for seq, (kind, body) in enumerate(events, 1):
                row = _row(digest, name, seq, self._at(number, seq), kind, body)
                digest = row["hash"]
                yield row
            if self._ended(number):
                at = self._at(number, self.entries)
                self._house.append((IncidentEnded(name, State.CANCELLED.value, self.entries, digest), at))

    def _of_house(self) -> Iterator[dict[str, Any]]:
        moved: tuple[HouseEvent, ...] = (PolicyChanged(self.policy), BrakePulled("a rollout"), BrakeReleased("over"))
        digest = NOTHING_BEFORE
        for seq, (event, at) in enumerate([*((event, self._at(0)) for event in moved), *self._house], 1):
            row = _row(digest, HOUSE, seq, at, *_form(event))
            digest = row["hash"]
            yield row

    def _line(self, number: int) -> dict[str, Any]:
        state = State.CANCELLED if self._ended(number) else State.OPENED
        name = self.name(number)
        line: dict[str, Any] = {
            "id": name,
            "node": f"node-{number % 2000}",
            "group": f"group-{name}",
            "state": state.value,
        }
        line |= {"cause": None, "source": "alertmanager", "source_id": name, "opened_at": self._at(number, 1)}
        return line | {
            "updated_at": self._at(number, self.entries),
            "ended": self._ended(number),
            "change": number + 1,
        }

    def _post(self, number: int) -> dict[str, Any]:
        post = {"incident": f"group-{self.name(number)}", "part": "card", "number": number + 1, "version": 1}
        post |= {"channel": "C024ALERTS", "under": "", "content": "{}", "kept_at": self._at(number), "due_at": ""}
        return post | {"attempts": 0, "error": "", "waiting": False, "place_channel": "C024ALERTS", "place_ts": "1.1"}

    def _case(self, number: int) -> dict[str, Any]:
        name = self.name(number)
        case = {"source": "alertmanager", "name": name, "key": name, "group": f"group-{name}", "turn": "new"}
        over_at = self._at(number, self.entries) if self._ended(number) else ""
        return case | {
            "delivery": name,
            "opened_at": self._at(number),
            "over_at": over_at,
            "storm": "",
            "reopened_at": "",
        }

    def _attempt(self, number: int) -> dict[str, Any]:
        return {
            "incident": self.name(number),
            "node": f"node-{number % 2000}",
            "remedy": f"remedy-{number % 2000}",
            "at": self._at(number),
            "machine_id": "",
            "cure": "",
        }


def _form(event: Event) -> tuple[str, str]:
    return kind_of(event), canonical_body(body_of(event))


def _row(before: str, stream: str, seq: int, at: str, kind: str, body: str) -> dict[str, Any]:
    row = {"stream": stream, "seq": seq, "at": at, "by": BOT, "kind": kind, "body": body}
    return row | {"hash": entry_hash(before, stream, seq, at, BOT, kind, body)}


def _insert_all(database: Database, table: Table, rows: Iterator[dict[str, Any]]) -> None:
    while some := list(islice(rows, ROWS_AT_ONCE)):
        with database.writing() as connection:
            _insert(connection, table, some)


def _insert(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if connection.dialect.name == "sqlite":
        connection.execute(insert(table), rows)
        return
    names = [column.name for column in table.c]
    quoted = ", ".join(f'"{name}"' for name in names)
    with connection.connection.cursor().copy(f"COPY {table.name} ({quoted}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row([row[name] for name in names])
