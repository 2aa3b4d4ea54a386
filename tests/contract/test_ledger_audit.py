"""Whoever changes the record is found: a field changed, an entry taken away, an end cut off, a chain made anew."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, text

from bot.__main__ import main
from bot.domain.entry import NOTHING_BEFORE, Head, NotedHead, canonical_body, entry_hash
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, BrakePulled, EntryAnchored, IncidentEnded, OlderNoted
from bot.domain.transitions import State
from bot.ledger import Audit, Database, Ledger, exported
from bot.ledger.append_only import TRIGGERS
from bot.ledger.audit_faults import FAULTS, AuditTables
from bot.ledger.entries import append_entry, chained_entry, database_time, head_of, insert_entry, read_stream
from bot.ledger.incidents import write_incident_row
from bot.ledger.migrations import VERSION, migrate
from bot.ledger.tables import ENTRIES
from tests.examples import up_to
from tests.record.audits import audit
from tests.record.incidents import ASKER, PROPOSED, TRIAGED, WAYS
from tests.record.keeping import keep
from tests.record.ledgers import ledger_in, ledger_url

NO_NUMBER = "notes an entry with a number that none can have"
FIELDS = ("stream", "seq", "at", "by", "kind", "body", "hash")
OPEN, ENDED, DECLINED = "open000000", "ended00000", "declined00"
STATES = ((ENDED, State.RESOLVED), (OPEN, State.ACTING), (DECLINED, State.DECLINED))  # two of one node, one by one


class Rollback(Exception):
    """Ends a transaction whose changes are not to stay."""


@pytest.fixture(scope="module")
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A record with an open incident, two ended ones and a house; tests change it in transactions that are undone."""
    if request.param == "sqlite":
        url = ledger_url(tmp_path_factory.mktemp("audit") / "zombie.db")
    else:
        url = request.getfixturevalue("postgresql").new_ledger()
    with Database.open(url) as database:
        ledger = Ledger(database)
        for stream, state in STATES:
            keep(ledger, stream, WAYS[state])
        ledger.append.now(HOUSE, None, BrakePulled("rollout"), ASKER)
        yield database


on_both = pytest.mark.parametrize("filled", ["sqlite", "postgresql"], indirect=True)
# What is read by the same statements, which the others see on both, is judged by the same program.
on_one = pytest.mark.parametrize("filled", ["sqlite"], indirect=True)


@contextmanager
def without_triggers(connection: Connection) -> Iterator[None]:
    """Drop the triggers, as whoever wants to change an entry has to, and make them again as a careful forger would."""
    made = [statement[connection.dialect.name] for statement in TRIGGERS]
    of = "" if connection.dialect.name == "sqlite" else " ON entries"
    names = [found[1] for statement in made if (found := re.match(r"CREATE TRIGGER (\w+)", statement))]
    for name in names:
        connection.execute(text(f"DROP TRIGGER {name}{of}"))
    yield
    for statement in made:
        if statement.startswith("CREATE TRIGGER"):
            connection.exec_driver_sql(statement)


def after(database: Database, change: Callable[[Connection], object], noted: str = "") -> Audit:
    """What an audit finds after a change, which is then undone; both in one transaction, by a database of our own.

    Whoever changes an entry puts the triggers back.
    """
    found: list[Audit] = []
    try:
        with database.writing() as connection:
            with without_triggers(connection):
                change(connection)
            found.append(audit(_Within(connection), heads(noted)))  # type: ignore[arg-type]
            raise Rollback
    except Rollback:
        return found[0]


def heads(noted: str) -> tuple[NotedHead, ...]:
    """The heads of a command line."""
    return (NotedHead.of(noted),) if noted else ()


class _Within:
    """A database that reads within a transaction that is under way."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def reading(self) -> _Within:
        return self

    def __enter__(self) -> Connection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        """Leaves the transaction to whoever began it."""


def rows(database: Database) -> list[dict[str, Any]]:
    with database.reading() as connection:
        ordered = connection.execute(text("SELECT * FROM entries ORDER BY stream, seq"))
        return [dict(row._mapping) for row in ordered]


def changed(row: dict[str, Any], values: dict[str, Any]) -> Callable[[Connection], object]:
    to = ", ".join(f'"{name}" = :new_{name}' for name in values)
    parameters = {"old_stream": row["stream"], "old_seq": row["seq"]} | {f"new_{k}": v for k, v in values.items()}
    statement = text(f"UPDATE entries SET {to} WHERE stream = :old_stream AND seq = :old_seq")
    return lambda connection: connection.execute(statement, parameters)


def removed(stream: str, from_seq: int, to_seq: int = 1000) -> Callable[[Connection], object]:
    statement = text("DELETE FROM entries WHERE stream = :stream AND seq BETWEEN :low AND :high")
    return lambda connection: connection.execute(statement, {"stream": stream, "low": from_seq, "high": to_seq})


def named(found: Audit) -> set[tuple[str, int]]:
    return {(one.stream, one.seq) for one in found.broken}


def rewritten(database: Database, stream: str, change: dict[str, Any]) -> Callable[[Connection], object]:
    """A forger who computes the stream's whole chain anew, from its first entry on."""
    mine = [row for row in rows(database) if row["stream"] == stream]
    mine[0] |= change

    def forge(connection: Connection) -> None:
        before = NOTHING_BEFORE
        for row in mine:
            before = entry_hash(before, *(row[name] for name in FIELDS[:-1]))
            changed(row, {**row, "hash": before})(connection)

    return forge


@on_both
def test_untouched_record_is_whole(filled: Database) -> None:
    found = audit(filled)
    head = Ledger(filled).head.now(HOUSE)
    assert (found.broken, found.incidents, found.house, found.entries) == ((), 3, head, len(rows(filled)))
    assert audit(filled, heads(head.hash[:32].upper())).broken == ()
    assert audit(filled, heads(Ledger(filled).head.now(OPEN).hash)).broken == ()


@on_one
@pytest.mark.parametrize("field", FIELDS)
def test_any_field_of_an_entry_changed_is_found_and_named(filled: Database, field: str) -> None:
    of_streams = [list(mine) for _, mine in itertools.groupby(rows(filled), lambda row: row["stream"])]
    for row in (mine[at] for mine in of_streams for at in (0, 1, -1)):
        new: Any = row["seq"] + 500 if field == "seq" else f"{row[field]}0"
        found = named(after(filled, changed(row, {field: new})))
        # An entry that was moved is named where it is missing, where it now stands, or by the end it had.
        stands = {(new, 1)} if field == "stream" else set()
        assert found & ({(row["stream"], row["seq"]), (row["stream"], row["seq"] - 1)} | stands), row
        if field not in ("stream", "seq"):
            ends = {(stream, 0) for stream, _ in found}
            assert found - ends - {(OPEN, 0)} <= {(row["stream"], row["seq"])} | _ends_noted(filled), row


def _ends_noted(database: Database) -> set[tuple[str, int]]:
    return {(stream, Ledger(database).head.now(stream).seq) for stream in (ENDED, DECLINED)}


@on_one
def test_entry_taken_out_of_the_middle_is_named(filled: Database) -> None:
    for row in rows(filled):
        stream, seq = row["stream"], row["seq"]
        if seq < Ledger(filled).head.now(stream).seq:
            assert (stream, seq) in named(after(filled, removed(stream, seq, seq))), row


@on_one
def test_two_entries_that_changed_places_are_named(filled: Database) -> None:
    first, second = [row for row in rows(filled) if row["stream"] == OPEN][1:3]

    def swapped(connection: Connection) -> None:
        changed(first, {"seq": 900})(connection)
        changed(second, {"seq": first["seq"]})(connection)
        changed({"stream": OPEN, "seq": 900}, {"seq": second["seq"]})(connection)

    assert {(OPEN, 2), (OPEN, 3)} <= named(after(filled, swapped))


@on_one
def test_end_cut_off_an_ended_incident_is_found(filled: Database) -> None:
    last = Ledger(filled).head.now(ENDED).seq
    for left in range(last):
        found = after(filled, removed(ENDED, left + 1))
        assert (ENDED, left) in named(found)


@on_one
def test_end_cut_off_the_house_is_found_by_the_incidents_that_ended(filled: Database) -> None:
    first = next(row["seq"] for row in rows(filled) if row["stream"] == HOUSE and DECLINED in row["body"])
    found = after(filled, removed(HOUSE, first))
    assert [str(one) for one in found.broken] == [
        f"{HOUSE}: the note of entry 1 of {DECLINED}, AlertReceived, is missing: it is not anchored",
        f"{HOUSE}: the note of the end of {DECLINED}, entry 4, is missing",
    ]


@on_both
def test_end_cut_off_is_found_by_a_noted_head(filled: Database) -> None:
    for stream in (OPEN, HOUSE):
        head = Ledger(filled).head.now(stream)
        cut = removed(stream, head.seq)
        if stream == HOUSE:
            assert after(filled, cut).broken == (), "the brake was the last, nothing else tells of it"
        (broken,) = [one for one in after(filled, cut, head.hash).broken if head.hash in one.says]
        assert "truncated or rewritten" in broken.says


@on_both
def test_end_cut_off_an_open_incident_is_found_by_what_the_house_noted(filled: Database) -> None:
    # The table of incidents is put right by a careful forger; nothing but the house tells of what is gone.
    gone = text("DELETE FROM incidents WHERE id = :id")
    no_hold = text("DELETE FROM holds WHERE incident = :id")
    no_attempt = text("DELETE FROM attempts WHERE incident = :id")

    def cut(connection: Connection, left: int) -> None:
        removed(OPEN, left + 1)(connection)
        for statement in (gone, no_hold, no_attempt):
            connection.execute(statement, {"id": OPEN})
        if left:
            write_incident_row(connection, fold(read_stream(connection, OPEN)))

    assert [str(one) for one in after(filled, lambda c: cut(c, 0)).broken] == [
        f"{OPEN}: was noted in house but has no entries: they were removed"
    ]
    for left, noted in ((1, 4), (2, 4), (3, 4), (4, 5)):
        (broken,) = after(filled, lambda c, left=left: cut(c, left)).broken  # type: ignore[misc]
        assert str(broken) == f"{OPEN}/{left}: ends before entry {noted}, which house noted: entries were removed"


ACTS = f"{OPEN}/5: acts on node-gpu-01, step 1, and the table holds says otherwise"
BEGAN = f"{OPEN}/5: began its plan, and the table attempts says otherwise"
TABLES: list[tuple[str, list[str]]] = [
    ("DELETE FROM holds", [ACTS]),
    ("UPDATE holds SET node = 'node-2'", [ACTS]),
    ("UPDATE holds SET step = 2", [ACTS]),
    ("UPDATE holds SET machine_id = 'another'", [ACTS]),  # so that the machine could be acted on under another name
    (
        f"UPDATE holds SET incident = '{DECLINED}'",
        [f"{DECLINED}/4: stands in the table holds but acts on no node", ACTS],
    ),
    (
        "INSERT INTO holds VALUES ('node-9', 'nobody0000', 1, 'r', '{}', '2026-11-21T10:00:00.000Z', '')",
        ["nobody0000: stands in the table holds but has no entries"],
    ),
]
ATTEMPTS: list[tuple[str, list[str]]] = [
    (
        f"DELETE FROM attempts WHERE incident = '{OPEN}'",
        [f"{OPEN}/5: began its plan, and is missing in the table attempts"],
    ),
    *(
        (f"""UPDATE attempts SET {change} WHERE incident = '{OPEN}'""", [BEGAN])
        for change in ("node = 'node-2'", "remedy = 'x'", "machine_id = 'another'", "cure = 'another'")
    ),
    *(
        (f"""UPDATE attempts SET "at" = '{at}' WHERE incident = '{OPEN}'""", [BEGAN])
        for at in ("2026-01-01T10:00:00.000Z", "never")
    ),
    (
        f"UPDATE attempts SET incident = '{DECLINED}' WHERE incident = '{OPEN}'",
        [
            f"{DECLINED}/4: stands in the table attempts but began no step",
            f"{OPEN}/5: began its plan, and is missing in the table attempts",
        ],
    ),
    (
        """INSERT INTO attempts (incident, node, remedy, "at") VALUES ('n', 'node-9', 'x', '2026-11-21T10:00Z')""",
        ["n: stands in the table attempts but has no entries"],
    ),
]


@on_one
@pytest.mark.parametrize(("statement", "says"), [*TABLES, *ATTEMPTS])
def test_hold_or_attempt_that_the_entries_do_not_tell_of_is_found(
    filled: Database, statement: str, says: list[str]
) -> None:
    found = after(filled, lambda connection: connection.execute(text(statement)))
    assert sorted(map(str, found.broken)) == says


@on_one
def test_step_that_a_person_freed_its_node_from_has_no_hold_and_begins_later(filled: Database) -> None:
    freed = canonical_body({"form": 1, "node": "node-gpu-01", "incident": OPEN, "because": "x", "reason": "y"})

    def begun_again(connection: Connection) -> None:
        added(HOUSE, "NodeReleased", freed)(connection)
        connection.execute(text("DELETE FROM holds"))
        connection.execute(text(f"""UPDATE attempts SET "at" = '2030-01-01T10:00:00.000Z' WHERE incident = '{OPEN}'"""))

    assert after(filled, begun_again).broken == ()


@pytest.mark.parametrize("noted", ["3f9a1c04b7de", "3f9a" * 7 + "3f9", "12:3f9a1c04b7de"])
def test_head_that_is_too_short_is_refused_with_a_sentence(noted: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (("audit", "verify"), ("verify", "b.jsonl"), ("incidents", "export", "ID")):
        with pytest.raises(SystemExit) as ended:
            main([*command, "--head", noted])
        assert ended.value.code == 2
        assert "too few to prove anything" in capsys.readouterr().err


def dated_back(at: str, kind: str = "AlertReceived") -> Callable[[Connection], None]:
    """A forger who writes an incident of an earlier day, with a right chain and a line in the list."""

    def forge(connection: Connection) -> None:
        opening, noted = WAYS[State.DECLINED][0], Head()
        for event, by, name in ((opening, ASKER, kind), (TRIAGED, "bot", ""), (PROPOSED, "bot", "")):
            entry = chained_entry("forged0000", noted, at, event, by)
            if name:
                digest = entry_hash(noted.hash, entry.stream, entry.seq, at, by, name, canonical_body(entry.body))
                entry = replace(entry, kind=name, hash=digest)
            insert_entry(connection, entry)
            noted = Head(entry.seq, entry.hash)
        if kind == "AlertReceived":
            write_incident_row(connection, fold(read_stream(connection, "forged0000")))

    return forge


@on_one
@pytest.mark.parametrize(
    ("at", "kind"), [("2019-01-01T00:00:00.000Z", "OfTomorrow"), ("0001-01-01T00:00:00.000Z", "AlertReceived")]
)
def test_incident_that_is_dated_back_is_not_anchored(filled: Database, at: str, kind: str) -> None:
    found = after(filled, dated_back(at, kind))
    says = f"{HOUSE}: the note of entry 1 of forged0000, {kind}, is missing: it is not anchored"
    assert [str(one) for one in found.broken] == [says]


@on_one
def test_entry_that_nobody_here_can_read_is_told_and_not_passed_over(filled: Database) -> None:
    def add(connection: Connection) -> None:
        head = head_of(connection, OPEN)[0]
        body = (OPEN, head.seq + 1, "2030-01-01T00:00:00.000Z", "bot", "OfTomorrow", "{}")
        row = dict(zip(FIELDS, (*body, entry_hash(head.hash, *body)), strict=True))
        connection.execute(ENTRIES.insert(), row)
        connection.execute(text("DELETE FROM holds"))

    found = after(filled, add)
    assert found.broken == ()
    assert [(one.stream, one.seq) for one in found.unread] == [(OPEN, Ledger(filled).head.now(OPEN).seq + 1)]


def added(
    stream: str, kind: str, body: str, at: str = "2030-01-01T00:00:00.000Z", by: str = "bot"
) -> Callable[[Connection], None]:
    """A forger who appends an entry with a hash that fits."""

    def add(connection: Connection) -> None:
        before = head_of(connection, stream)[0]
        fields = (stream, before.seq + 1, at, by, kind, body)
        connection.execute(
            ENTRIES.insert(), dict(zip(FIELDS, (*fields, entry_hash(before.hash, *fields)), strict=True))
        )

    return add


BACK = "2020-01-01T00:00:00.000Z"
ANCHOR = {"incident": OPEN, "kind": "Approved", "head": "x"}
PRUNED = {"before": "2026-11-21T10:00:00+00:00"}
NO_AUTHOR = "its author is not written as the ledger writes authors"
NO_BODY = "its body is not written as the ledger writes bodies"
RELEASED = '{"form":1,"pull":0,"reason":"x"}'
FORGED: list[tuple[str, str, str | dict[str, Any], dict[str, str], str]] = [
    (HOUSE, "BrakePulled", "{}", {"at": BACK}, f"is dated back: {BACK}, and the entry before it"),
    (OPEN, "BrakePulled", "{}", {"at": BACK}, f"is dated back: {BACK}, and the entry before it"),
    (OPEN, "BrakePulled", "{}", {"at": "20300101T000000+00:00"}, "its time is not written as the ledger writes times"),
    (HOUSE, "BrakePulled", '{"x":NaN}', {}, NO_BODY),
    (OPEN, "BrakePulled", '{"x":1e999}', {}, NO_BODY),
    *((HOUSE, "BrakeReleased", RELEASED, {"by": by}, NO_AUTHOR) for by in ("", "terminal:\x1b[2J")),
    (HOUSE, "EntryAnchored", {**ANCHOR, "seq": 10**30}, {}, "is a larger number than"),
    (HOUSE, "EntryAnchored", {**ANCHOR, "seq": 2**63}, {}, NO_NUMBER),
    (HOUSE, "EntryAnchored", {**ANCHOR, "seq": -1}, {}, NO_NUMBER),
    *(
        (HOUSE, "IncidentsPruned", {**PRUNED, "heads": {OPEN: head}}, {}, NO_NUMBER)
        for head in ("9" * 5_000 + ":x", "٣:x")
    ),
    (HOUSE, "StepStarted", {"number": 1, "attempt": 1}, {}, "holds StepStarted, which belongs to an incident"),
]


@on_one
@pytest.mark.parametrize(("stream", "kind", "body", "more", "says"), FORGED)
def test_what_no_ledger_writes_is_broken_though_every_hash_fits(
    filled: Database, stream: str, kind: str, body: str | dict[str, Any], more: dict[str, str], says: str
) -> None:
    text_of_body = body if isinstance(body, str) else canonical_body({"form": 1, **body})
    broken, *_ = after(filled, added(stream, kind, text_of_body, **more)).broken
    assert (broken.stream, broken.seq, says in broken.says) == (stream, Ledger(filled).head.now(stream).seq + 1, True)


def anchored_today(connection: Connection) -> None:
    """A forger who also has `house` note the incident of another year."""
    dated_back("2019-01-01T00:00:00.000Z")(connection)
    opening = read_stream(connection, "forged0000")[0]
    anchor = EntryAnchored("forged0000", opening.kind, opening.seq, opening.hash)
    append_entry(connection, HOUSE, None, anchor, "bot", database_time(connection))


@on_one
def test_incident_noted_years_after_it_is_dated_is_found(filled: Database) -> None:
    (broken,) = after(filled, anchored_today).broken
    assert str(broken).startswith("forged0000/1: is dated 2019-01-01T00:00:00.000Z, and house noted it at 2")


def listed_as_older(connection: Connection) -> None:
    """A forger who has `house` list it among the incidents that are older than its notes."""
    dated_back("2019-01-01T00:00:00.000Z")(connection)
    head = head_of(connection, "forged0000")[0]
    older = OlderNoted({"forged0000": f"{head.seq}:{head.hash}"})
    append_entry(connection, HOUSE, None, older, "bot", database_time(connection))


@pytest.mark.parametrize("version", [1, VERSION // 2, VERSION - 1])
def test_list_of_older_streams_ends_in_every_database(version: int, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    engine = create_engine(url)
    with engine.begin() as connection:
        migrate(connection, version)
    engine.dispose()
    with Database.open(url) as database:
        keep(Ledger(database), DECLINED, WAYS[State.DECLINED])
        assert audit(database).broken == ()
        assert "lists older streams, after that list" in str(after(database, listed_as_older).broken[0])


def test_genuine_record_is_whole_whatever_its_clock_did(tmp_path: Path) -> None:
    began = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
    slow = itertools.count()
    with ledger_in(tmp_path) as database:
        # Every question for the time takes ten minutes; then it is an hour earlier, and the next year, and then not.
        keep(Ledger(database, lambda: began + timedelta(minutes=10 * next(slow))), DECLINED, WAYS[State.DECLINED])
        keep(Ledger(database, lambda: began - timedelta(hours=1)), ENDED, WAYS[State.DECLINED])
        keep(Ledger(database, lambda: began + timedelta(days=400)), "ahead00000", WAYS[State.DECLINED])
        keep(Ledger(database), OPEN, WAYS[State.ACTING])
        found = audit(database)
        assert found.broken == ()
        assert {re.sub("^.*: ", "", str(each)) for each in found.unread} == {"a clock was set back, or it is forged"}


def test_entry_that_is_missing_in_an_index_is_found(tmp_path: Path) -> None:
    path = tmp_path / "zombie.db"
    with Database.open(f"sqlite:///{path}") as database:
        Ledger(database).append.now(HOUSE, None, BrakePulled("rollout"), ASKER)
        head = Ledger(database).head.now(HOUSE)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as forger:
        (ours,) = forger.execute("SELECT sql FROM sqlite_master WHERE name = 'brake_moved'").fetchone()
        for statement in ("DROP INDEX brake_moved", f"{ours} AND seq < 1", "PRAGMA writable_schema = ON"):
            forger.execute(statement)
        forger.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'brake_moved'", (ours,))
        forger.execute("PRAGMA writable_schema = RESET")
    with Database.open(f"sqlite:///{path}") as database:
        assert Ledger(database).brake_pull.now() is None, "the brake seems to be off"
        broken = audit(database, [NotedHead.of(head.noted)]).broken
        assert "database: is damaged: row 1 missing from index brake_moved" in map(str, broken)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE entries SET seq = 'x' WHERE stream = 'house'", "is malformed: its number is none"),
        ("UPDATE entries SET \"at\" = x'ff' WHERE stream = 'house'", "is malformed"),
        ("UPDATE entries SET kind = x'ff', \"by\" = x'ff' WHERE stream <> 'house'", "is malformed"),
        ("UPDATE zombie_schema SET version = 'x'", "its version is not a number"),
    ],
)
def test_value_of_a_type_that_sqlite_alone_would_keep_is_a_sentence_and_no_crash(
    damage: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZOMBIE_STATE_DIR", str(tmp_path))
    with Database.open(ledger_url(tmp_path / "zombie.db")) as database:
        keep(Ledger(database), OPEN, WAYS[State.OPENED])
    with contextlib.closing(sqlite3.connect(tmp_path / "zombie.db", isolation_level=None)) as forger:
        for trigger in ("entries_stay", "entries_stay_as_they_are"):
            forger.execute(f"DROP TRIGGER {trigger}")
        forger.execute(damage)
    said = ""
    for command in (["incidents", "show", OPEN], ["mute"], ["brake", "on", "--reason", "rollout"]):
        status, shown = main(command), capsys.readouterr()
        assert status in (0, 2), (command, shown.err)
        said += shown.err
    assert says in said
    assert main(["audit", "verify"]) == (2 if "version" in says else 1)


@on_one
@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("ValidationStarted", {"window_seconds": 1e300, "note": "", "waiting": 0}),
        ("StepVerified", {"number": 1, "took_seconds": 10**13}),
        ("Triaged", {"case": [1]}),
    ],
)
def test_row_with_a_value_that_none_of_ours_has_is_a_finding_and_no_crash(
    filled: Database, kind: str, body: dict[str, Any]
) -> None:
    found = after(filled, added(OPEN, kind, canonical_body({"form": 1, **body})))
    assert [(each.stream, each.seq) for each in (*found.broken, *found.unread)] == [
        (OPEN, Ledger(filled).head.now(OPEN).seq + 1)
    ]


@on_one
@pytest.mark.parametrize("kind", ["OfTomorrow", "IncidentEnded"])
def test_note_that_nobody_here_can_read_is_told_and_not_passed_over(filled: Database, kind: str) -> None:
    found = after(filled, added(HOUSE, kind, '{"form":1}'))
    assert found.broken == ()
    assert [(one.stream, one.seq) for one in found.unread] == [(HOUSE, Ledger(filled).head.now(HOUSE).seq + 1)]


@on_one
def test_incident_that_was_pruned_has_no_entries(filled: Database) -> None:
    head = Ledger(filled).head.now(ENDED)
    body = {"form": 1, "heads": {ENDED: f"{head.seq}:{head.hash}"}, "before": "2026-11-21T10:00:00+00:00"}
    (broken,) = after(filled, added(HOUSE, "IncidentsPruned", canonical_body(body))).broken
    assert str(broken) == f"{ENDED}/{head.seq}: was pruned, as house says, and has entries all the same"


@on_both
def test_row_in_a_table_of_another_kind_is_found(filled: Database) -> None:
    no_wave = text(f"INSERT INTO waves VALUES ('{OPEN}', 'running', '', '[]', :no)")
    (broken,) = after(filled, lambda c: c.execute(no_wave, {"no": False})).broken
    assert "stands in the table waves more often than it may" in broken.says


@on_one
def test_forged_name_of_a_stream_moves_no_cursor(
    filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with ledger_in(tmp_path) as database, database.writing() as connection:
        row = rows(filled)[0] | {"stream": "x\n\x1b[2Kwhole: 9 entries"}
        connection.execute(ENTRIES.insert(), row)
        connection.exec_driver_sql(
            "INSERT INTO entries SELECT CAST(x'ff' AS TEXT), 1, at, by, kind, body, hash FROM entries"
        )
    monkeypatch.setenv("ZOMBIE_STATE_DIR", str(tmp_path))
    assert main(["audit", "verify"]) == 1
    said = capfd.readouterr()
    assert ("\x1b" in said.out, "\nwhole" in said.out, said.err) == (False, False, "")


@on_one
def test_key_that_stands_twice_in_a_body_is_found_though_every_hash_fits(filled: Database) -> None:
    first = next(row for row in rows(filled) if row["stream"] == HOUSE)
    found = after(filled, rewritten(filled, HOUSE, {"body": '{"form":1,' + first["body"][1:]}))
    assert "not written as the ledger writes bodies" in str(found.broken[0])


@on_both
def test_head_with_its_number_is_looked_up_in_the_house(filled: Database) -> None:
    house = Ledger(filled).read.now(HOUSE)
    for entry in house:
        assert audit(filled, heads(Head(entry.seq, entry.hash).noted)).broken == ()
    (other,) = audit(filled, heads(f"{house[0].seq}:{house[1].hash}")).broken
    assert "entry 1 does not have the hash" in other.says
    (beyond,) = audit(filled, heads(f"{len(house) + 1}:{house[-1].hash}")).broken
    assert f"ends with entry {len(house)}, before the head {len(house) + 1}:" in beyond.says
    (of_incident,) = audit(filled, heads(f"1:{Ledger(filled).read.now(OPEN)[0].hash}")).broken
    assert "was rewritten" in of_incident.says


@on_one
def test_house_rewritten_after_a_noted_head_is_found_by_it(filled: Database) -> None:
    noted = Ledger(filled).head.now(HOUSE).noted
    (broken,) = after(filled, rewritten(filled, HOUSE, {"by": "slack:T1/SOMEBODYELSE"}), noted).broken
    assert noted in broken.says


@on_one
def test_chain_written_anew_is_found_by_the_end_that_the_house_noted(filled: Database) -> None:
    found = after(filled, rewritten(filled, ENDED, {"by": "slack:T1/SOMEBODYELSE"}))
    assert [(one.stream, one.seq) for one in found.broken] == [(ENDED, 1), (ENDED, Ledger(filled).head.now(ENDED).seq)]


def renoted(
    database: Database, stream: str, note: type[EntryAnchored | IncidentEnded]
) -> Callable[[Connection], object]:
    """A forger who writes an incident anew, and has `house` note each of its entries again, after the true notes."""

    anew = rewritten(database, stream, {"by": "slack:T1/SOMEBODYELSE"})

    def forge(connection: Connection) -> None:
        anew(connection)
        for entry in read_stream(connection, stream):
            fields = (stream, entry.kind, entry.seq, entry.hash)
            append_entry(connection, HOUSE, None, note(*fields), "bot", database_time(connection))

    return forge


@on_one
@pytest.mark.parametrize("note", [EntryAnchored, IncidentEnded])
@pytest.mark.parametrize("stream", [ENDED, OPEN])
def test_later_note_does_not_take_the_place_of_the_first(
    filled: Database, stream: str, note: type[EntryAnchored | IncidentEnded]
) -> None:
    found = after(filled, renoted(filled, stream, note), Ledger(filled).head.now(HOUSE).noted)
    assert f"{stream}/1: is not the entry that house noted: it was rewritten" in map(str, found.broken)


@on_both
def test_record_written_anew_as_a_whole_is_found_by_a_noted_head(filled: Database) -> None:
    head = Ledger(filled).head.now(HOUSE).hash
    forged = rewritten(filled, HOUSE, {"by": "slack:T1/SOMEBODYELSE"})
    assert after(filled, forged).broken == ()
    assert len(after(filled, forged, head).broken) == 1


@on_both
def test_list_that_says_otherwise_is_found(filled: Database) -> None:
    ended = text("UPDATE incidents SET ended = :yes, state = 'resolved' WHERE id = :id")
    assert named(after(filled, lambda c: c.execute(ended, {"yes": True, "id": OPEN}))) == {(OPEN, 5)}
    gone = text("DELETE FROM incidents WHERE id = :id")
    assert named(after(filled, lambda c: c.execute(gone, {"id": OPEN}))) == {(OPEN, 5)}
    assert (OPEN, 0) in named(after(filled, removed(OPEN, 1)))


def steps_of(streams: int, *, is_pruned: bool = True) -> tuple[int, set[str]]:
    """How many thousand steps SQLite takes to find every fault of so many streams, and which faults it finds."""
    steps, found = itertools.count(), set[str]()
    with contextlib.closing(AuditTables()) as tables:
        tables.add("entry", HOUSE, 1, None, "ab" * 32, None, None)
        for number in range(streams):
            with_entries, without = (f"a{number}", f"b{number}", f"c{number}", f"d{number}"), f"p{number}"
            for name in with_entries:
                tables.add("entry", name, 1, "2026-11-21T10:00:00.000Z", "ab" * 32, "AlertReceived", "cd" * 32)
                tables.add("chain", name, 2, "ab" * 32, 0, 1)
                tables.add("derived", name, "incidents", "{}", None, 1, "differs", None)
                tables.add("derived", name, "attempts", "[]", "2026-11-21T10:00:00.000Z", 1, "differs", 1)
            for name in (*with_entries[1:], without):
                for table in ("incidents", "incidents", "holds"):
                    tables.add("stored", name, table, "[]", None)
            for name, is_sure in zip((*with_entries[2:], without, f"q{number}"), (1, 0, 1, 0), strict=True):
                for head in ("x", "y"):
                    tables.add("noted", name, "anchor", 1, head, "2027-11-21T10:00:00.000Z", is_sure)
                tables.add("noted", name, "anchor", 7, "x", "2027-11-21T10:00:00.000Z", is_sure)
                tables.add("noted", name, "end", 8, "x", "2027-11-21T10:00:00.000Z", is_sure)
            for name in (with_entries[0], without, f"q{number}", f"r{number}") if is_pruned else ():
                tables.add("noted", name, "pruned", 8, "x", "2026-11-21T10:00:00.000Z", 1)
            tables.add("noted", f"r{number}", "end", 5, "x", "2026-11-21T10:00:00.000Z", 1)
            tables.add("noted", f"s{number}", "older", 5, "x", "2026-11-21T10:00:00.000Z", 1)
            for seq in (None, 1, 2):
                tables.add("given", seq, f"{number:032}", "head", "")
        tables._database.set_progress_handler(lambda: next(steps) * 0, 1000)
        found = {fault.says for fault, _ in tables.faults()}
        tables.gone()
    return next(steps), found


def test_record_with_twice_as_many_faults_takes_twice_as_long() -> None:
    (few, found), (many, _), (_, unpruned) = steps_of(60), steps_of(120), steps_of(1, is_pruned=False)
    assert found | unpruned == {fault.says for fault in FAULTS}
    assert many < few * 2.5


@on_one
def test_no_transaction_waits_for_the_comparison(filled: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pool: Any = filled.engine.pool
    for name in ("faults", "gone"):
        compared: Callable[[AuditTables], Any] = getattr(AuditTables, name)

        def at_rest(tables: AuditTables, compared: Callable[[AuditTables], Any] = compared) -> Any:
            assert pool.checkedout() == 0
            return compared(tables)

        monkeypatch.setattr(AuditTables, name, at_rest)
    assert audit(filled).broken == ()


@pytest.fixture(scope="module")
def filled_on_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The same record, on SQLite alone, where a column takes any value."""
    with ledger_in(tmp_path_factory.mktemp("audit")) as database:
        ledger = Ledger(database)
        for stream, state in STATES:
            keep(ledger, stream, WAYS[state])
        yield database


_values = st.one_of(st.text(max_size=20), st.integers(-3, 2000), st.binary(max_size=8), st.floats(allow_nan=False))


@settings(max_examples=up_to(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_whatever_a_field_is_changed_to_it_is_found(filled_on_sqlite: Database, data: st.DataObject) -> None:
    everything = rows(filled_on_sqlite)
    row = data.draw(st.sampled_from(everything))
    field = data.draw(st.sampled_from(FIELDS))
    characters = st.integers(0, max(0, len(str(row[field])) - 1))
    if field != "seq" and data.draw(st.booleans()):  # one character of it
        at = data.draw(characters)
        new: Any = row[field][:at] + data.draw(st.characters(codec="utf-8")) + row[field][at + 1 :]
    else:
        new = data.draw(_values)
        if field == "seq" and isinstance(new, str) and new.strip().isdecimal():
            new = int(new)  # as the column stores it: "1" in place of 1 changes nothing
    place = {"stream": row["stream"], "seq": row["seq"], field: new}
    taken = {(one["stream"], one["seq"]) for one in everything} - {(row["stream"], row["seq"])}
    if new == row[field] or (place["stream"], place["seq"]) in taken:
        return
    found = after(filled_on_sqlite, changed(row, {field: new}))
    assert found.broken
    streams = {one.stream for one in found.broken}
    assert streams & {row["stream"], str(place["stream"])} or (row["stream"] == HOUSE and streams), found.broken


@on_both
def test_export_is_the_whole_record_in_the_order_of_time(filled: Database) -> None:
    lines = [json.loads(line) for line in exported(filled)]
    assert [line["at"] for line in lines] == sorted(line["at"] for line in lines)
    kept = {(row["stream"], row["seq"]): row | {"body": json.loads(row["body"])} for row in rows(filled)}
    assert {(line["stream"], line["seq"]): line for line in lines} == kept
    for stream in (OPEN, HOUSE):
        assert [line["seq"] for line in lines if line["stream"] == stream] == sorted(
            seq for of, seq in kept if of == stream
        )
