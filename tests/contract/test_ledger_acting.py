"""What crosses incidents is decided in the transaction that begins a step, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from bot.domain.action import Plan, Step
from bot.domain.claim import Claim, Limits
from bot.domain.errors import AlreadyTried, Braked, BudgetSpent, Conflict, NodeBusy, Refused
from bot.domain.events import AlertReceived, Approved, Escalated, PlanProposed, StepStarted, Triaged
from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.ledger import Database, Ledger, audit
from tests.record.incidents import ALERT, APPROVER, ASKER, STEPS, VERDICT

FIRST = StepStarted(1)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with Database.open(database_url) as opened:
        yield opened


def approved(ledger: Ledger, incident: str, node: str, steps: tuple[Step, ...] = STEPS) -> int:
    """Put an approved incident on record and return its length."""
    plan = Plan(node, steps)
    proposal = PlanProposed.of(plan, {})
    ledger.append(incident, 0, AlertReceived(ALERT, node), ASKER)
    ledger.append(incident, 1, Triaged(replace(VERDICT, node=node, plan=plan)), "bot")
    ledger.append(incident, 2, proposal, "bot")
    return ledger.append(incident, 3, Approved(proposal.digest, "it leaks"), APPROVER).seq


def claim(node: str, remedy: str = "", labels: dict[str, str] | None = None, **limits: Any) -> Claim:
    return Claim(node, remedy or Plan(node, STEPS).remedy, "r1", Limits(**limits), labels or {})


def test_node_is_held_from_the_first_step_to_the_end(database: Database) -> None:
    ledger = Ledger(database)
    other = Plan("node-1", STEPS[1:])
    approved(ledger, "one", "node-1")
    approved(ledger, "two", "node-1", other.steps)
    ledger.begin("one", 4, FIRST, "bot", claim("node-1", at_once=9))
    held = ledger.hold("node-1")
    assert held is not None
    assert (held.incident, held.step, held.runner) == ("one", 1, "r1")
    with pytest.raises(NodeBusy, match="one"):
        ledger.begin("two", 4, FIRST, "bot", claim("node-1", other.remedy, at_once=9))
    assert ledger.head("two").seq == 4, "nothing of it is on record"
    ledger.append("one", 5, Escalated("enough"), "bot")
    assert ledger.hold("node-1") is None
    with pytest.raises(AlreadyTried, match="one"):
        ledger.begin("two", 4, FIRST, "bot", claim("node-1", at_once=9))
    ledger.begin("two", 4, FIRST, "bot", claim("node-1", other.remedy, at_once=9))
    assert audit(database).broken == ()


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
    ledger.begin("one", 4, FIRST, "bot", claim("node-one", labels={"az": "1a"}, at_once=1))
    with pytest.raises(BudgetSpent, match=says):
        ledger.begin("two", 4, FIRST, "bot", claim("node-two", labels=labels, **limits))
    ledger.begin("two", 4, FIRST, "bot", claim("node-two", labels={"az": "1b"}, at_once=2, per_label={"az": 1}))


def test_brake_stops_what_has_not_begun_and_lets_what_has_begun_end(database: Database) -> None:
    ledger = Ledger(database)
    for name in ("one", "two"):
        approved(ledger, name, f"node-{name}")
    assert ledger.braked() is None
    ledger.begin("one", 4, FIRST, "bot", claim("node-one", at_once=2))
    ledger.append(HOUSE, None, BrakePulled("a rollout"), "terminal:ann")
    with pytest.raises(Braked, match="terminal:ann"):
        ledger.begin("two", 4, FIRST, "bot", claim("node-two", at_once=2))
    ledger.begin("one", 5, StepStarted(1, 2), "bot", claim("node-one", at_once=2))
    ledger.append(HOUSE, None, BrakeReleased("done"), "terminal:ann")
    ledger.begin("two", 4, FIRST, "bot", claim("node-two", at_once=2))


def test_silence_is_measured_by_the_databases_clock(database: Database) -> None:
    ledger = Ledger(database)
    approved(ledger, "one", "node-1")
    ledger.begin("one", 4, FIRST, "bot", claim("node-1"))
    held = ledger.hold("node-1")
    assert held is not None
    assert held.silent_for < timedelta(seconds=10)
    ledger.beat("one", "r2")
    held = ledger.hold("node-1")
    assert held is not None
    assert held.runner == "r2"


@pytest.mark.slow
def test_one_slot_is_never_taken_twice_however_the_two_interleave(database: Database) -> None:
    names = count()
    with ThreadPoolExecutor(4) as threads:
        for turn in range(60):
            ledgers = [Ledger(database), Ledger(database)]
            incidents = [f"i{next(names)}" for _ in ledgers]
            for incident in incidents:
                approved(ledgers[0], incident, f"node-{incident}")

            def begin(ledger: Ledger, incident: str) -> bool:
                try:
                    ledger.begin(incident, 4, FIRST, "bot", claim(f"node-{incident}", at_once=1))
                except (Refused, Conflict):
                    return False
                return True

            # Each incident has two runners, too: two of four may write, and one of the two incidents may begin.
            begun = list(threads.map(begin, ledgers * 2, [incidents[0], incidents[1]] * 2))
            assert sum(begun) == 1, f"turn {turn}: {begun}"
            for incident, (first, again) in zip(incidents, zip(begun[:2], begun[2:], strict=True), strict=True):
                if first or again:
                    ledgers[0].append(incident, 5, Escalated("enough"), "bot")
    assert audit(database).broken == ()
