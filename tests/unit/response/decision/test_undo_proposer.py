"""Taking back what an incident did: a plan of its own, offered only while it makes sense, and on record whole."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.alert import Alert
from bot.domain.errors import LedgerUnavailable, Refused
from bot.domain.events import AlertReceived, Cancelled, Escalated, Resolved
from bot.domain.house_events import HOUSE
from bot.domain.incident import Incident
from bot.ledger import Pruner, audit
from bot.ledger.incidents import mark_changed
from tests.known import known, known_as
from tests.schedules.stage import POLICY, Stage
from tests.unit.response.requesting import ANN, BOB, STRANGER, allowed, approve, do, incident, refusals, refused, run


def cured(stage: Stage) -> Incident:
    approve(stage)
    done = run(stage)
    assert done.state == "resolved"
    return done


def test_undo_is_a_plan_of_its_own_that_a_second_person_approves(stage: Stage) -> None:
    cured(stage)
    opened = allowed(stage, stage.responder().undo("one", ANN))
    assert (opened.state, opened.undoes, opened.alert.asked_by) == ("proposed", "one", "terminal:ann")
    (step,) = known(opened.proposal).plan.steps
    assert step.commands == ("sudo -n systemctl enable -- ecs.service", "sudo -n systemctl start -- ecs.service")
    assert "Not undone: reboot" in known(opened.verdict).summary
    assert refused(stage, stage.responder().decide(opened.id, ANN)).name == "SelfApproval"
    assert isinstance(do(stage, stage.responder().decide(opened.id, BOB)), Incident)
    done = run(stage, opened.id)
    assert "as it was before" in known_as(done.ending, Resolved).summary
    node = stage.nodes["n1"]
    assert (node.enabled, node.active, sum(node.reboots.values())) == (True, True, 1)


@pytest.mark.parametrize("since", ["as left", "enabled again"])
def test_step_that_failed_half_way_is_undone_while_the_node_is_as_it_left_it(stage: Stage, since: str) -> None:
    node = stage.nodes["n1"]
    node.hangs = True
    approve(stage)
    assert run(stage).state == "escalated"
    assert (node.enabled, node.active) == (False, True), "its stop does not end"
    node.enabled = since != "as left"
    opened = do(stage, stage.responder().undo("one", ANN))
    assert isinstance(opened, Incident if since == "as left" else Refused), opened


def test_undo_that_was_asked_for_twice_is_one(stage: Stage) -> None:
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    no = refused(stage, stage.responder().undo("one", BOB))
    assert (no.name, opened.id in no.sentence) == ("AlreadyDecided", True)
    do(stage, stage.responder().decline(opened.id, BOB))
    again = allowed(stage, stage.responder().undo("one", BOB))
    assert again.id != opened.id, "what was declined may be wished for once more"


def test_what_was_taken_back_today_is_not_taken_back_again(stage: Stage) -> None:
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    do(stage, stage.responder().decide(opened.id, BOB))
    assert run(stage, opened.id).state == "resolved"
    stage.nodes["n1"].enabled = stage.nodes["n1"].active = False  # somebody stopped it once more
    assert refused(stage, stage.responder().undo("one", ANN)).name == "AlreadyTried"


def test_what_was_taken_back_is_not_said_not_to_have_lasted(stage: Stage) -> None:
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    for name, says in (("two", "It did not last"), ("three", f"Incident {opened.id} has undone it since.")):
        if name == "three":
            do(stage, stage.responder().decide(opened.id, BOB))
            assert run(stage, opened.id).state == "resolved"
        stage.nodes["n1"].enabled = stage.nodes["n1"].active = True
        stage.propose(name, "n1")
        do(stage, stage.responder().decide(name, ANN))
        assert isinstance(ending := incident(stage, name).ending, Escalated)
        assert ending.try_next.startswith(says)
        stage.nodes["n1"].enabled = stage.nodes["n1"].active = False  # as it was left


def test_undo_is_on_record_with_its_proposal_or_not_at_all(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    cured(stage)
    before, changed = stage.ledger.head.now(HOUSE), iter((mark_changed,))
    monkeypatch.setattr("bot.ledger.ledger.mark_changed", lambda *known: next(changed, dies)(*known))
    with pytest.raises(LedgerUnavailable):
        do(stage, stage.responder().undo("one", ANN))
    assert [found.id for found in stage.ledger.incidents.now()] == ["one"]
    assert stage.ledger.head.now(HOUSE) == before


def dies(*_: object) -> None:
    raise LedgerUnavailable("The disk is full.")


def half_proposed(stage: Stage) -> Incident:
    """An undo of an older program, which died after its first entry."""
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    first = stage.ledger.read.now(opened.id)[0].event
    do(stage, stage.responder().decline(opened.id, BOB))
    name = hashlib.sha256(b"undo\none\n2").hexdigest()[:12]
    stage.ledger.append.now(name, 0, first, "terminal:ann")
    return incident(stage, name)


def test_undo_that_died_on_the_way_is_gone_on_with(stage: Stage) -> None:
    half = half_proposed(stage)
    opened = allowed(stage, stage.responder().undo("one", BOB))
    assert (opened.id, opened.state, opened.alert.asked_by) == (half.id, "proposed", "terminal:ann")


def test_undo_that_nobody_goes_on_with_is_called_off(stage: Stage) -> None:
    assert isinstance(run(stage, half_proposed(stage).id).ending, Cancelled)


def enabled_again(stage: Stage) -> None:
    stage.nodes["n1"].enabled = stage.nodes["n1"].active = True


def forgotten(stage: Stage) -> None:
    stage.policy = replace(POLICY, units=frozenset())


def without_rights(stage: Stage) -> None:
    stage.nodes["n1"].may = False


def away(stage: Stage) -> None:
    stage.nodes["n1"].down_until = stage.world.now + timedelta(hours=1)


def another(stage: Stage) -> None:
    stage.nodes["n1"].ending = "other-machine"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (enabled_again, "StateChanged"),
        (forgotten, "ProtectedUnit"),
        (without_rights, "MissingRight"),
        (away, "CannotTell"),
        (another, "StateChanged"),
    ],
)
def test_undo_is_offered_only_while_it_makes_sense(stage: Stage, change: Any, name: str) -> None:
    cured(stage)
    change(stage)
    no = refused(stage, stage.responder().undo("one", ANN))
    assert no.name == name
    assert refusals(stage) == [("undo", name)]
    assert [one.id for one in stage.ledger.incidents.now()] == ["one"], "nothing was opened"


def test_undo_of_what_did_nothing_is_refused(stage: Stage) -> None:
    assert refused(stage, stage.responder().undo("one", ANN)).name == "NothingToUndo"


def test_unit_that_moved_between_undo_and_yes_calls_it_off(stage: Stage) -> None:
    cured(stage)
    opened = do(stage, stage.responder().undo("one", ANN))
    enabled_again(stage)
    assert refused(stage, stage.responder().decide(opened.id, BOB)).name == "StateChanged"
    assert isinstance(incident(stage, opened.id).ending, Cancelled)


def test_record_of_all_this_is_whole(stage: Stage) -> None:
    cured(stage)
    do(stage, stage.responder().undo("one", ANN))
    do(stage, stage.responder().undo("one", STRANGER))
    assert audit(stage.ledger.database).broken == ()


def test_undo_is_named_once_also_where_the_record_forgot_an_earlier_one(stage: Stage) -> None:
    """Its incident stays on record beside a node of the same alert that is open."""
    done = cured(stage)
    first = do(stage, stage.responder().undo("one", ANN))
    do(stage, stage.responder().decline(first.id, BOB))
    database, stage.world.now = stage.ledger.database, stage.world.now + timedelta(days=30)
    stage.ledger.append.now("beside", 0, AlertReceived(Alert("pagerduty", "Q1", ""), "n2", done.group), "bot")
    assert Pruner(database, "bot", lambda: stage.world.now).prune_incidents(timedelta(days=2)).incidents == 0, (
        "what it undoes is on record"
    )
    again = allowed(stage, stage.responder().undo("one", BOB))
    assert again.id != first.id
    assert audit(database).broken == ()


# --- what it would stop


@pytest.mark.parametrize("name", ["kubelet.service", "containerd.service"])
def test_undo_that_would_stop_a_protected_unit_is_not_offered(stage: Stage, name: str) -> None:
    """It was started in the place of what is to be brought back, and excludes it."""
    cured(stage)
    stage.nodes["n1"].excludes = name
    no = refused(stage, stage.responder().undo("one", ANN))
    assert (no.name, name in no.sentence) == ("WouldStopProtected", True)


@pytest.mark.parametrize(("then", "name"), [("c.service", "StateChanged"), ("kubelet.service", "WouldStopProtected")])
def test_what_an_undo_would_stop_is_part_of_what_is_approved(stage: Stage, then: str, name: str) -> None:
    cured(stage)
    stage.nodes["n1"].excludes = "b.service"
    opened = do(stage, stage.responder().undo("one", ANN))
    assert known(opened.proposal).binds["also, step 1"] == "for ecs.service stops b.service"
    stage.nodes["n1"].excludes = then
    no = refused(stage, stage.responder().decide(opened.id, BOB))
    assert no.name == name
    assert isinstance(incident(stage, opened.id).ending, Cancelled)
    assert not stage.nodes["n1"].active
