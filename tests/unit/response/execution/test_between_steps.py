"""What changes between two steps, or before a step is sent again: only what was approved is done, in its own boot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.action import KEEPS, EndedItem, Plan, PlanImpact, Step
from bot.domain.events import (
    Cancelled,
    Escalated,
    Expired,
    StepFailed,
    StepSkipped,
)
from bot.domain.fence import parse_fenced
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.probe import Unread
from bot.response.decision.preflight import added_side_effects
from bot.response.execution.node_access import NodeStatus
from bot.response.execution.remediation import Remediation
from tests.known import known, known_as
from tests.schedules.parts import KEY
from tests.schedules.stage import Stage
from tests.unit.response.execution.test_cut_connections import DISABLE, Cut, approved
from tests.unit.response.execution.test_fenced import Lines, lines
from tests.unit.response.requesting import approve, carried_on, do, incident, kinds, pull, release, to_the_end

OFF = Step("disable_unit", {"unit": "ecs.service"}, ("sudo -n systemctl disable --now -- ecs.service",))
BACK = Step("restore_unit", {"unit": "ecs.service", "verbs": "enable"}, ("sudo -n systemctl enable -- ecs.service",))
MASK = Step("mask_unit", {"unit": "ecs.service"}, ("sudo -n systemctl mask --now -- ecs.service",))


def proposed(stage: Stage, *steps: Step, ends: PlanImpact | None = None) -> Lines:
    """Another plan for the node, approved."""
    wire = lines(stage)
    stage.propose("two", "n1", plan=Plan("n1", steps, "Take the agent out of the image.", ends=ends))
    approve(stage, "two")
    return wire


def after_the_first(stage: Stage) -> Incident:
    """Carry it on until its first step is proved, and return it."""
    assert any(kinds(stage, "two")[-1] == "StepVerified" for _ in carried_on(stage, "two")), "its first step never ends"
    return incident(stage, "two")


def test_step_that_follows_is_not_taken_in_a_boot_that_nobody_approved(stage: Stage) -> None:
    wire, node = proposed(stage, OFF, BACK), stage.nodes["n1"]
    after_the_first(stage)
    node.reboot(by_us=False)
    done = to_the_end(stage, "two")
    assert "was rebooted" in known_as(done.steps[1].outcome, StepSkipped).because
    assert not node.enabled
    assert len(wire.lines) == 1


@pytest.mark.parametrize(("name", "told"), [("b.service", "now stop something else"), ("ssh.service", "WouldStopP")])
def test_step_that_follows_and_would_stop_more_by_now_is_not_taken(stage: Stage, name: str, told: str) -> None:
    wire = proposed(stage, OFF, MASK)
    after_the_first(stage)
    stage.nodes["n1"].consists_of = name
    done = to_the_end(stage, "two")
    assert isinstance(done.ending, Escalated)
    assert told in done.ending.because
    assert name in done.ending.because
    assert len(wire.lines) == 1


def test_step_that_somebody_undid_is_followed_by_none(stage: Stage) -> None:
    wire, node = proposed(stage, OFF, MASK), stage.nodes["n1"]
    after_the_first(stage)
    node.enabled = node.active = True
    ending = known_as(to_the_end(stage, "two").ending, Escalated)
    assert ending.because == "Disable ecs.service: that is undone again."
    assert len(wire.lines) == 1


REBUILD = "md md0/md/sync_action recover 12 / 99\n"


def disabled_then_reboots(stage: Stage) -> str:
    """A plan whose first step is proved; return the boot that its reboot is bound to."""
    proposed(stage, OFF, rebooting(stage))
    after_the_first(stage)
    return stage.nodes["n1"].boot_id


def rebooting(stage: Stage) -> Step:
    return stage.plan("n1", stage.nodes["n1"].boot_id).steps[1]


def test_reboot_waits_for_a_rebuild_that_began_since_the_yes(stage: Stage) -> None:
    boot, node = disabled_then_reboots(stage), stage.nodes["n1"]
    node.at_work = REBUILD
    waits = [again.because for again, _ in zip(carried_on(stage, "two"), range(8), strict=False)]
    assert "WouldCutOff: md0 is in recover" in waits[-1]
    assert node.boot_id == boot
    node.at_work = ""
    assert incident(stage, "two").ending is None
    to_the_end(stage, "two")
    assert node.boot_id != boot, "it ended while the approval lived"


def test_reboot_is_not_sent_where_a_rebuild_outlives_its_approval(stage: Stage) -> None:
    boot, node = disabled_then_reboots(stage), stage.nodes["n1"]
    node.at_work = REBUILD
    assert to_the_end(stage, "two").ending is not None
    assert node.boot_id == boot


RULES: dict[str, dict[str, Any]] = {
    "a unit less": {"units": frozenset()},
    "a unit more": {"units": frozenset(("ecs.service", "docker.service"))},
    "an approver more": {"approvers": frozenset(("terminal:ann", "terminal:mallory"))},
    "one's own asking": {"self_approval": True},
    "more time": {"approval_expires": timedelta(days=1)},
}


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("begun", [False, True])
def test_rules_that_changed_since_the_yes_begin_no_step_and_stop_the_next(
    stage: Stage, rules: str, begun: bool
) -> None:
    wire = proposed(stage, OFF, MASK)
    if begun:
        after_the_first(stage)
    stage.policy = replace(stage.policy, **RULES[rules])
    ending = to_the_end(stage, "two").ending
    assert isinstance(ending, Escalated if begun else Cancelled)
    assert "policy" in ending.because
    assert len(wire.lines) == begun


def test_bot_that_may_not_act_any_more_sends_nothing_and_the_yes_expires(stage: Stage) -> None:
    wire = proposed(stage, OFF, MASK)
    stage.policy = replace(stage.policy, acting=False)
    assert isinstance(to_the_end(stage, "two").ending, Expired)
    assert wire.lines == []


def test_brake_between_the_yes_and_a_step_lets_it_begin_only_once_released(stage: Stage) -> None:
    wire, node = proposed(stage, OFF, BACK), stage.nodes["n1"]
    after_the_first(stage)
    pull(stage)
    remediation = stage.remediation()
    for _ in range(3):
        assert do(stage, remediation.advance("two")) is not None
    assert len(wire.lines) == 1
    release(stage)
    to_the_end(stage, "two")
    assert node.enabled
    assert [told[0].boot_id for told in map(parse_fenced, wire.lines) if told is not None] == [node.boot_id] * 2


def test_fewer_units_than_were_shown_stand_in_nobodys_way() -> None:
    bound = {"also, step 2": "with b.service stop a.service, c@1.service; x.timer can start b.service again"}

    def now(words: str) -> tuple[str, ...]:
        return added_side_effects(bound, NodeStatus("b", "m", KEY, also={"also, step 2": words}))

    assert now("with b.service stops c@1.service") == ()
    assert added_side_effects(bound, NodeStatus("b", "m", KEY, also={})) == ()
    assert now("with b.service stop c@1.service, d.service") != ()
    assert now("with b.service stops x.timer") != (), "it was shown as what can start b.service again"
    assert now("with b.service is disabled a.service") != (), "it was shown as what stops"
    assert (
        added_side_effects({}, NodeStatus("b", "m", KEY, also={"also, step 2": "with b.service stops c.service"})) != ()
    )


@pytest.mark.parametrize("name", ["b.service", "ssh.service"])
def test_what_was_cut_and_would_stop_more_by_now_is_not_sent_again(stage: Stage, name: str) -> None:
    advances, wire = approved(stage, Cut(DISABLE, after=False))
    for again in advances:
        if wire.sent:
            stage.nodes["n1"].consists_of = name
        assert again is not None
    done = incident(stage)
    assert isinstance(done.ending, Escalated)
    failed = known_as(done.steps[0].outcome, StepFailed)
    assert name in failed.because
    assert wire.sent == [DISABLE]
    assert stage.nodes["n1"].enabled


ETCD, POSTGRES = EndedItem("etcd.service", KEEPS), EndedItem("postgres", KEEPS, 9)
LATER = timedelta(minutes=2)


def ending(stage: Stage, *found: PlanImpact) -> tuple[Remediation, list[str]]:
    """What carries it on, on a node that ends these, the last of them from then on; and who was asked."""
    remediation, asked, left = stage.remediation(), list[str](), list(found)

    async def now(incident: Incident, node: Node) -> PlanImpact:
        asked.append(node.name)
        return left.pop(0) if len(left) > 1 else left[0]

    remediation.stepping.ends_now, remediation.stepping.preflight = now, None  # the verdict's own plan is another
    return remediation, asked


def test_database_that_came_while_an_approved_reboot_waited_for_its_turn_is_not_ended(stage: Stage) -> None:
    proposed(stage, rebooting(stage), ends=PlanImpact((ETCD,)))
    stage.world.now += LATER
    remediation, _ = ending(stage, PlanImpact((ETCD, POSTGRES)))
    assert do(stage, remediation.advance("two")) is None
    done = incident(stage, "two")
    assert "StateChanged: what ends: postgres runs here now" in known_as(done.ending, Cancelled).because
    assert not done.steps
    assert stage.nodes["n1"].boot == 0


def test_database_is_looked_for_also_where_the_clocks_say_that_the_yes_was_just_now(stage: Stage) -> None:
    proposed(
        stage, rebooting(stage), ends=PlanImpact((ETCD,))
    )  # of a ledger whose clock is ahead, or ours was put back
    remediation, asked = ending(stage, PlanImpact((ETCD, POSTGRES)))
    assert do(stage, remediation.advance("two")) is None
    assert "postgres runs here now" in getattr(incident(stage, "two").ending, "because", "")
    assert (asked, stage.nodes["n1"].boot) == (["n1"], 0)


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (PlanImpact((ETCD,), unread=(Unread("units", "sudo refused"),)), "units could not be read: sudo refused"),
        (
            PlanImpact((ETCD,), unseen=(Unread("unfinished: what ZFS is rebuilding", ""),)),
            "not read before the reboot: what ZFS is rebuilding",
        ),
    ],
)
def test_what_a_reboot_ends_and_nobody_can_look_for_any_more_holds_it_up_until_they_can(
    stage: Stage, seen: PlanImpact, says: str
) -> None:
    proposed(stage, rebooting(stage), ends=PlanImpact((ETCD,)))
    stage.world.now += LATER
    remediation, _ = ending(stage, seen, PlanImpact((ETCD,)))
    again = known(do(stage, remediation.advance("two")))
    assert says in again.because
    assert not incident(stage, "two").steps
    do(stage, remediation.advance("two"))
    assert incident(stage, "two").steps


def test_what_the_yes_looked_at_moments_ago_is_not_read_again_and_a_disable_ends_no_database(stage: Stage) -> None:
    proposed(stage, OFF, rebooting(stage), ends=PlanImpact((ETCD,)))
    remediation, asked = ending(stage, PlanImpact((ETCD, POSTGRES)))
    do(stage, remediation.advance("two"))
    assert incident(stage, "two").steps
    assert asked == []


def test_database_that_came_after_the_first_step_is_a_persons_to_see_to(stage: Stage) -> None:
    proposed(stage, OFF, rebooting(stage), ends=PlanImpact((ETCD,)))
    after_the_first(stage)
    stage.world.now += LATER
    remediation, _ = ending(stage, PlanImpact((ETCD, POSTGRES)))
    done = to_the_end(stage, "two", remediation)
    assert "postgres runs here now" in known_as(done.ending, Escalated).because
    assert stage.nodes["n1"].boot == 0
