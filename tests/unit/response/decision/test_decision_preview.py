"""Why somebody may, or may not: the answer, then every guard, and nothing is changed by asking."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.house_events import HOUSE, BrakePulled
from tests.schedules.stage import POLICY, Stage
from tests.unit.response.requesting import do, incident


def explained(stage: Stage, by: str, verb: str, node: str = "n1") -> list[str]:
    return list(do(stage, stage.responder().explain(by, (), verb, node)))


@pytest.mark.parametrize(
    ("by", "verb", "first", "also"),
    [
        ("terminal:ann", "approve", "Yes: terminal:ann may approve on n1 now.", "yes: the brake is off"),
        ("terminal:ann", "reboot", "Yes: terminal:ann may reboot on n1 now.", "yes: the plan has it"),
        ("terminal:ann", "drain", "No: terminal:ann may not drain on n1 now.", "no, NothingProposed: The plan is"),
        ("terminal:eve", "approve", "No: terminal:eve may not approve on n1 now.", "no, NotAnApprover: "),
        ("terminal:asker", "cancel", "Yes: terminal:asker may cancel on n1 now.", "yes: they asked for it"),
        ("terminal:ann", "undo", "No: terminal:ann may not undo on n1 now.", "no, NothingToUndo: "),
        ("terminal:ann", "answer", "No: terminal:ann may not answer on n1 now.", "no, AlreadyDecided: "),
        ("terminal:eve", "brake", "No: terminal:eve may not brake now.", "no, NotAnApprover: "),
        ("terminal:ann", "dance", "There is no verb 'dance'.", "There are: approve, "),
    ],
)
def test_policy_is_explained_guard_by_guard_and_nothing_changes(
    stage: Stage, by: str, verb: str, first: str, also: str
) -> None:
    seq, house = incident(stage).seq, len(stage.ledger.read(HOUSE))
    told = explained(stage, by, verb)
    assert told[0] == first
    assert any(line.startswith(also) for line in told[1:]), told
    assert (incident(stage).seq, len(stage.ledger.read(HOUSE))) == (seq, house)


def test_every_guard_that_says_no_is_named(stage: Stage) -> None:
    stage.ledger.append(HOUSE, None, BrakePulled("a rollout"), "terminal:bob")
    stage.policy = replace(POLICY, quiet=((0, 1439),))
    told = explained(stage, "terminal:asker", "approve")
    named = {line.split(":")[0].removeprefix("no, ") for line in told if line.startswith("no, ")}
    assert named == {"NotAnApprover", "SelfApproval", "PlanChanged", "Braked", "QuietHours"}
