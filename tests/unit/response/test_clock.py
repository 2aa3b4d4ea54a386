"""Clocks that are put back or forward: nothing lives longer for it, and whatever expires says so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.app.factories import SteadyClock
from bot.domain.events import Expired
from bot.domain.policy import Approval
from bot.response.decision.responder import Responder
from tests.schedules.stage import Stage
from tests.unit.response.requesting import allowed, approve, do, incident, refused, run

ANN = Approval("terminal:ann", "it leaks")
BEGAN_AT = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Hands:
    """A wall clock that somebody puts, and seconds that only grow."""

    def __init__(self) -> None:
        self.wall, self.seconds = BEGAN_AT, 100.0

    def pass_by(self, time: timedelta) -> None:
        self.wall += time
        self.seconds += time.total_seconds()

    @property
    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall, lambda: self.seconds)


def test_clock_that_is_put_back_goes_on_from_where_it_was() -> None:
    hands = Hands()
    clock = hands.clock
    hands.pass_by(timedelta(minutes=5))
    hands.wall -= HOUR
    assert clock() == BEGAN_AT + timedelta(minutes=5)
    hands.pass_by(timedelta(minutes=10))
    assert clock() == BEGAN_AT + timedelta(minutes=15)


def test_clock_that_is_put_forward_is_believed_and_put_right_again() -> None:
    hands = Hands()
    clock = hands.clock
    hands.wall += HOUR
    assert clock() == BEGAN_AT + HOUR
    hands.wall -= HOUR
    hands.pass_by(timedelta(seconds=1))
    assert clock() == BEGAN_AT + timedelta(seconds=1)


def steady(stage: Stage) -> Responder:
    """The responder as the program makes it, over a wall clock that the test puts."""
    world = stage.world
    clock = SteadyClock(world.clock, lambda: world.now.timestamp())
    return replace(stage.responder(), clock=clock)


def test_clock_put_back_makes_no_proposal_live_longer(stage: Stage) -> None:
    responder = steady(stage)
    stage.world.skew = -HOUR
    stage.world.now += stage.policy.approval_expires + timedelta(seconds=1)
    assert refused(stage, responder.decide("one", ANN)).name == "ApprovalExpired"
    assert incident(stage).state == "expired"


def test_clock_put_forward_expires_it_and_nothing_is_done(stage: Stage) -> None:
    stage.world.skew = HOUR
    assert refused(stage, stage.responder().decide("one", ANN)).name == "ApprovalExpired"
    assert stage.nodes["n1"].asked == 0


def test_clock_put_back_revives_nothing_that_has_expired(stage: Stage) -> None:
    stage.world.skew = HOUR
    do(stage, stage.responder().decide("one", ANN))
    stage.world.skew = -HOUR
    assert refused(stage, stage.responder().decide("one", ANN)).name == "ApprovalExpired"


def test_clock_put_forward_after_the_yes_ends_it_before_its_first_step(stage: Stage) -> None:
    allowed(stage, stage.responder().decide("one", ANN))
    stage.world.skew = HOUR
    assert isinstance(run(stage).ending, Expired)
    assert stage.nodes["n1"].enabled, "nothing was done"


def test_clock_that_goes_back_and_forth_between_the_steps_reboots_once(stage: Stage) -> None:
    approve(stage)
    remediation = stage.remediation()
    for turn in range(400):
        stage.world.skew = timedelta(seconds=(0, -7200, 10, -60)[turn % 4])
        again = do(stage, remediation.advance("one"))
        if again is None:
            break
        stage.world.now += max(timedelta(milliseconds=10), min(again.after, timedelta(seconds=5)))
    assert incident(stage).state == "resolved"
    assert list(stage.nodes["n1"].reboots.values()) == [1]
