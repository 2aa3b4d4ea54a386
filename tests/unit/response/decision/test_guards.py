"""Every guard says no by its name, and an empty policy lets nobody do anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.actions import ACTIONS
from bot.domain.action import Plan, Step
from bot.domain.alert import Alert
from bot.domain.claim import check_brake_off, check_not_quiet
from bot.domain.errors import NotAnApprover, Refused
from bot.domain.events import AlertReceived, Approved, Endorsed, Expired, PlanProposed
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.policy import Approval, Policy
from bot.response.decision import guards
from tests.record.incidents import ASKER, BEGAN_AT, NODE, PLAN, PROPOSED, TRIAGED, entries

POLICY = Policy(
    acting=True,
    approvers=frozenset(("slack:U1", "terminal:ann", "terminal:bob")),
    approver_groups=frozenset(("slack:S1",)),
    same_person={"terminal:bob": "slack:U012ASKER"},
    units=frozenset(("ecs.service",)),
)
OPENED = AlertReceived(Alert("slack", "m1", ASKER), NODE)
PROPOSAL = PlanProposed.of(PLAN, {"policy": POLICY.digest})


def incident(*events: object) -> Incident:
    return fold(entries((OPENED, TRIAGED, *events)))  # type: ignore[arg-type]


def by_login(asker: str, os_user: str = "") -> Incident:
    asked = AlertReceived(Alert("terminal", "m1", asker, os_user=os_user), NODE)
    return fold(entries((asked, TRIAGED, PROPOSED)))


def endorsed_by_login(os_user: str) -> Incident:
    return incident(replace(PROPOSED, approvals_needed=2), Endorsed(PROPOSED.digest, "yes", os_user))


def yes(by: str, **more: object) -> Approval:
    return Approval(by, "it leaks", **more)  # type: ignore[arg-type]


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, 21, hour, minute, tzinfo=UTC)


STARTS = frozenset(("kubelet.service",))


@pytest.mark.parametrize("acting", [True, False])
@pytest.mark.parametrize(("by", "key"), [("terminal:ann", "terminal_approvers"), ("slack:T1/U1", "approvers")])
def test_policy_that_names_nobody_says_which_key_to_write(by: str, key: str, acting: bool) -> None:
    with pytest.raises(NotAnApprover, match="names no approvers") as refused:
        guards.check_approver(Policy(acting=acting), yes(by))
    assert refused.value.try_next == f'Name an approver in zombie.toml: [policy] {key} = ["…"]'


def plan_of(action: str, unit: str = "kubelet.service") -> Plan:
    return Plan("n1", (Step(action, {"unit": unit}),))


NO: dict[str, tuple[str, Callable[[], object]]] = {
    "no reason": ("ReasonMissing", lambda: guards.check_reason(Approval("terminal:ann", " \n"))),
    "a stranger": ("NotAnApprover", lambda: guards.check_approver(POLICY, yes("slack:T1/U9"))),
    "a stranger's terminal": ("NotAnApprover", lambda: guards.check_approver(POLICY, yes("terminal:U1"))),
    "a terminal name in Slack": ("NotAnApprover", lambda: guards.check_approver(POLICY, yes("slack:T1/ann"))),
    "another group": (
        "NotAnApprover",
        lambda: guards.check_approver(POLICY, yes("slack:T1/U9", groups=frozenset(("slack:S",)))),
    ),
    "a group of another kind": (
        "NotAnApprover",
        lambda: guards.check_approver(POLICY, yes("terminal:eve", groups=frozenset(("slack:S1",)))),
    ),
    "an alarm's own service": ("NotAnApprover", lambda: guards.check_approver(POLICY, yes("pagerduty:U1"))),
    "an empty policy": ("NotAnApprover", lambda: guards.check_approver(Policy(acting=True), yes("terminal:ann"))),
    "acting is off": (
        "NotAnApprover",
        lambda: guards.check_approver(replace(POLICY, acting=False), yes("terminal:ann")),
    ),
    "whoever asked": ("SelfApproval", lambda: guards.check_self_approval(POLICY, incident(PROPOSED), yes(ASKER))),
    "whoever asked, elsewhere": (
        "SelfApproval",
        lambda: guards.check_self_approval(POLICY, incident(PROPOSED), yes("terminal:bob")),
    ),
    "whoever asked, by another claimed name": (
        "SelfApproval",
        lambda: guards.check_self_approval(
            POLICY, by_login("terminal:ann", "carol"), yes("terminal:bob", os_user="carol")
        ),
    ),
    "the login that asked": (
        "SelfApproval",
        lambda: guards.check_self_approval(POLICY, by_login("terminal:carol"), yes("terminal:ann", os_user="carol")),
    ),
    "whoever asked in Slack, by their login": (
        "SelfApproval",
        lambda: guards.check_self_approval(POLICY, incident(PROPOSED), yes("terminal:ann", os_user="bob")),
    ),
    "one login that says yes twice": (
        "NotEnoughApprovers",
        lambda: guards.check_not_yet_approved_by(
            POLICY, endorsed_by_login("carol").endorsements, 2, yes("terminal:ann", os_user="carol")
        ),
    ),
    "no proposal": ("NothingProposed", lambda: guards.require_open_proposal(incident())),
    "decided": (
        "AlreadyDecided",
        lambda: guards.require_open_proposal(incident(PROPOSED, Approved(PROPOSED.digest, "first"))),
    ),
    "expired": ("ApprovalExpired", lambda: guards.require_open_proposal(incident(PROPOSED, Expired("late")))),
    "too late": (
        "ApprovalExpired",
        lambda: guards.check_in_time(POLICY, incident(PROPOSED), BEGAN_AT + timedelta(hours=1)),
    ),
    "another plan": (
        "PlanChanged",
        lambda: guards.check_same_plan(POLICY, PROPOSAL, yes("terminal:ann", digest="0" * 64)),
    ),
    "other rules": (
        "PlanChanged",
        lambda: guards.check_same_plan(replace(POLICY, self_approval=True), PROPOSAL, yes("terminal:ann")),
    ),
    "an altered record": (
        "PlanChanged",
        lambda: guards.check_same_plan(POLICY, replace(PROPOSAL, digest="0" * 64), yes("terminal:ann")),
    ),
    "a unit that was not named": ("ProtectedUnit", lambda: guards.check_may_be_stopped(POLICY, ["cron.service"])),
    "a protected unit that was named": (
        "ProtectedUnit",
        lambda: guards.check_may_be_stopped(
            replace(POLICY, units=frozenset(("kubelet.service",))), ["kubelet.service"]
        ),
    ),
    "a unit that was not named to be started": (
        "ProtectedUnit",
        lambda: guards.check_may_be_started(replace(POLICY, start_units=STARTS), ["kubelet.service", "crio.service"]),
    ),
    "a unit that may only be started": (
        "ProtectedUnit",
        lambda: guards.check_units_named(replace(POLICY, start_units=STARTS), plan_of("disable_unit"), ACTIONS),
    ),
    "a unit that may only be stopped": (
        "ProtectedUnit",
        lambda: guards.check_units_named(
            replace(POLICY, units=STARTS), plan_of("start_unit", "containerd.service"), ACTIONS
        ),
    ),
    "a protected one under another name": (
        "ProtectedUnit",
        lambda: guards.check_no_protected_alias(
            ACTIONS["disable_unit"], {"Id": "x.service", "Names": "kubelet.service"}
        ),
    ),
    "the night": ("QuietHours", lambda: check_not_quiet(((1320, 360),), at(23, 30))),
    "a whole day": ("QuietHours", lambda: check_not_quiet(((0, 0),), at(12, 0))),
    "the early morning": ("QuietHours", lambda: check_not_quiet(((1320, 360),), at(5, 59))),
}


@pytest.mark.parametrize("case", NO)
def test_no_is_said_by_name_with_a_sentence(case: str) -> None:
    name, guard = NO[case]
    with pytest.raises(Refused) as no:
        guard()
    assert no.value.name == name
    assert no.value.sentence.endswith((".", "late", "first")), no.value.sentence


YES: dict[str, Callable[[], object]] = {
    "an approver": lambda: guards.check_approver(POLICY, yes("slack:T1/U1")),
    "one of a group": lambda: guards.check_approver(POLICY, yes("slack:T1/U9", groups=frozenset(("slack:S1",)))),
    "a terminal": lambda: guards.check_approver(POLICY, yes("terminal:ann")),
    "another login": lambda: guards.check_self_approval(
        POLICY, by_login("terminal:root", "root"), yes("terminal:ann", os_user="ann")
    ),
    "another login's voice": lambda: guards.check_not_yet_approved_by(
        POLICY, endorsed_by_login("carol").endorsements, 2, yes("terminal:ann", os_user="dan")
    ),
    "somebody else": lambda: guards.check_self_approval(POLICY, incident(PROPOSED), yes("terminal:ann")),
    "the asker, where that is allowed": lambda: guards.check_self_approval(
        replace(POLICY, self_approval=True), incident(PROPOSED), yes(ASKER)
    ),
    "in time": lambda: guards.check_in_time(POLICY, incident(PROPOSED), BEGAN_AT + timedelta(minutes=10)),
    "the plan that was seen": lambda: guards.check_same_plan(
        POLICY, PROPOSAL, yes("terminal:ann", digest=PROPOSAL.digest)
    ),
    "a named unit": lambda: guards.check_may_be_stopped(POLICY, ["ecs.service"]),
    "a protected unit that may be started": lambda: guards.check_units_named(
        replace(POLICY, start_units=STARTS), plan_of("start_unit"), ACTIONS
    ),
    "a start of one that the node knows as protected": lambda: guards.check_no_protected_alias(
        ACTIONS["start_unit"], {"Id": "kubelet.service"}
    ),
    "the day": lambda: check_not_quiet(((1320, 360),), at(6)),
    "no brake": lambda: check_brake_off(None),
}


@pytest.mark.parametrize("case", YES)
def test_what_nothing_speaks_against_goes_on(case: str) -> None:
    YES[case]()


def test_any_rule_that_changes_changes_the_digest() -> None:
    others = [
        replace(POLICY, acting=False),
        replace(POLICY, approvers=frozenset()),
        replace(POLICY, approver_groups=frozenset()),
        replace(POLICY, same_person={"terminal:ann": "slack:U1"}),
        replace(POLICY, self_approval=True),
        replace(POLICY, approval_expires=timedelta(1)),
        replace(POLICY, units=frozenset()),
        replace(POLICY, validation=timedelta(1)),
        replace(POLICY, reboot_deadline=timedelta(1)),
        replace(POLICY, limits=replace(POLICY.limits, at_once=2)),
        replace(POLICY, quiet=((0, 1),)),
    ]
    assert len({POLICY.digest, *(one.digest for one in others)}) == len(others) + 1
