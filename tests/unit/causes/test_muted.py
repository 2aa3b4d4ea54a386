"""Whole nodes on which a cause is muted: it steps back, and never hides what is as grave or was not read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.evaluation import evaluate_playbook
from bot.domain.mute import Mute
from bot.domain.node import Node
from bot.domain.verdict import Status, Verdict
from bot.response.diagnosis.planning import DrainSettings, with_plan
from tests.unit.causes import builders as b
from tests.unit.causes.test_verdicts import BACKUP, DYING, HIDDEN, LIBRARY, RESETS, TABLE, WALKED

UNTIL = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
BOOK = LIBRARY.get("node-health")
LEAK = (*HIDDEN, *WALKED, RESETS)  # critical, with a plan
NODE = Node("node-1", "10.0.0.7")


def mute(cause: str) -> Mute:
    return Mute(cause, "*", UNTIL, "known", "terminal:ann")


def judged(*readings: Any, muted: tuple[str, ...] = ()) -> Verdict:
    snapshot = b.node(TABLE, *readings)
    return with_plan(
        evaluate_playbook(snapshot, BOOK, [mute(cause) for cause in muted]), BOOK, ACTIONS, NODE, DrainSettings()
    )


def test_muted_cause_alone_names_the_verdict_as_muted_and_has_no_plan() -> None:
    before, now = judged(*LEAK), judged(*LEAK, muted=("leaked-memory-cgroups",))
    assert before.plan is not None
    assert before.muted == ()
    assert (now.status, now.cause, now.confidence) == (before.status, before.cause, before.confidence)
    assert now.is_muted
    assert now.muted == (mute("leaked-memory-cgroups"),)
    assert (now.plan, now.remedy) == (None, ())
    assert now.evidence == before.evidence


@pytest.mark.parametrize(
    ("muted", "named", "is_muted"),
    [
        ((), "crash-looping-unit", False),
        (("crash-looping-unit",), "failed-units", False),  # as grave, and news
        (("failed-units",), "crash-looping-unit", False),
        (("crash-looping-unit", "failed-units"), "crash-looping-unit", True),
    ],
)
def test_muted_cause_steps_behind_another_that_is_as_grave(muted: tuple[str, ...], named: str, is_muted: bool) -> None:
    failing = b.units(b.between_tries(), failed_units=BACKUP.failed_units)
    verdict = judged(failing, muted=muted)
    assert (verdict.status, verdict.cause, verdict.is_muted) == (Status.DEGRADED, named, is_muted)
    assert {found.cause for found in verdict.muted} == set(muted)


def test_no_plan_is_offered_for_what_a_muted_cause_may_explain() -> None:
    leaking = (DYING, b.units(b.between_tries()))
    assert judged(*leaking).cause == "leaked-memory-cgroups"
    verdict = judged(*leaking, muted=("leaked-memory-cgroups",))
    assert (verdict.cause, verdict.is_muted, verdict.plan) == ("crash-looping-unit", False, None)
    assert verdict.try_next == "No plan is offered: leaked-memory-cgroups may explain this, and is muted."
    lesser = judged(*leaking, muted=("failed-units",))
    assert lesser.plan is not None


def test_graver_cause_names_the_verdict_whatever_lesser_one_is_muted() -> None:
    verdict = judged(*LEAK, BACKUP, muted=("failed-units",))
    assert (verdict.status, verdict.cause, verdict.is_muted) == (Status.CRITICAL, "leaked-memory-cgroups", False)


def test_muted_cause_that_is_graver_than_all_others_still_names_the_verdict_and_hides_none_of_them() -> None:
    verdict = judged(*LEAK, BACKUP, muted=("leaked-memory-cgroups",))
    assert (verdict.status, verdict.cause, verdict.is_muted) == (Status.CRITICAL, "leaked-memory-cgroups", True)
    assert verdict.evidence == judged(*LEAK, BACKUP).evidence


def test_muted_cause_settles_nothing_that_was_not_read() -> None:
    unread = (*HIDDEN, *WALKED, b.unread("kernel_log"))
    assert judged(*unread).status is Status.CRITICAL
    verdict = judged(*unread, muted=("leaked-memory-cgroups",))
    assert verdict.status is Status.UNKNOWN
    assert verdict.summary.startswith("Cannot tell: ")
    assert not verdict.is_muted
    assert [found.cause for found in verdict.muted] == ["leaked-memory-cgroups"]


def test_muting_what_was_not_found_changes_nothing() -> None:
    assert judged(*LEAK, muted=("gpu-fault", "no-such-cause")) == judged(*LEAK)
