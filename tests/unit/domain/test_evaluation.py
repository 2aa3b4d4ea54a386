"""From findings to a verdict: when a remedy is none yet."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.action import Step
from bot.domain.cause import Cause, CauseResult, Tuning
from bot.domain.evaluation import evaluate_playbook
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.probe import Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided, Verdict

SURE, MAYBE = Confidence.CONFIRMED, Confidence.POSSIBLE
SEEN = Evidence("seen", "cpu", "it is seen", ("a line",))


def verdict(*results: CauseResult, unread: bool = False) -> Verdict:
    """Conclude from causes that say this, in the playbook's order."""

    def cause(result: CauseResult) -> Cause:
        def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
            return result

        return Cause(name=result.cause or "", title="", probes=("cpu",), thresholds={}, evaluate=evaluate)

    used = tuple(ConfiguredCause(cause(result), {}) for result in results)
    readings = {"cpu": Unread("cpu", "permission denied")} if unread else {}
    node = Snapshot("n1", datetime(2026, 11, 21, tzinfo=UTC), timedelta(seconds=5), readings)
    return evaluate_playbook(node, Playbook("p", "P", 1, (), (), used))


def found(name: str, status: Status = Status.CRITICAL, confidence: Confidence = SURE) -> Finding:
    return Finding(name, status, confidence, f"{name} is so", (SEEN,), remedy=(Step("reboot"),))


@pytest.mark.parametrize(("confidence", "planned"), [(SURE, True), (Confidence.LIKELY, True), (MAYBE, False)])
def test_what_is_only_possible_is_not_acted_on_and_never_critical(confidence: Confidence, planned: bool) -> None:
    concluded = verdict(found("late", confidence=confidence))
    assert bool(concluded.remedy) == planned
    assert (concluded.status is Status.CRITICAL) == planned


def test_reboot_waits_for_an_open_cause_that_may_explain_it_and_comes_before_it() -> None:
    left_open = Undecided("early", "it was not read")
    concluded = verdict(left_open, found("late"))
    assert (concluded.status, concluded.cause, concluded.remedy) == (Status.CRITICAL, "late", ())
    assert concluded.try_next == "No plan is offered before this is decided: early is open: it was not read."
    assert verdict(found("late"), left_open).remedy, "a symptom that is open explains no mechanism"
    assert verdict(RuledOut("early", "few"), found("late")).remedy
    mild = Undecided("early", "it was not read", worst=Status.DEGRADED)
    assert verdict(mild, found("late")).remedy, "what is at most degraded explains nothing critical"
    assert verdict(left_open, found("late", Status.DEGRADED)).remedy, "no reboot hangs on it"


def test_reboot_waits_for_an_earlier_cause_whose_harm_was_not_read() -> None:
    early = found("early", Status.DEGRADED)
    concluded = verdict(early, found("late"), unread=True)
    assert (concluded.cause, concluded.remedy) == ("late", ())
    assert "early is open: it is found, and how grave it is hangs on cpu, not read" in concluded.try_next
    assert verdict(early, found("late")).remedy, "read, and no harm seen"
    assert verdict(found("late"), found("later", Status.DEGRADED), unread=True).remedy
