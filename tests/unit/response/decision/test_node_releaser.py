"""A node is freed only from an incident that cannot go on, by whoever may approve, and that is on record."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.actions import ACTIONS
from bot.domain.alert import BOT
from bot.domain.entry import Entry
from bot.domain.errors import LedgerUnavailable, Refused
from bot.domain.events import Escalated, QuestionAsked
from bot.domain.house_events import HOUSE, NodeReleased
from bot.domain.policy import Approval
from bot.domain.transitions import State
from bot.ledger.entries import append_entry
from bot.response.decision.node_releaser import SILENT, NodeReleaser
from tests.known import known_as
from tests.schedules.stage import Stage
from tests.unit.response.requesting import approve, begin, do, incident, refusals

ANN = Approval("terminal:ann", "the node is needed", os_user="carol")


@pytest.fixture
def held(stage: Stage) -> Stage:
    """The incident has begun its first step, and its runner died a while ago."""
    approve(stage)
    begin(stage)
    stage.world.now += SILENT
    return stage


def release(stage: Stage, approval: Approval = ANN, node: str = "n1", actions: Any = ACTIONS) -> Any:
    return do(stage, NodeReleaser(stage.policy, stage.recorder, actions).release(node, approval))


def on_record(stage: Stage) -> list[object]:
    return [entry.event for entry in stage.ledger.read.now(HOUSE) if entry.kind == "NodeReleased"]


def of_a_newer_form(stage: Stage) -> None:
    """Leave an entry that this program cannot read, as a newer one would have."""
    with stage.ledger.database.writing() as connection:
        connection.exec_driver_sql(
            """INSERT INTO entries SELECT stream, 6, "at", "by", 'StepPaused', '{"form":1}', hash FROM entries
            WHERE stream = 'one' AND seq = 5"""
        )


def test_node_is_freed_of_a_runner_whose_last_sign_of_life_is_of_a_time_that_comes_yet(held: Stage) -> None:
    """The clock was hours ahead when it wrote that, and is right by now."""
    of_a_newer_form(held)
    held.world.now -= timedelta(hours=5)
    assert isinstance(release(held), NodeReleased)
    assert held.ledger.current_hold.now("n1") is None


@pytest.mark.parametrize(
    ("approval", "node", "name"),
    [
        (Approval("terminal:eve", "why not"), "n1", "NotAnApprover"),
        (Approval("terminal:ann", " "), "n1", "ReasonMissing"),
        (ANN, "n2", "NothingToRelease"),
        (ANN, "n1", "NodeBusy"),
    ],
)
def test_incident_that_can_go_on_and_whoever_may_not_are_refused_by_name(
    held: Stage, approval: Approval, node: str, name: str
) -> None:
    no = known_as(release(held, approval, node), Refused)
    assert (no.name, refusals(held)) == (name, [("release", name)])
    assert held.ledger.current_hold.now("n1") is not None
    if name == "NodeBusy":
        assert "it is acting" in no.sentence
        assert "zombie remediate one" in no.try_next


def test_parked_incident_is_handed_to_a_person_and_its_node_is_free(held: Stage) -> None:
    held.ledger.append.now("one", 5, QuestionAsked("Is it back?"), BOT)
    held.ledger.beat.now("one", "r2")  # whoever serves asks, and waits: nobody acts
    done = release(held, node="N1")
    assert done == NodeReleased("n1", "one", "it waits for an answer", ANN.reason, "carol")
    ended = incident(held)
    assert (ended.state, isinstance(ended.ending, Escalated)) == (State.ESCALATED, True)
    assert "terminal:ann released n1, for it waits for an answer: the node is needed" in ended.ending.because  # type: ignore[union-attr]
    assert held.ledger.current_hold.now("n1") is None
    assert on_record(held) == [done]


def test_incident_ends_with_the_release_on_record_or_not_at_all(held: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    held.ledger.append.now("one", 5, QuestionAsked("Is it back?"), BOT)

    def full(connection: Any, stream: str, seq: int | None, event: object, *rest: str) -> Entry:
        if isinstance(event, NodeReleased):
            raise LedgerUnavailable("The disk is full.")
        return append_entry(connection, stream, seq, event, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("bot.ledger.ledger.append_entry", full)
    with pytest.raises(LedgerUnavailable):
        release(held)
    assert incident(held).state is State.UNKNOWN
    assert held.ledger.current_hold.now("n1") is not None


def test_incident_of_a_newer_program_is_left_as_it_is_and_its_node_is_free(held: Stage) -> None:
    of_a_newer_form(held)
    held.ledger.beat.now("one", "newer")
    busy = known_as(release(held), Refused)
    assert (busy.name, "newer works on incident one" in busy.sentence) == ("NodeBusy", True)
    held.world.now += SILENT
    done = known_as(release(held), NodeReleased)
    assert "cannot read its record" in done.because
    assert (held.ledger.head.now("one").seq, held.ledger.current_hold.now("n1")) == (6, None)
    assert on_record(held) == [done]
    assert isinstance(release(held), Refused), "it is free already"


def test_plan_that_only_a_newer_program_knows_is_ended(held: Stage) -> None:
    done = known_as(release(held, actions={}), NodeReleased)
    assert "does not know “disable_unit”" in done.because
    assert incident(held).state is State.ESCALATED
    assert held.ledger.current_hold.now("n1") is None
