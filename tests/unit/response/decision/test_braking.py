"""Who moves the brake, and that a release is about the pull that is on."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.schedules.stage import Stage
from tests.unit.response.requesting import ANN, BOB, STRANGER, do, pull, refusals, refused


def test_approver_pulls_and_releases_the_brake(stage: Stage) -> None:
    pulled = do(stage, stage.responder().brake(True, ANN))
    assert (pulled.by, pulled.body["reason"]) == ("terminal:ann", "it leaks")
    assert do(stage, stage.responder().brake(False, BOB)) is None


@pytest.mark.parametrize("on", [True, False])
def test_nobody_else_moves_it(stage: Stage, on: bool) -> None:
    if not on:
        pull(stage)
    assert refused(stage, stage.responder().brake(on, STRANGER)).name == "NotAnApprover"
    assert refusals(stage) == [("brake on" if on else "brake off", "NotAnApprover")]
    assert (stage.ledger.brake_pull.now() is None) is on


def test_release_that_was_meant_for_an_earlier_pull_does_nothing_and_says_so(stage: Stage) -> None:
    first = do(stage, stage.responder().brake(True, ANN))
    do(stage, stage.responder().brake(False, BOB, pull=first.seq))
    second = do(stage, stage.responder().brake(True, ANN))
    no = refused(stage, stage.responder().brake(False, BOB, pull=first.seq))
    assert no.name == "StaleRequest"
    assert f"Pull #{second.seq} is on" in no.sentence
    assert stage.ledger.brake_pull.now() == second
    assert refusals(stage) == [("brake off", "StaleRequest")]
    assert do(stage, stage.responder().brake(False, BOB, pull=second.seq)) is None


@pytest.mark.parametrize(("after", "says"), [(-0.001, "before it"), (0.0, "right after it"), (59.9, "right after it")])
def test_release_from_before_the_pull_or_so_near_that_clocks_cannot_tell_does_nothing(
    stage: Stage, after: float, says: str
) -> None:
    pulled = do(stage, stage.responder().brake(True, ANN))
    early = stage.responder().brake(False, BOB, asked_at=pulled.at + timedelta(seconds=after))
    no = refused(stage, early)
    assert no.name == "StaleRequest"
    assert f"{says} was pulled" in no.sentence
    assert no.try_next == f"To release that pull: /zombie brake off #{pulled.seq}"
    later = stage.responder().brake(False, BOB, asked_at=pulled.at + timedelta(minutes=1))
    assert do(stage, later) is None


def test_whoever_may_be_in_a_group_that_cannot_be_asked_pulls_and_does_not_release(stage: Stage) -> None:
    pulled = do(stage, stage.responder().brake(True, STRANGER, anybody=True))
    assert pulled.by == STRANGER.by
    assert refused(stage, stage.responder().brake(False, STRANGER, anybody=True)).name == "NotAnApprover"
