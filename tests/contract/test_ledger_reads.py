"""Several incidents are written in one transaction, and what a decision depends on is read at one moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from bot.domain.action import Plan
from bot.domain.alert import BOT
from bot.domain.claim import Claim, Doubts, ProposalRecord, no_doubts
from bot.domain.entry import Append
from bot.domain.errors import Conflict, ImpossibleEvent
from bot.domain.events import AlertReceived, Cancelled, StepStarted, Triaged
from bot.domain.fold import fold
from bot.domain.house_events import HOUSE, BrakePulled
from bot.domain.policy import Policy
from bot.domain.post import MessageRef, Post
from bot.domain.transitions import State
from bot.ledger import Database, Ledger, Outbox, audit
from bot.ledger.entries import head_of
from tests.record.incidents import ALERT, ASKER, OPENING, STEPS, VERDICT, WAYS, by_whom
from tests.record.keeping import approved

OLD, NEW = "7k3m9x2qpv", "8k3m9x2qpv"
WITHDRAWN = Append(OLD, 3, (Cancelled(f"It is read again, as incident {NEW}."),), BOT)
OPENED = Append(NEW, 0, (OPENING,), ASKER)


@pytest.fixture
def ledger(database: Database) -> Ledger:
    """A ledger with a proposal that waits for a decision."""
    ledger = Ledger(database)
    for seq, event in enumerate(WAYS[State.PROPOSED]):
        ledger.append.now(OLD, seq, event, by_whom(event))
    return ledger


def test_both_incidents_are_written_with_all_that_follows(ledger: Ledger, database: Database) -> None:
    cursor = ledger.changed.now().cursor
    entries = ledger.append_together.now((WITHDRAWN, OPENED))
    assert [(entry.stream, entry.seq, entry.kind, entry.by) for entry in entries] == [
        (OLD, 4, "Cancelled", BOT),
        (NEW, 1, "AlertReceived", ASKER),
    ]
    assert fold(ledger.read.now(OLD)).state is State.CANCELLED
    assert tuple(line.id for line in ledger.incidents.now(only_open=True)) == (NEW,)
    assert set(ledger.incident_ids_of_card.now(OPENING.group)) == {OLD, NEW}
    assert {line.id for line in ledger.changed.now(cursor).incidents} == {OLD, NEW}
    assert [entry.kind for entry in ledger.read.now(HOUSE)[-2:]] == ["IncidentEnded", "EntryAnchored"]
    assert audit(database).broken == ()


@pytest.mark.parametrize(
    ("appends", "why"),
    [
        ((Append(OLD, 2, WITHDRAWN.events, BOT), OPENED), Conflict),
        ((WITHDRAWN, Append(NEW, 1, (OPENING,), ASKER)), Conflict),
        ((WITHDRAWN, Append(NEW, 0, WITHDRAWN.events, BOT)), ImpossibleEvent),
        ((OPENED, WITHDRAWN, Append(OLD, 4, (OPENING,), ASKER)), ImpossibleEvent),
        ((WITHDRAWN, Append(NEW, 0, (), BOT)), ImpossibleEvent),
        ((WITHDRAWN, Append(HOUSE, 0, (OPENING,), ASKER)), ImpossibleEvent),
    ],
    ids=["first changed", "second changed", "second impossible", "third impossible", "nothing", "house"],
)
def test_where_a_part_cannot_be_written_nothing_is(
    ledger: Ledger, appends: tuple[Append, ...], why: type[Exception]
) -> None:
    house = ledger.head.now(HOUSE)
    with pytest.raises(why):
        ledger.append_together.now(appends)
    assert (ledger.head.now(OLD).seq, ledger.head.now(NEW).seq, ledger.head.now(HOUSE)) == (3, 0, house)
    for incident in (ledger.incident.now(OLD), fold(ledger.read.now(OLD))):  # what was folded before is as what is read
        assert incident is not None
        assert incident.state is State.PROPOSED
    assert ledger.incident.now(NEW) is None
    ledger.append_together.now((WITHDRAWN, OPENED))
    assert (ledger.head.now(OLD).seq, ledger.head.now(NEW).seq) == (4, 1)


PLAN = Plan("node-1", STEPS)


def doubting(connection: Connection) -> Doubts:
    """Doubt every cause; the sentence says of what."""
    seq = head_of(connection, HOUSE)[0].seq
    return lambda _, cause: f"{cause} in {seq} of house"


def test_what_a_decision_depends_on_is_read_at_once(database: Database) -> None:
    ledger, day = Ledger(database, doubters=[doubting]), timedelta(hours=24)
    ledger.append.now("asked", 0, AlertReceived(ALERT, "node-1"), ASKER)
    for name in ("one", "two"):
        approved(ledger, name, PLAN.node)
    ledger.begin.now("one", 4, StepStarted(1), "bot", Claim(PLAN.node, PLAN.remedy, "r1", cure=PLAN.cure))
    pulled = ledger.append.now(HOUSE, None, BrakePulled("a rollout"), "terminal:ann")
    read = ledger.decision_record.now("two", day)
    assert read is not None
    assert (read.incident, read.pulled, read.tried) == (ledger.incident.now("two"), pulled, "one")
    assert read.doubts(Policy(), "io-stall") == f"io-stall in {pulled.seq} of house"
    assert (read.hold.incident if read.hold is not None else "") == "one"
    before = ledger.decision_record.now("asked", day)
    assert before is not None
    assert (before.hold, before.tried, before.pulled) == (None, None, pulled), "there is no plan yet"
    assert before.doubts(Policy(), "lockup") == f"lockup in {pulled.seq} of house"
    assert ledger.decision_record.now("three", day) is None


def test_what_a_proposal_depends_on_is_read_at_once(database: Database) -> None:
    ledger, day = Ledger(database), timedelta(hours=24)
    assert ledger.proposal_record.now(PLAN, "m1", "", day) == ProposalRecord(None, (), frozenset(), no_doubts)
    for number, name in enumerate(("one", "two"), 1):
        node = f"node-{number}"
        ledger.append.now(name, 0, AlertReceived(ALERT, node, "g1"), ASKER)
        ledger.append.now(name, 1, Triaged(replace(VERDICT, node=node), machine_id="m1"), "bot")
    approved(ledger, "three", PLAN.node)
    ledger.begin.now("three", 4, StepStarted(1), "bot", Claim(PLAN.node, PLAN.remedy, "r1", cure=PLAN.cure))
    both = ("node-1", "node-2")
    assert ledger.proposal_record.now(PLAN, "m1", "g1", day) == ProposalRecord(
        "three", both, frozenset(both), no_doubts
    )
    assert ledger.proposal_record.now(PLAN, "", "", timedelta(0)) == ProposalRecord(None, (), frozenset(), no_doubts)
    doubted = Ledger(database, doubters=[lambda _: no_doubts, doubting]).proposal_record.now(PLAN, "m1", "g1", day)
    assert doubted.doubts(Policy(), "io-stall") == f"io-stall in {ledger.head.now(HOUSE).seq} of house"


def test_what_a_card_is_drawn_from_is_read_at_once(database: Database) -> None:
    ledger, outbox = Ledger(database), Outbox(database)
    for name in ("one", "two"):
        ledger.append.now(name, 0, AlertReceived(ALERT, f"node-{name}", "g1"), ASKER)
    pulled = ledger.append.now(HOUSE, None, BrakePulled("a rollout"), "terminal:ann")
    outbox.mark_delivered.now(outbox.keep.now(Post("g1", "card", "C1", {"text": "as it stands"})).id, "C1", "1.1")
    outbox.keep.now(Post("g1", "details", "C1", under="card"))
    card = ledger.card.now("g1", "card")
    assert (card.card, card.incidents, card.unreadable) == ("g1", ledger.group.now("g1")[0], {})
    assert (card.head, card.pulled, card.doubts) == (ledger.head.now(HOUSE), pulled, no_doubts)
    doubted = Ledger(database, doubters=[doubting]).card.now("g1", "card").doubts
    assert doubted(Policy(), "io-stall") == f"io-stall in {ledger.head.now(HOUSE).seq} of house"
    assert card.posts == outbox.card.now("g1", "card")
    assert (card.posts.places, card.posts.standing) == ({"card": MessageRef("C1", "1.1")}, {"text": "as it stands"})
    assert ledger.card.now("two", "card", of_incident=True) == card
    assert ledger.card.now("three", "card", of_incident=True).incidents == ()
