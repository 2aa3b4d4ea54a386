"""What an undo that starts a unit again would stop: a protected unit refuses it, and everything else is approved."""

from __future__ import annotations

import pytest

from bot.domain.errors import Refused
from bot.domain.events import Cancelled
from tests.schedules.stage import Stage
from tests.unit.response.decision.test_undo_proposer import cured
from tests.unit.response.requesting import ANN, BOB, do, incident


@pytest.mark.parametrize("name", ["kubelet.service", "containerd.service"])
def test_undo_that_would_stop_a_protected_unit_is_not_offered(stage: Stage, name: str) -> None:
    """It was started in the place of what is to be brought back, and excludes it."""
    cured(stage)
    stage.nodes["n1"].excludes = name
    refused = do(stage, stage.responder().undo("one", ANN))
    assert isinstance(refused, Refused)
    assert (refused.name, name in refused.sentence) == ("WouldStopProtected", True)


@pytest.mark.parametrize(("then", "name"), [("c.service", "StateChanged"), ("kubelet.service", "WouldStopProtected")])
def test_what_an_undo_would_stop_is_part_of_what_is_approved(stage: Stage, then: str, name: str) -> None:
    cured(stage)
    stage.nodes["n1"].excludes = "b.service"
    opened = do(stage, stage.responder().undo("one", ANN))
    assert opened.proposal is not None
    assert opened.proposal.binds["also, step 1"] == "for ecs.service stops b.service"
    stage.nodes["n1"].excludes = then
    refused = do(stage, stage.responder().decide(opened.id, BOB))
    assert isinstance(refused, Refused)
    assert refused.name == name
    assert isinstance(incident(stage, opened.id).ending, Cancelled)
    assert not stage.nodes["n1"].active
