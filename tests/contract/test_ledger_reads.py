"""What a decision depends on, and what a card is drawn from, come from the ledger as they stood at one moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection

from bot.domain.action import Plan
from bot.domain.claim import Claim, Doubts, ProposalRecord, no_doubts
from bot.domain.events import AlertReceived, StepStarted, Triaged
from bot.domain.house_events import HOUSE, BrakePulled
from bot.domain.policy import Policy
from bot.domain.post import MessageRef, Post
from bot.ledger import Database, Ledger, Outbox
from bot.ledger.entries import head_of
from tests.record.incidents import ALERT, ASKER, STEPS, VERDICT
from tests.record.keeping import approved

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
