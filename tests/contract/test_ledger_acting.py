"""What crosses incidents is decided in the transaction that begins a step, on SQLite and on PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from bot.domain.action import Plan, Step
from bot.domain.claim import Claim
from bot.domain.entry import Append
from bot.domain.errors import (
    AlreadyTried,
    ApprovalExpired,
    Braked,
    BudgetSpent,
    Conflict,
    NodeBusy,
    QuietHours,
    Refused,
    StaleRequest,
)
from bot.domain.events import AlertReceived, Escalated, StepStarted, Triaged
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased, NodeReleased
from bot.domain.policy import Limits
from bot.ledger import Database, Ledger, audit
from tests.record.incidents import ALERT, ASKER, STEPS, VERDICT
from tests.record.keeping import approved

FIRST = StepStarted(1)


def claim(node: str, steps: tuple[Step, ...] = STEPS, labels: dict[str, str] | None = None, **limits: Any) -> Claim:
    plan = Plan(node, steps)
    return Claim(node, plan.remedy, "r1", Limits(**limits), labels or {}, cure=plan.cure)


def test_node_is_held_from_the_first_step_to_the_end(database: Database) -> None:
    ledger = Ledger(database)
    approved(ledger, "one", "node-1")
    approved(ledger, "two", "node-1", STEPS[1:])
    ledger.begin.now("one", 4, FIRST, "bot", claim("node-1", at_once=9))
    held = ledger.current_hold.now("node-1")
    assert held is not None
    assert (held.incident, held.step, held.runner) == ("one", 1, "r1")
    with pytest.raises(NodeBusy, match="one"):
        ledger.begin.now("two", 4, FIRST, "bot", claim("node-1", STEPS[1:], at_once=9))
    assert ledger.head.now("two").seq == 4, "nothing of it is on record"
    ledger.append.now("one", 5, Escalated("enough"), "bot")
    assert ledger.current_hold.now("node-1") is None
    with pytest.raises(AlreadyTried, match="one"):
        ledger.begin.now("two", 4, FIRST, "bot", claim("node-1", at_once=9))
    ledger.begin.now("two", 4, FIRST, "bot", claim("node-1", STEPS[1:], at_once=9))
    assert audit(database).broken == ()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # nothing of it is a dialect's own
@pytest.mark.parametrize(
    ("limits", "labels", "says"),
    [
        ({"at_once": 1}, {}, "1 nodes may be acted on at once"),
        ({"at_once": 9, "per_hour": 1}, {}, "in an hour"),
        ({"at_once": 9, "per_label": {"az": 1}}, {"az": "1a"}, "az = 1a"),
        ({"at_once": 9, "per_label": {"az": 1}}, {}, "without the label az"),
        ({"at_once": 9, "percent": 10, "nodes": 10}, {}, "1 nodes"),
        ({"at_once": 9, "percent": 50, "nodes": 0}, {}, "not known"),
    ],
)
def test_budget_that_is_spent_says_so(
    database: Database, limits: dict[str, Any], labels: dict[str, str], says: str
) -> None:
    ledger = Ledger(database)
    for name in ("one", "two"):
        approved(ledger, name, f"node-{name}")
    ledger.begin.now("one", 4, FIRST, "bot", claim("node-one", labels={"az": "1a"}, at_once=1))
    with pytest.raises(BudgetSpent, match=says):
        ledger.begin.now("two", 4, FIRST, "bot", claim("node-two", labels=labels, **limits))
    ledger.begin.now("two", 4, FIRST, "bot", claim("node-two", labels={"az": "1b"}, at_once=2, per_label={"az": 1}))


def test_brake_stops_what_has_not_begun_and_what_would_be_sent_again(database: Database) -> None:
    ledger = Ledger(database)
    for name in ("one", "two"):
        approved(ledger, name, f"node-{name}")
    assert ledger.brake_pull.now() is None
    ledger.begin.now("one", 4, FIRST, "bot", claim("node-one", at_once=2))
    ledger.append.now(HOUSE, None, BrakePulled("a rollout"), "terminal:ann")
    with pytest.raises(Braked, match="terminal:ann"):
        ledger.begin.now("two", 4, FIRST, "bot", claim("node-two", at_once=2))
    with pytest.raises(Braked, match="terminal:ann"):
        ledger.begin.now("one", 5, StepStarted(1, 2), "bot", claim("node-one", at_once=2))
    assert ledger.head.now("one").seq == 5, "nothing of it is on record"
    ledger.append.now(HOUSE, None, BrakeReleased("done"), "terminal:ann")
    ledger.begin.now("one", 5, StepStarted(1, 2), "bot", claim("node-one", at_once=2))
    ledger.begin.now("two", 4, FIRST, "bot", claim("node-two", at_once=2))


def test_nothing_begins_or_is_sent_again_in_quiet_hours_by_the_ledgers_clock(database: Database) -> None:
    now = datetime(2026, 11, 21, 21, 59, 59, tzinfo=UTC)
    ledger = Ledger(database, lambda: now)
    for name in ("one", "two"):
        approved(ledger, name, f"node-{name}")
    quiet = {name: replace(claim(f"node-{name}", at_once=2), quiet=((22 * 60, 6 * 60),)) for name in ("one", "two")}
    ledger.begin.now("one", 4, FIRST, "bot", quiet["one"])
    now += timedelta(seconds=1)
    with pytest.raises(QuietHours, match="before 06:00"):
        ledger.begin.now("two", 4, FIRST, "bot", quiet["two"])
    with pytest.raises(QuietHours):
        ledger.begin.now("one", 5, StepStarted(1, 2), "bot", quiet["one"])
    now += timedelta(hours=8)
    ledger.begin.now("two", 4, FIRST, "bot", quiet["two"])
    ledger.begin.now("one", 5, StepStarted(1, 2), "bot", quiet["one"])


def test_what_is_sent_again_needs_its_time_and_its_machine_and_no_budget_of_its_own(database: Database) -> None:
    ledger = Ledger(database)
    for name in ("one", "two"):
        approved(ledger, name, f"node-{name}")
        ledger.begin.now(name, 4, FIRST, "bot", claim(f"node-{name}", at_once=2))
    again, now = StepStarted(1, 2), datetime.now(UTC)
    over, alias = replace(claim("node-one"), until=now - timedelta(hours=1)), replace(claim("NODE-TWO"), runner="r2")
    with pytest.raises(ApprovalExpired):
        ledger.begin.now("one", 5, again, "bot", over)
    with pytest.raises(NodeBusy, match="two"):
        ledger.begin.now("one", 5, again, "bot", alias)
    ledger.begin.now("one", 5, again, "bot", claim("node-one", at_once=1, per_hour=1))


def test_release_is_compared_with_the_pull_in_the_very_append(database: Database) -> None:
    ledger = Ledger(database)
    first = ledger.append.now(HOUSE, None, BrakePulled("a rollout"), "terminal:ann")
    second = ledger.append.now(HOUSE, None, BrakePulled("a storm"), "terminal:bob")
    with pytest.raises(StaleRequest):
        ledger.append.now(HOUSE, None, BrakeReleased("done", first.seq), "terminal:ann")
    assert ledger.brake_pull.now() == second
    ledger.append.now(HOUSE, None, BrakeReleased("done", second.seq), "terminal:ann")
    with pytest.raises(StaleRequest):
        ledger.append.now(HOUSE, None, BrakeReleased("again", second.seq), "terminal:ann")
    assert ledger.brake_pull.now() is None
    assert ledger.head.now(HOUSE).seq == 3


def test_request_that_comes_twice_pulls_the_brake_once(database: Database) -> None:
    ledger = Ledger(database)
    first = ledger.append.now(HOUSE, None, BrakePulled("a rollout", "sent-1"), "slack:T1/U1")
    ledger.append.now(HOUSE, None, BrakeReleased("done", first.seq), "terminal:ann")
    assert ledger.append.now(HOUSE, None, BrakePulled("a rollout", "sent-1"), "slack:T1/U1") == first
    assert ledger.brake_pull.now() is None
    second = ledger.append.now(HOUSE, None, BrakePulled("a rollout", "sent-2"), "slack:T1/U1")
    third = ledger.append.now(HOUSE, None, BrakePulled("a storm"), "terminal:ann")
    assert ledger.append.now(HOUSE, None, BrakePulled("a storm"), "terminal:ann").seq > third.seq > second.seq
    assert [ledger.pull_for_request.now(request) for request in ("sent-1", "sent-2", "sent-3")] == [first, second, None]


def test_silence_is_measured_by_the_databases_clock(database: Database) -> None:
    ledger = Ledger(database)
    approved(ledger, "one", "node-1")
    ledger.begin.now("one", 4, FIRST, "bot", claim("node-1"))
    held = ledger.current_hold.now("node-1")
    assert held is not None
    assert held.silent_for < timedelta(seconds=10)
    ledger.beat.now("one", "r2")
    held = ledger.current_hold.now("node-1")
    assert held is not None
    assert held.runner == "r2"


@pytest.mark.slow
def test_one_slot_is_never_taken_twice_however_the_two_interleave(database: Database) -> None:
    names = count()
    with ThreadPoolExecutor(4) as threads:
        for turn in range(12):
            ledgers = [Ledger(database), Ledger(database)]
            incidents = [f"i{next(names)}" for _ in ledgers]
            for incident in incidents:
                approved(ledgers[0], incident, f"node-{incident}")

            def begin(ledger: Ledger, incident: str) -> bool:
                try:
                    ledger.begin.now(incident, 4, FIRST, "bot", claim(f"node-{incident}", at_once=1))
                except (Refused, Conflict):
                    return False
                return True

            # Each incident has two runners, too: two of four may write, and one of the two incidents may begin.
            begun = list(threads.map(begin, ledgers * 2, [incidents[0], incidents[1]] * 2))
            assert sum(begun) == 1, f"turn {turn}: {begun}"
            for incident, (first, again) in zip(incidents, zip(begun[:2], begun[2:], strict=True), strict=True):
                if first or again:
                    ledgers[0].append.now(incident, 5, Escalated("enough"), "bot")
    assert audit(database).broken == ()


def named(node: str, machine_id: str, cure: str = "", **limits: Any) -> Claim:
    return replace(claim(node, at_once=9, **limits), machine_id=machine_id, cure=cure)


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (named("node-2", "m1"), "under its other name node-1: both show the same machine-id"),
        (named("NODE-1", ""), "written node-1 there"),
        (named("NODE-1", "m2"), "written node-1 there"),
    ],
)
def test_one_machine_is_held_once_whatever_it_is_called(database: Database, second: Claim, says: str) -> None:
    ledger = Ledger(database)
    for incident, node in (("one", "node-1"), ("two", second.node), ("three", "node-3")):
        approved(ledger, incident, node)
    ledger.begin.now("one", 4, FIRST, "bot", named("node-1", "m1", "the cure"))
    with pytest.raises(NodeBusy, match=says):
        ledger.begin.now("two", 4, FIRST, "bot", second)
    held = ledger.current_hold.now(second.node, second.machine_id)
    assert held is not None
    assert held.incident == "one"
    assert ledger.current_hold.now("node-3", "m3") is None
    assert ledger.current_hold.now("node-3", "") is None, "nobody's machine-id is not that of another"
    ledger.begin.now("three", 4, FIRST, "bot", named("node-3", "m3"))
    ledger.append.now("one", 5, Escalated("enough"), "bot")
    with pytest.raises(AlreadyTried, match="one"):
        ledger.begin.now("two", 4, FIRST, "bot", replace(second, cure="the cure"))
    ledger.begin.now("two", 4, FIRST, "bot", replace(second, cure="another"))


def test_plan_counts_as_tried_under_every_name_of_the_machine(database: Database) -> None:
    ledger = Ledger(database)
    approved(ledger, "one", "node-1")
    plan, day = Plan("node-1", STEPS), timedelta(hours=24)
    ledger.begin.now("one", 4, FIRST, "bot", Claim("node-1", plan.remedy, "r1", machine_id="m1", cure=plan.cure))
    for node, machine_id in (("node-1", ""), ("node-1", "m9"), ("Node-1", ""), ("node-2", "m1")):
        assert ledger.last_try.now(replace(plan, node=node), machine_id, day) == "one", node
    for other in (replace(plan, node="node-2"), replace(plan, node="node-2", steps=STEPS[:1])):
        assert ledger.last_try.now(other, "m2", day) is None
    assert ledger.last_try.now(replace(plan, steps=STEPS[:1]), "m1", day) is None
    assert ledger.last_try.now(plan, "m1", timedelta(0)) is None


def test_share_of_the_nodes_counts_machines_and_not_their_names(database: Database) -> None:
    ledger = Ledger(database)
    for number, machine_id in enumerate(("m1", "m1", "m1", "m2")):
        opened(ledger, f"seen{number}", f"node-{number}", machine_id)
    assert ledger.machines.now() == {"m1": ("node-0", "node-1", "node-2")}
    assert ledger.proposal_record.now(Plan("node-3", ()), "m2", "", timedelta(hours=24)).names == ("node-3",)
    approved(ledger, "one", "node-1")
    with pytest.raises(BudgetSpent):
        ledger.begin.now("one", 4, FIRST, "bot", claim("node-1", at_once=9, percent=25, nodes=5))
    ledger.begin.now("one", 4, FIRST, "bot", claim("node-1", at_once=9, percent=25, nodes=6))
    opened(ledger, "again", "node-1", "m3")
    assert ledger.machines.now() == {"m1": ("node-0", "node-2")}, "it is another machine by now"


def opened(ledger: Ledger, incident: str, node: str, machine_id: str) -> None:
    ledger.append.now(incident, 0, AlertReceived(ALERT, node), ASKER)
    ledger.append.now(incident, 1, Triaged(replace(VERDICT, node=node, plan=None), machine_id=machine_id), "bot")


def test_released_node_is_free_for_others_and_its_incident_has_to_ask_again(database: Database) -> None:
    ledger = Ledger(database)
    approved(ledger, "one", "node-1")
    approved(ledger, "two", "node-1", STEPS[1:])
    ledger.begin.now("one", 4, FIRST, "bot", claim("node-1", at_once=9))
    held = ledger.current_hold.now("node-1")
    assert held is not None
    released = NodeReleased("node-1", "one", "it cannot be read", "the node is needed")
    ledger.beat.now("one", "r1")
    with pytest.raises(Conflict):
        ledger.release_node.now(replace(held, silent_for=timedelta(minutes=5)), released, "terminal:ann")
    with pytest.raises(Conflict):
        ledger.release_node.now(replace(held, incident="two"), released, "terminal:ann")
    end = Append("one", 5, (Escalated("released"),), "terminal:ann")
    with pytest.raises(Conflict):  # its runner is alive
        ledger.release_node.now(replace(held, silent_for=timedelta(minutes=5)), released, "terminal:ann", end)
    assert ledger.head.now("one").seq == 5
    assert ledger.release_node.now(replace(held, silent_for=timedelta(0)), released, "terminal:ann").stream == HOUSE
    assert ledger.current_hold.now("node-1") is None
    ledger.begin.now("two", 4, FIRST, "bot", claim("node-1", STEPS[1:], at_once=9))
    with pytest.raises(NodeBusy, match="two"):
        ledger.begin.now("one", 5, StepStarted(1, 2), "bot", claim("node-1", at_once=9))
    ledger.append.now("two", 5, Escalated("enough"), "bot")
    ledger.begin.now("one", 5, StepStarted(1, 2), "bot", claim("node-1", at_once=9))
    assert audit(database).broken == ()
