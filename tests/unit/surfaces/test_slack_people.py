"""Who a person is, as Slack says: who is no full member hears what they are, and without an answer nobody is let in."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bot.chat.people import Membership, Person
from bot.demo.slack.people import ALICE, BOB, GROUPS, GUEST, TEAM_ID
from bot.domain.errors import CannotTell, NotAnApprover
from bot.domain.policy import Policy
from bot.surfaces.slack.people import OLDEST_SECONDS, SlackPeople, Workspace, person_of
from tests.slack.workspace import SlackWorkspace, client, workspace

GROUP = f"slack:{GROUPS[0].id}"
POLICY = Policy(approver_groups=frozenset({GROUP}))


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack:
        yield slack


def people_of(slack: SlackWorkspace, clock: Any = lambda: 0.0) -> SlackPeople:
    return SlackPeople(client(slack), SimpleNamespace(workspace=Workspace(TEAM_ID)), {GROUP}, clock, 5.0)


async def test_who_is_no_full_member_is_told_so(slack: SlackWorkspace) -> None:
    people = people_of(slack)
    await people.admit(BOB.id)
    for change, says in (
        ({"is_guest": True}, "a guest: only full"),
        ({"is_single_channel_guest": True}, "a guest: only full"),
        ({"is_stranger": True}, "from another organisation: only full"),
        ({"is_deleted": True}, "a deactivated account: only full"),
        ({"is_bot": True}, "a bot: only full"),
        ({"team_id": "T0OTHER001"}, "from another workspace: only"),
    ):
        changed: dict[str, Any] = change
        slack.state.add_user(replace(BOB, **changed))
        for do in ("decide", "ask for checks"):
            with pytest.raises(NotAnApprover) as no:
                await people.admit(BOB.id, do)
            assert no.value.sentence == f"bob is {says} members of this workspace {do}."


@pytest.mark.parametrize(
    ("payload", "ours"),
    [
        ({"user": {"id": BOB.id, "team_id": TEAM_ID}, "team": {"id": TEAM_ID}}, True),
        ({"user": {"id": BOB.id}, "team": {"id": TEAM_ID}}, True),
        ({"user": {"id": BOB.id, "team_id": "T0OTHER001"}, "team": {"id": TEAM_ID}}, False),
        ({"user": {"id": BOB.id, "team_id": TEAM_ID}, "team": {"id": "T0OTHER001"}}, False),
        ({"user": {"id": BOB.id}}, False),
    ],
)
async def test_payload_or_person_of_another_workspace_is_not_ours(
    slack: SlackWorkspace, payload: dict[str, Any], ours: bool
) -> None:
    person, people = person_of(payload), people_of(slack)
    assert people.is_ours(person) is ours
    if not ours:
        with pytest.raises(NotAnApprover, match="That came from another workspace"):
            people.check_workspace(person)


async def test_slack_that_does_not_say_who_somebody_is_admits_nobody(slack: SlackWorkspace) -> None:
    slack.faults.error("users.info", "user_not_found")
    with pytest.raises(CannotTell) as no:
        await people_of(slack).admit(BOB.id)
    assert str(no.value) == "Slack did not say who you are (user_not_found). Try again."


async def test_group_that_cannot_be_asked_lets_nobody_in(slack: SlackWorkspace) -> None:
    people, bob = people_of(slack), Person(BOB.id, TEAM_ID)
    method = "usergroups.users.list"
    unread: dict[str, Callable[[], None]] = {
        "missing_scope": lambda: slack.faults.error(method, "missing_scope"),
        "plan_upgrade_required": lambda: slack.faults.error(method, "plan_upgrade_required"),
        "ratelimited": lambda: slack.faults.rate_limit(method, 1),
        "http_500": lambda: slack.faults.status(method, 500),
    }
    for why, goes_wrong in unread.items():
        goes_wrong()
        with pytest.raises(CannotTell) as no:
            await people.approval(bob, POLICY, "yes")
        says = f"Slack does not say who is in the group {GROUPS[0].id} ({why})."
        assert str(no.value) == f"The bot cannot tell whether you may approve. {says} Try again."
    assert (await people.approval(bob, POLICY, "yes")).groups == {GROUP}, "it is asked again each time"
    assert await people.membership(GUEST.id) == Membership(frozenset())
    assert POLICY.most_approvers(people.group_members) == len(GROUPS[0].members)


async def test_answer_of_a_minute_ago_serves_where_slack_is_asked_too_often_and_no_older_one(
    slack: SlackWorkspace,
) -> None:
    now = [0.0]
    people = people_of(slack, lambda: now[0])
    known = await people.membership(ALICE.id), await people.membership(BOB.id)
    for passed, status, is_known in (
        (OLDEST_SECONDS, 429, True),
        (OLDEST_SECONDS, 500, False),
        (OLDEST_SECONDS + 1, 429, False),
    ):
        now[0] = passed
        slack.faults.status("usergroups.users.list", status, times=2)
        found = await people.membership(ALICE.id), await people.membership(BOB.id)
        assert (found == known) is is_known
        slack.faults.clear()
