"""The ledger's promises, on every database it may be kept in."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from bot.domain.action import Step
from bot.domain.alert import BOT, Alert
from bot.domain.entry import Head, body_of, canonical_body, entry_hash, instant_text
from bot.domain.errors import Conflict, ImpossibleEvent, LedgerUnavailable, UnreadableEntry
from bot.domain.events import (
    AlertJoined,
    AlertReceived,
    Declined,
    IncidentEvent,
    PlanProposed,
    PlanWithheld,
    Triaged,
)
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased, EntryAnchored, IncidentEnded
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.ledger import Database, Ledger
from bot.ledger.entries import database_time
from tests.record.incidents import (
    ALERT,
    APPROVER,
    ASKER,
    EVIDENCE,
    HEALTHY,
    NODE,
    OPENING,
    PLAN,
    PROPOSED,
    TRIAGED,
    VERDICT,
    WAYS,
    by_whom,
)

ID = "7k3m9x2qpv"


def test_ended_incidents_are_listed_by_their_last_news_and_open_ones_always(ledger: Ledger) -> None:
    tell(ledger, WAYS[State.PROPOSED])
    ended = tell(ledger, WAYS[State.DECLINED], "ended00000")
    for since, names in ((ended.updated_at, {ID, ended.id}), (ended.updated_at + timedelta(milliseconds=1), {ID})):
        assert {line.id for line in ledger.incidents.now(since=since)} == names
    assert ledger.incidents.now(since=ended.updated_at, only_open=True) == ledger.incidents.now(only_open=True)


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)


def tell(ledger: Ledger, events: tuple[IncidentEvent, ...], stream: str = ID) -> Incident:
    for seq, event in enumerate(events):
        ledger.append.now(stream, seq, event, by_whom(event))
    return fold(ledger.read.now(stream))


def test_what_was_appended_is_read_back(ledger: Ledger) -> None:
    appended = [ledger.append.now(ID, seq, event, by_whom(event)) for seq, event in enumerate(WAYS[State.VERIFYING])]
    assert ledger.read.now(ID) == tuple(appended)
    assert [entry.event for entry in appended] == list(WAYS[State.VERIFYING])
    assert [(entry.seq, entry.by) for entry in appended[:2]] == [(1, ASKER), (2, BOT)]
    assert fold(appended).verdict == VERDICT
    assert ledger.head.now(ID) == Head(len(appended), appended[-1].hash)


def test_stream_that_is_not_there_is_empty(ledger: Ledger) -> None:
    assert (ledger.read.now(ID), ledger.head.now(ID), ledger.head.now(HOUSE)) == ((), Head(), Head())
    assert ledger.incidents.now() == ()


def test_later_of_two_hears_of_the_conflict_and_nothing_is_appended(ledger: Ledger) -> None:
    tell(ledger, WAYS[State.PROPOSED])
    first = ledger.append.now(ID, 3, Declined("no"), APPROVER)
    for behind_or_ahead in (3, 5):
        with pytest.raises(Conflict, match=f"{ID} has 4 entries, not {behind_or_ahead}"):
            ledger.append.now(ID, behind_or_ahead, Declined("no, I said"), ASKER)
    assert ledger.read.now(ID)[-1] == first


def test_several_events_at_once_are_the_same_entries_as_one_by_one(ledger: Ledger) -> None:
    withheld = PlanWithheld("Acting is off.")
    tell(ledger, (OPENING,))
    entries = ledger.append_all.now(ID, 1, (TRIAGED, withheld), BOT)
    assert [(entry.seq, entry.kind) for entry in entries] == [(2, "Triaged"), (3, "PlanWithheld")]
    whole = ledger.read.now(ID)
    assert (whole[1:], fold(whole).withheld, ledger.incidents.now(only_open=True)) == (entries, withheld, ())
    for before, entry in pairwise(whole):
        kept = (entry.stream, entry.seq, instant_text(entry.at), entry.by, entry.kind, canonical_body(entry.body))
        assert entry.hash == entry_hash(before.hash, *kept)
    assert ledger.read.now(HOUSE)[-1].event == IncidentEnded(ID, "triaged", 3, entries[-1].hash)


def test_of_several_events_at_once_all_stand_or_none(ledger: Ledger) -> None:
    tell(ledger, (OPENING,))
    with pytest.raises(ImpossibleEvent):
        ledger.append_all.now(ID, 1, (TRIAGED, OPENING), BOT)
    with pytest.raises(Conflict):
        ledger.append_all.now(ID, 0, (TRIAGED, PROPOSED), BOT)
    with pytest.raises(ImpossibleEvent, match="0 events"):
        ledger.append_all.now(ID, 1, (), BOT)
    assert [entry.kind for entry in ledger.read.now(ID)] == ["AlertReceived"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # nothing of it is a dialect's own
@pytest.mark.parametrize(
    ("stream", "expected", "event"),
    [(HOUSE, None, OPENING), (ID, 0, BrakePulled("x")), (ID, None, OPENING), (HOUSE, 0, TRIAGED)],
)
def test_event_goes_to_its_own_kind_of_stream(
    ledger: Ledger, stream: str, expected: int | None, event: IncidentEvent
) -> None:
    with pytest.raises(ImpossibleEvent, match="does not belong"):
        ledger.append.now(stream, expected, event, BOT)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # nothing of it is a dialect's own
@pytest.mark.parametrize("by", ["", "ann", "terminal:a\nb", "root x:y"])
def test_nobody_without_a_proper_name_makes_an_entry(ledger: Ledger, by: str) -> None:
    with pytest.raises(ValueError, match="cannot be the author"):
        ledger.append.now(ID, 0, OPENING, by)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # nothing of it is a dialect's own
@pytest.mark.parametrize("state", list(State))
def test_end_and_only_the_end_writes_its_head_into_the_house(ledger: Ledger, state: State) -> None:
    incident = tell(ledger, WAYS[state])
    noted = [entry.event for entry in ledger.read.now(HOUSE) if not isinstance(entry.event, EntryAnchored)]
    if incident.ended:
        assert noted == [IncidentEnded(ID, state.value, incident.seq, incident.head)]
        assert ledger.incidents.now(only_open=True) == ()
    else:
        assert noted == []
        assert tuple(line.id for line in ledger.incidents.now(only_open=True)) == (ID,)


def test_house_takes_entries_wherever_it_ends(ledger: Ledger) -> None:
    seqs = [ledger.append.now(HOUSE, None, BrakePulled(str(n)), ASKER).seq for n in range(3)]
    assert seqs == [1, 2, 3]
    with pytest.raises(Conflict):
        ledger.append.now(HOUSE, 2, BrakeReleased("late"), ASKER)


def test_list_follows_the_entries(ledger: Ledger) -> None:
    tell(ledger, WAYS[State.PROPOSED])
    tell(ledger, (replace(OPENING, node="node-2"), Triaged(replace(HEALTHY, node="node-2"))), "another000")
    newest, oldest = ledger.incidents.now()
    assert (newest.id, newest.node, newest.cause, newest.ended) == ("another000", "node-2", None, True)
    assert oldest == fold(ledger.read.now(ID)).summary
    assert (oldest.group, oldest.source, oldest.source_id) == (OPENING.group, "slack", ALERT.id)
    assert ledger.incidents.now(only_open=True) == (oldest,)


def test_secrets_are_taken_out_before_anything_is_kept(ledger: Ledger, database: Database) -> None:
    leaky = replace(EVIDENCE, source=("agent --token s3cr3t-value", "-----BEGIN RSA PRIVATE " + "KEY-----", "MIIEowIB"))
    ledger.append.now(ID, 0, replace(OPENING, alert=replace(ALERT, text="login with password=hunter2")), ASKER)
    triaged = ledger.append.now(ID, 1, replace(TRIAGED, verdict=replace(VERDICT, evidence=(leaky,))), BOT)
    with database.reading() as connection:
        everything = str(connection.execute(text("SELECT * FROM entries")).all())
    for secret in ("s3cr3t-value", "MIIEowIB", "hunter2"):
        assert secret not in everything
    assert triaged == ledger.read.now(ID)[-1]
    assert isinstance(triaged.event, Triaged)
    assert triaged.event.verdict.evidence[0].source[0] == "agent --token [redacted]"


def test_plan_that_holds_a_secret_cannot_be_proposed(ledger: Ledger) -> None:
    # What would be kept is not what would run, so nobody could know what they approve.
    plan = replace(PLAN, steps=(Step("disable_unit", {}, ("agentctl --token s3cr3t stop",)),))
    ledger.append.now(ID, 0, OPENING, ASKER)
    ledger.append.now(ID, 1, replace(TRIAGED, verdict=replace(VERDICT, plan=plan)), BOT)
    with pytest.raises(ImpossibleEvent, match="its digest does not match the recorded plan"):
        ledger.append.now(ID, 2, PlanProposed.of(plan, {}), BOT)


def test_time_is_the_databases_and_in_order(ledger: Ledger, database: Database) -> None:
    with database.reading() as connection:
        before = database_time(connection)
    tell(ledger, WAYS[State.RESOLVED])
    times = [instant_text(entry.at) for entry in ledger.read.now(ID)]
    with database.reading() as connection:
        after = database_time(connection)
    assert [before, *times, after] == sorted([before, *times, after])
    assert len({len(moment) for moment in times} | {len(before)}) == 1


def test_time_never_falls_where_the_clock_is_set_back(database: Database) -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    clock = iter([noon, noon - timedelta(hours=3), noon + timedelta(seconds=1)])
    ledger = Ledger(database, lambda: next(clock))
    times = [ledger.append.now(HOUSE, None, BrakePulled("x"), BOT).at for _ in range(3)]
    assert times == [noon, noon, noon + timedelta(seconds=1)]


def test_hostile_text_is_kept_as_it_is(ledger: Ledger) -> None:
    hostile = "\x00 \ud800 \u202e ' OR 1=1; -- \\ \" 💥 %s :x {}"
    event = AlertReceived(Alert("grafana", hostile, text=hostile), NODE)
    assert ledger.append.now(ID, 0, event, BOT).event == event
    assert ledger.read.now(ID)[0].event == event


def test_many_threads_at_once_lose_and_double_nothing(ledger: Ledger) -> None:
    tell(ledger, (OPENING,))

    def join(number: int) -> None:
        while True:
            try:
                ledger.append.now(ID, ledger.head.now(ID).seq, AlertJoined(Alert("grafana", str(number))), BOT)
            except Conflict:
                continue
            return

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(join, range(20)))
    joined = fold(ledger.read.now(ID)).joined
    assert sorted(int(alert.id) for alert in joined) == list(range(20))


def test_entries_cannot_be_changed_or_removed_by_accident(ledger: Ledger, database: Database) -> None:
    tell(ledger, (OPENING,))
    for accident in ("UPDATE entries SET kind = 'x'", "DELETE FROM entries"):
        with pytest.raises(LedgerUnavailable, match="only ever appended"), database.writing() as connection:
            connection.execute(text(accident))


def test_locked_database_is_said_to_be_unavailable_and_nothing_is_appended(database_url: str, tmp_path: Path) -> None:
    with Database.open(database_url, busy=timedelta(milliseconds=200)) as database:
        ledger = Ledger(database)
        if database_url.startswith("sqlite"):
            other = sqlite3.connect(tmp_path / "zombie.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
        else:
            lock = f"SELECT pg_advisory_lock({int.from_bytes(b'zombie')})".encode()
            other = psycopg.connect(database_url, autocommit=True)  # type: ignore[assignment]
            other.execute(lock)  # type: ignore[arg-type]
        try:
            with pytest.raises(LedgerUnavailable, match="cannot be used"):
                ledger.append.now(ID, 0, OPENING, ASKER)
            assert ledger.read.now(ID) == ()  # reading needs no lock
        finally:
            other.close()
        assert ledger.append.now(ID, 0, OPENING, ASKER).seq == 1


def test_row_that_is_no_entry_is_said_to_be_unreadable(ledger: Ledger, database: Database) -> None:
    with database.writing() as connection:
        row = {
            "s": ID,
            "at": "yesterday",
            "by": BOT,
            "k": "AlertReceived",
            "b": canonical_body(body_of(OPENING)),
            "h": "0",
        }
        connection.execute(text("INSERT INTO entries VALUES (:s, 1, :at, :by, :k, :b, :h)"), row)
    with pytest.raises(UnreadableEntry, match=f"Entry {ID}/1 is malformed"):
        ledger.read.now(ID)
