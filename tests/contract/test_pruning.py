"""What was kept for long enough leaves the record, nothing that is open does, and an audit still holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, func, select, text
from sqlalchemy.exc import DBAPIError

from bot.domain.alert import AlertStatus
from bot.domain.entry import NotedHead, instant_text
from bot.domain.events import AlertReceived, Cancelled, Escalated, IncidentEvent
from bot.domain.house_events import (
    HOUSE,
    BrakePulled,
    EntryAnchored,
    HouseEvent,
    IncidentEnded,
    IncidentsPruned,
)
from bot.domain.post import Post
from bot.extras.waves.events import WaveDeclined, WaveMember, WaveProposed
from bot.extras.waves.store import WaveStore
from bot.extras.waves.wave import stages_of
from bot.ledger import Database, Ledger, Outbox, Pruned, Pruner, audit, pruning
from bot.ledger.dedup_store import DedupStore
from bot.ledger.entries import append_entry, database_time
from bot.ledger.inbox import Inbox
from bot.ledger.leases import Leases
from bot.ledger.pruning import deletions_allowed
from bot.ledger.tables import ATTEMPTS, CASES, ENTRIES, INCIDENTS, LEASES, POSTS
from tests.contract.test_inbox import BRAKES, delivery
from tests.contract.test_ledger_acting import FIRST, claim
from tests.record.incidents import ALERT, ASKER
from tests.record.keeping import approved

YEAR = timedelta(days=365)
on_one = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # nothing of it is a dialect's own


def long_ago() -> datetime:
    return datetime.now(UTC) - 2 * YEAR


def tell(ledger: Ledger, name: str, group: str, *events: IncidentEvent, opening: AlertReceived | None = None) -> None:
    ledger.append.now(name, 0, opening or AlertReceived(ALERT, f"node-{name}", group), ASKER)
    for seq, event in enumerate(events, 1):
        ledger.append.now(name, seq, event, "bot")


def names(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(connection.execute(select(ENTRIES.c.stream).distinct()).scalars()) - {HOUSE}


def test_only_what_ended_long_ago_and_stands_beside_nothing_newer_goes(database: Database) -> None:
    then, now = Ledger(database, long_ago), Ledger(database)
    over = Cancelled("asked twice")
    tell(then, "gone", "gone-group", over)
    tell(then, "gone-too", "gone-group", over)
    tell(then, "alone", "", over)
    tell(then, "still-open", "open-group")
    tell(then, "beside-open", "open-group", over)
    tell(then, "beside-new", "new-group", over)
    tell(then, "undone", "undone-group", over)
    tell(then, "waits", "waiting-group", over)
    undoing = AlertReceived(ALERT, "node-undone", "undoing-group", undoes="undone")
    Outbox(database).keep.now(Post("waiting-group", "card", "C1", {}))
    tell(now, "new", "new-group", over)
    tell(now, "undoes", "undoing-group", opening=undoing)
    stay = {"still-open", "beside-open", "beside-new", "undone", "waits", "new", "undoes"}
    pruner = Pruner(database, "terminal:ann")
    assert pruner.prune_incidents(YEAR, dry_run=True) == Pruned(incidents=3, entries=6)
    assert names(database) == stay | {"gone", "gone-too", "alone"}
    heads = {name: then.head.now(name) for name in ("gone", "gone-too", "alone")}

    assert pruner.prune_incidents(YEAR) == Pruned(incidents=3, entries=6)

    assert names(database) == stay == {line.id for line in now.incidents.now()}
    assert audit(database).broken == ()
    noted = now.read.now(HOUSE)[-1]
    assert noted.by == "terminal:ann"
    assert isinstance(noted.event, IncidentsPruned)
    assert noted.event.heads == {name: f"{head.seq}:{head.hash}" for name, head in heads.items()}
    assert pruner.prune_incidents(YEAR) == Pruned(), "what is gone is gone"
    found = audit(database, [NotedHead.of(heads["gone"].hash), NotedHead.of("ab" * 32)])
    assert (found.broken, len(found.unread)) == ((), 2), "neither is in an entry, and either may have been"


def test_incident_whose_name_holds_a_word_for_a_secret_is_pruned_with_its_head(database: Database) -> None:
    then = Ledger(database, long_ago)
    for name in ("3pw4k2m9xz", "9psk2pass7"):
        tell(then, name, f"of-{name}", Cancelled("asked twice"))
    tell(Ledger(database), "new", "new-group")
    heads = {name: f"2:{then.head.now(name).hash}" for name in ("3pw4k2m9xz", "9psk2pass7")}
    Pruner(database, "terminal:ann").prune_incidents(YEAR)
    noted = then.read.now(HOUSE)[-1].event
    assert isinstance(noted, IncidentsPruned)
    assert noted.heads == heads
    assert audit(database).broken == ()


def test_incidents_of_a_wave_stay_until_it_has_ended(database: Database) -> None:
    then, name = Ledger(database, long_ago), "wave-7k3m9x2qpv"
    opening = AlertReceived(replace(ALERT, id=name), "node-one", "of-the-wave", wave=name)
    tell(then, "one", "of-the-wave", Cancelled("nobody ran it"), opening=opening)
    tell(then, "gone", "gone-group", Cancelled("asked twice"))
    tell(Ledger(database), "new", "new-group")
    member = WaveMember("node-one", "one", "ab" * 32)
    proposed = WaveProposed(("*",), ("c",), (member,), (), stages_of(1), timedelta(hours=8), "p", "").sealed()
    waves = WaveStore(database)
    waves.append.now(name, 0, proposed, ASKER)
    pruner = Pruner(database, "terminal:ann")
    pruner.prune_incidents(YEAR)
    assert names(database) - {name} == {"one", "new"}, "the wave asks for it at each look"
    waves.append.now(name, 1, WaveDeclined("nobody decided"), "bot")
    pruner.prune_incidents(YEAR)
    assert names(database) - {name} == {"new"}


def test_undo_goes_once_what_it_undoes_is_gone(database: Database) -> None:
    then, pruner = Ledger(database, long_ago), Pruner(database, "bot")
    tell(then, "undone", "undone-group", Cancelled("as an end"))
    asked = replace(ALERT, id="undo undone 1")
    undo = AlertReceived(asked, "node-undone", "undo-group", undoes="undone")
    tell(then, "undo1", "undo-group", Cancelled("declined"), opening=undo)
    tell(Ledger(database), "new", "")
    pruner.prune_incidents(YEAR)
    assert names(database) == {"undo1", "new"}
    pruner.prune_incidents(YEAR)
    assert names(database) == {"new"}
    assert audit(database).broken == ()


def test_what_hangs_on_an_incident_goes_with_it(database: Database) -> None:
    then = Ledger(database, long_ago)
    alarm = delivery(1)
    DedupStore(database, long_ago).record_firing.now(alarm, "key", "gone-group", BRAKES)
    approved(then, "gone", "node-1")
    then.begin.now("gone", 4, FIRST, "bot", claim("node-1"))
    then.append.now("gone", 5, Escalated("no proof"), "bot")
    tell(then, "in-group", "gone-group", Cancelled("asked twice"))
    Leases(database, "r1").take.now("gone-group")
    outbox = Outbox(database)
    outbox.mark_delivered.now(outbox.keep.now(Post("gone-group", "card", "C1", {})).id, "C1", "1.1")
    tell(Ledger(database), "new", "")
    assert Pruner(database, "bot").prune_incidents(YEAR) == Pruned(1, 6, firing=1), "an alert that fires is repeated"
    assert "in-group" in names(database)
    DedupStore(database, long_ago).record_over.now(delivery(1, happening=AlertStatus.RESOLVED))
    Pruner(database, "bot").prune_incidents(YEAR)
    with database.reading() as connection:
        left = [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (POSTS, CASES, ATTEMPTS, LEASES)
        ]
        listed = list(connection.execute(select(INCIDENTS.c.id)).scalars())
    assert (left, listed) == ([0, 0, 0, 0], ["new"])
    assert audit(database).broken == ()


def test_incidents_shown_together_stay_while_a_message_of_one_of_them_waits(database: Database) -> None:
    then, outbox = Ledger(database, long_ago), Outbox(database)
    for name in ("one", "other"):
        tell(then, name, "group", Cancelled("asked twice"))
    tell(Ledger(database), "new", "")
    note = outbox.keep.now(Post("other", "note", "Q1", {}))  # of the incident, not of its card, as PagerDuty's are
    assert Pruner(database, "bot").prune_incidents(YEAR) == Pruned()
    outbox.mark_delivered.now(note.id, "Q1", "n1")
    assert Pruner(database, "bot").prune_incidents(YEAR).incidents == 2
    assert names(database) == {"new"}


@on_one
def test_other_writers_wait_for_so_many_incidents_at_most_or_for_those_of_one_card(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pruning, "_AT_ONCE", 10)
    then = Ledger(database, long_ago)
    for group, size in (("first", 4), ("second", 4), ("third", 4), ("large", 12)):
        for number in range(size):
            tell(then, f"{group}{number}", group, Cancelled("asked twice"))
    tell(Ledger(database), "new", "")
    assert Pruner(database, "bot").prune_incidents(YEAR).incidents == 24
    events = (entry.event for entry in Ledger(database).read.now(HOUSE))
    assert [len(event.heads) for event in events if isinstance(event, IncidentsPruned)] == [8, 4, 12]


def test_record_is_append_only_again_and_what_is_taken_out_by_hand_is_found(database: Database) -> None:
    then = Ledger(database, long_ago)
    for name in ("gone", "kept"):
        tell(then, name, name, Cancelled("asked twice"))
    tell(then, "last", "last")
    with database.writing() as connection:
        connection.execute(text("UPDATE incidents SET updated_at = :now WHERE id = 'kept'"), {"now": "2999"})
    Pruner(database, "bot").prune_incidents(YEAR)
    assert names(database) == {"kept", "last"}
    with pytest.raises(Exception, match="only ever appended") as no, database.writing() as connection:
        connection.execute(delete(ENTRIES))
    assert isinstance(no.value.__cause__, DBAPIError)
    take_out(database, "kept")
    assert "kept" in {broken.stream for broken in audit(database).broken}


def take_out(database: Database, name: str) -> None:
    """A forger removes an incident and its line."""
    with database.writing() as connection, deletions_allowed(connection):
        connection.execute(delete(ENTRIES).where(ENTRIES.c.stream == name))
        connection.execute(delete(INCIDENTS).where(INCIDENTS.c.id == name))


@pytest.mark.parametrize("is_later", [False, True])
@on_one
def test_pruning_that_names_another_end_than_house_noted_is_found(database: Database, is_later: bool) -> None:
    then = Ledger(database, long_ago)
    tell(then, "gone", "gone", Cancelled("asked twice"))
    named = f"1:{'ab' * 32}"
    if is_later:  # house noted an entry after that end
        named = f"2:{then.head.now('gone').hash}"
        then.append.now(HOUSE, None, EntryAnchored("gone", "Approved", 3, "ab" * 32), "bot")
    then.append.now(HOUSE, None, IncidentsPruned({"gone": named}, long_ago() - YEAR), "bot")
    take_out(database, "gone")
    assert [(broken.stream, broken.says) for broken in audit(database).broken] == [
        ("gone", "was pruned at another entry than the end that house noted")
    ]


def removed_by_hand(database: Database, name: str, before: datetime) -> None:
    """A forger removes an incident, and writes that it was pruned."""
    ledger = Ledger(database)
    head = ledger.head.now(name)
    ledger.append.now(HOUSE, None, IncidentsPruned({name: f"{head.seq}:{head.hash}"}, before), "terminal:ann")
    take_out(database, name)


@pytest.mark.parametrize(
    ("before", "says"),
    [
        (datetime(2000, 1, 1, tzinfo=UTC), "gone: was pruned as of 2000-01-01T00:00:00.000Z, and ended at 2"),
        (datetime.now(UTC) + YEAR, "house: removes incidents that ended less than 2 days before"),
    ],
)
@on_one
def test_incident_of_today_that_was_pruned_is_found(database: Database, before: datetime, says: str) -> None:
    tell(Ledger(database), "gone", "gone", Cancelled("asked twice"))
    removed_by_hand(database, "gone", before)
    first = audit(database).broken[0]
    assert f"{first.stream}: {first.says}".startswith(says)


def noted_again(database: Database, *notes: HouseEvent, at: str = "") -> None:
    """A forger appends to `house`; the notes have one time, as where a clock was set back."""
    with database.writing() as connection:
        now = at or database_time(connection)
        for event in notes:
            append_entry(connection, HOUSE, None, event, "bot", now)


BEFORE = datetime.now(UTC) - timedelta(days=3)


@pytest.mark.parametrize("seq", [2, 3])
@on_one
def test_later_note_of_an_end_makes_it_no_older(database: Database, seq: int) -> None:
    tell(Ledger(database), "gone", "gone", Cancelled("asked twice"))
    end = Ledger(database).head.now("gone")
    again = IncidentEnded("gone", "cancelled", seq, end.hash if seq == end.seq else "ab" * 32)
    pruned = IncidentsPruned({"gone": f"{again.seq}:{again.head}"}, BEFORE)
    noted_again(database, BrakePulled("rollout"), again, pruned)
    take_out(database, "gone")
    (broken,) = audit(database).broken
    assert str(broken).startswith(f"gone/{seq}: was pruned as of {instant_text(BEFORE)}, and ended at 2")


@on_one
def test_end_that_is_noted_for_the_pruning_is_told(database: Database) -> None:
    tell(Ledger(database, lambda: BEFORE - timedelta(days=1)), "gone", "gone")
    tell(Ledger(database), "stays", "stays")
    head = Ledger(database).head.now("gone")
    with database.reading() as connection:
        now = database_time(connection)
    noted_again(
        database,
        BrakePulled("rollout"),
        IncidentEnded("gone", "cancelled", head.seq, head.hash),
        IncidentsPruned({"gone": f"{head.seq}:{head.hash}"}, BEFORE),
        at=now,
    )
    take_out(database, "gone")
    found = audit(database)
    assert found.broken == ()
    (unread,) = found.unread
    assert f"and ended at {now}: a clock was set back, or it is forged" in unread.says


@on_one
def test_pruning_of_a_time_to_come_is_told(database: Database) -> None:
    tell(Ledger(database), "gone", "gone", Cancelled("asked twice"))
    to_come = datetime.now(UTC) + timedelta(days=3)
    head = Ledger(database).head.now("gone")
    pruned = IncidentsPruned({"gone": f"{head.seq}:{head.hash}"}, to_come - timedelta(days=2))
    noted_again(database, pruned, at=instant_text(to_come))
    take_out(database, "gone")
    (unread,) = audit(database).unread
    assert str(unread).startswith(f"house/3: removes incidents at {instant_text(to_come)}, which is still to come")


@on_one
def test_entry_that_was_noted_twice_is_found_though_it_was_pruned(database: Database) -> None:
    then = Ledger(database, long_ago)
    tell(then, "gone", "gone", Cancelled("asked twice"))
    opening = EntryAnchored("gone", "AlertReceived", 1, "ab" * 32)
    noted_again(database, opening)
    tell(Ledger(database), "stays", "stays")
    Pruner(database, "bot").prune_incidents(YEAR)
    assert "gone/1: was noted in house twice, with different hashes: one is forged" in map(str, audit(database).broken)


def test_pruning_holds_where_a_clock_was_ahead_when_they_ended(database: Database) -> None:
    tell(Ledger(database), "ahead", "ahead", Cancelled("asked twice"))
    then = Ledger(database, long_ago)
    for name in ("gone", "stays"):
        tell(then, name, name, Cancelled("asked twice"))
    assert audit(database).broken == ()
    Pruner(database, "bot").prune_incidents(YEAR)
    assert names(database) == {"ahead", "stays"}
    assert audit(database).broken == ()


def test_who_follows_the_record_misses_nothing_after_it_was_pruned(database: Database) -> None:
    then = Ledger(database, long_ago)
    for name in ("first", "last"):
        tell(then, name, name, Cancelled("asked twice"))
    cursor = then.changed.now(None).cursor
    Pruner(database, "bot").prune_incidents(YEAR)
    tell(Ledger(database), "new", "new")
    assert [line.id for line in then.changed.now(cursor).incidents] == ["new"]


def test_deliveries_that_were_seen_to_are_forgotten(database: Database) -> None:
    box = Inbox(Leases(database, "r1", time=long_ago))
    for number in (1, 2):
        box.keep.now(delivery(number))
    box.mark_done.now(delivery(1))
    pruner = Pruner(database, "bot")
    assert pruner.prune_deliveries(YEAR, dry_run=True) == pruner.prune_deliveries(YEAR) == Pruned(deliveries=1)
    assert box.waiting.now() == 1
    assert box.keep.now(delivery(1))
    assert not box.keep.now(delivery(2))


@pytest.mark.parametrize("kept_for", [timedelta(0), timedelta(hours=47)])
def test_what_guards_still_look_at_is_never_pruned(database: Database, kept_for: timedelta) -> None:
    pruner = Pruner(database, "bot")
    for verb in (pruner.prune_incidents, pruner.prune_deliveries):
        with pytest.raises(ValueError, match="2 days at least"):
            verb(kept_for)
