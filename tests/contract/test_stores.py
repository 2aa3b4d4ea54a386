"""What the smaller stores of the record hold, in SQLite and in PostgreSQL: mutes, marks, readings and tallies."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.domain.growth import CountSample
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased, CauseMuted, CauseUnmuted, WishRefused
from bot.domain.post import Post
from bot.domain.transitions import State
from bot.extras.marks.marks import CauseLookedAt, VerdictMarked, scores
from bot.extras.marks.store import MarkStore
from bot.extras.waves.events import WaveDeclined, WaveProposed
from bot.extras.waves.store import WaveCounts, WaveStore
from bot.extras.waves.wave import WaveState
from bot.ledger import Database, Ledger, Outbox, ReadingStore
from bot.ledger.ledger_counts import OF_RECORD, LedgerCounts
from bot.ledger.reading_store import MOST_LOOKS
from tests.record.incidents import WAVE_EVENTS, WAYS, by_whom

UNTIL = datetime(2126, 11, 29, 12, 0, tzinfo=UTC)
MUTED = CauseMuted("io-stall", "n-1", UNTIL, "known", "ann")
OTHER = WishRefused("Braked", "The brake is on.")


def test_every_mute_is_found_in_order_whoever_wrote_it_and_whatever_stands_between(database_url: str) -> None:
    with Database.open(database_url) as database, Database.open(database_url) as elsewhere:
        ledger, other = Ledger(database), Ledger(elsewhere)
        assert ledger.mutes.now() == ()
        ledger.append.now(HOUSE, None, OTHER, "bot")
        ledger.append.now(HOUSE, None, MUTED, "terminal:ann")
        assert [entry.event for entry in ledger.mutes.now()] == [MUTED]
        other.append.now(HOUSE, None, OTHER, "bot")
        other.append.now(HOUSE, None, CauseUnmuted("io-stall", "n-1"), "terminal:bob")
        for asked in (ledger, ledger, other):
            assert [(entry.kind, entry.by) for entry in asked.mutes.now()] == [
                ("CauseMuted", "terminal:ann"),
                ("CauseUnmuted", "terminal:bob"),
            ]


WRONG = VerdictMarked("7k3m9x2qpv", "io-stall", False, "n-1", "ef" * 32, "click-1")


def test_mark_is_written_once_whichever_program_takes_it(database_url: str) -> None:
    with Database.open(database_url) as database, Database.open(database_url) as elsewhere:
        marks, other = MarkStore(database), MarkStore(elsewhere)
        first = marks.append.now(WRONG, "slack:T0/U1")
        assert other.append.now(WRONG, "slack:T0/U1") == first, "the same click, delivered to another"
        right = other.append.now(replace(WRONG, right=True, request="click-3"), "slack:T0/U1")
        assert marks.append.now(WRONG, "slack:T0/U1") == first, "an old click brings nothing back"
        marks.append.now(WRONG, "slack:T0/U2")
        marks.append.now(CauseLookedAt("io-stall", "raised"), "terminal:ann")
        for asked in (marks, other):
            kinds = [(entry.kind, entry.by) for entry in asked.read.now()]
            assert kinds == [
                ("VerdictMarked", "slack:T0/U1"),
                ("VerdictMarked", "slack:T0/U1"),
                ("VerdictMarked", "slack:T0/U2"),
                ("CauseLookedAt", "terminal:ann"),
            ]
        assert right.seq > first.seq
        (score,) = scores(marks.read.now())
        assert (score.right, score.wrong, score.ever_right, score.ever_wrong) == (0, 0, 1, 1)


BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
LEAK = "leaked-memory-cgroups"


def test_looks_are_kept_once_and_come_in_order(database: Database) -> None:
    store = ReadingStore(database)
    told = [CountSample(BEGAN + timedelta(hours=at), 1_000.5 * at, "boot") for at in range(4)]
    for look in (told[2], told[0], told[3], told[1], told[1]):
        store.keep.now("gpu-1", LEAK, look)
    store.keep.now("gpu-2", LEAK, told[0])
    assert store.looks.now("gpu-1", LEAK) == tuple(told)
    assert store.looks.now("gpu-1", "disk-full") == ()
    assert store.series.now() == (("gpu-1", LEAK), ("gpu-2", LEAK))


def test_the_latest_are_read_where_there_are_very_many(database: Database) -> None:
    store = ReadingStore(database)
    with database.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO readings SELECT 'gpu-1', 'x', '2025-01-01T00:00:00.' || n, 1, '' FROM "
            + (
                "generate_series(100000, 105999) AS g(n)"
                if connection.dialect.name == "postgresql"
                else "(WITH RECURSIVE g(n) AS (SELECT 100000 UNION ALL SELECT n + 1 FROM g WHERE n < 105999) "
                "SELECT n FROM g)"
            )
        )
        connection.exec_driver_sql('UPDATE readings SET "at" = "at" || \'Z\'')
    assert len(store.looks.now("gpu-1", "x")) == MOST_LOOKS


def test_what_is_older_is_forgotten_where_that_is_asked_for(database: Database) -> None:
    store, now = ReadingStore(database), datetime.now(UTC)
    for days in (1, 20, 40):
        store.keep.now("gpu-1", LEAK, CountSample(now - timedelta(days=days), days, ""))
    assert store.forget.now(timedelta(days=30), dry_run=True) == 1
    assert len(store.looks.now("gpu-1", LEAK)) == 3
    assert store.forget.now(timedelta(days=30)) == 1
    assert [look.value for look in store.looks.now("gpu-1", LEAK)] == [20, 1]


CAUSE = "leaked-memory-cgroups"


def told(ledger: Ledger, stream: str, state: State) -> None:
    for seq, event in enumerate(WAYS[state]):
        ledger.append.now(stream, seq, event, by_whom(event))


def test_incidents_are_counted_by_state_and_cause(database: Database) -> None:
    ledger, tallies = Ledger(database), LedgerCounts(database)

    def found() -> tuple[dict[str, float], dict[tuple[str, ...], float]]:
        read = tallies.read.now()
        by_state = {state: count for (state,), count in read["zombie_incidents"].items()}
        assert by_state.keys() == {state.value for state in State}
        return {state: count for state, count in by_state.items() if count}, {**read["zombie_incidents_by_cause"]}

    assert found() == ({}, {})
    told(ledger, "one", State.PROPOSED)
    told(ledger, "two", State.PROPOSED)
    told(ledger, "three", State.OPENED)
    assert found() == ({"proposed": 2, "opened": 1}, {(CAUSE, "proposed"): 2})
    assert found() == ({"proposed": 2, "opened": 1}, {(CAUSE, "proposed"): 2})
    ledger.append.now("two", 3, WAYS[State.DECLINED][-1], by_whom(WAYS[State.DECLINED][-1]))
    by_cause = {(CAUSE, "proposed"): 1, (CAUSE, "declined"): 1}
    assert found() == ({"proposed": 1, "declined": 1, "opened": 1}, by_cause)


def test_waves_are_counted_by_state(database: Database) -> None:
    tallies, waves = LedgerCounts(database, [WaveCounts().read]), WaveStore(database)
    none = {(state.value,): 0 for state in WaveState}
    assert tallies.read.now()["zombie_waves"] == none
    proposed = next(event for event in WAVE_EVENTS if isinstance(event, WaveProposed))
    for name in ("wave-one1", "wave-two2"):
        waves.append.now(name, 0, proposed, "terminal:ann")
    waves.append.now("wave-two2", 1, WaveDeclined("not now"), "terminal:bob")
    assert tallies.read.now()["zombie_waves"] == none | {("proposed",): 1, ("declined",): 1}


def test_what_waits_and_the_brake_are_told(database: Database) -> None:
    ledger, tallies, outbox = Ledger(database), LedgerCounts(database), Outbox(database)
    assert tallies.read.now().keys() == OF_RECORD.keys()

    def now(name: str) -> float:
        return tallies.read.now()[f"zombie_{name}"][()]

    assert (now("posts_waiting"), now("queue_depth")) == (0, 0)
    outbox.keep.now(Post("one", "card", "C1", {"text": "x"}))
    assert now("posts_waiting") == 1
    assert not now("brake")
    ledger.append.now(HOUSE, None, BrakePulled("rollout"), "terminal:ann")
    assert now("brake")
    ledger.append.now(HOUSE, None, BrakeReleased("over"), "terminal:ann")
    assert not now("brake")
