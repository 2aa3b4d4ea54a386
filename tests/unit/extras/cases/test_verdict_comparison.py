"""Two playbooks that differ in one thing are evaluated apart by it, and it is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from bot.actions import ACTIONS
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.node import Node
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.probe import Probe, Snapshot, Unread
from bot.domain.verdict import Confidence, Finding, RuledOut, Status
from bot.extras.cases.backtest_table import BacktestTable
from bot.extras.cases.verdict_comparison import Cell, Comparison, Pair, comparison_of
from bot.extras.cases.what_if import Judge
from bot.response.diagnosis.planning import DrainSettings
from bot.view.plan_words import PlanWords


@dataclass(frozen=True, slots=True)
class Units:
    probe: ClassVar[str] = "boot"

    names: tuple[str, ...]


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    reading = snapshot.get(Units)
    left = () if isinstance(reading, Unread) else tuple(name for name in reading.names if name not in tuning.allow)
    if len(left) < tuning["many"]:
        return RuledOut("unlisted", "all are listed")
    return Finding("unlisted", Status.DEGRADED, Confidence.CONFIRMED, f"{', '.join(left)} is not listed", ())


CAUSE = Cause("unlisted", "a unit", ("boot",), ("many",), evaluate, takes_allow=True)
PROBES = (Probe("boot", "", (), lambda outputs: outputs),)


def playbook(many: float, allow: tuple[str, ...]) -> Playbook:
    return Playbook("p", "", 1, PROBES, (), (ConfiguredCause(CAUSE, {"many": Threshold(many, "")}, allow=allow),))


def compared(before: Playbook, after: Playbook, snapshot: Snapshot) -> Comparison:
    verdicts = (Judge(each, ACTIONS, Node("n", "n"), DrainSettings()).verdict(snapshot) for each in (before, after))
    return comparison_of(Pair(before, after), *verdicts)


def test_threshold_and_list_of_what_may_pass_are_evaluated_apart() -> None:
    snapshot = Snapshot("n", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), {"boot": Units(("a", "b"))})
    before, after = playbook(1, ("a", "b")), playbook(1, ("a",))
    told = compared(before, after, snapshot)
    assert (told.before.status, told.after.status) == (Status.HEALTHY, Status.DEGRADED)
    assert told.turned[0].changed == {"allow": ("a, b", "a")}
    fewer = replace(after, causes=playbook(2, ("a",)).causes)
    assert not compared(before, fewer, snapshot).flips
    assert compared(after, fewer, snapshot).turned[0].changed == {"many": ("1", "2")}


def test_words_of_an_outcome_are_searched_for_secrets_before_they_are_cut() -> None:
    token = "glpat-" + "abcdefghij0123456789"
    for filled in range(140, 200):
        name = "u" * filled + " " + token
        snapshot = Snapshot("n", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), {"boot": Units((name,))})
        told = compared(playbook(1, (name,)), playbook(1, ()), snapshot)
        table = BacktestTable((Cell("c", "n", "p", "p", told),), PlanWords(ACTIONS))
        assert "glpat-a" not in str(table.body())
