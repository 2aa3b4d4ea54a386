"""The reminder of a plan that waits: when it is due, what it covers, and whom it calls."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

from bot.chat.reminders import reminders
from bot.domain.incident import Incident
from bot.domain.transitions import State
from bot.surfaces.slack.drawing import draw
from tests.known import known
from tests.record.incidents import WAYS
from tests.unit.surfaces.cards import POLICY, told
from tests.unit.surfaces.test_slack_card import taken_by_slack

HALF = POLICY.approval_expires / 2


def waiting(number: int, later: timedelta = timedelta(0), state: State = State.PROPOSED) -> Incident:
    incident = replace(told(*WAYS[state]), id=f"incident-{number}", node=f"node-{number}")
    return replace(incident, proposed_at=known(incident.proposed_at) + later)


def test_reminder_is_due_at_half_of_the_time_and_says_until_when() -> None:
    incident = waiting(1)
    assert incident.proposed_at is not None
    (reminder,) = reminders([incident], POLICY)
    assert (reminder.at, reminder.until) == (incident.proposed_at + HALF, incident.proposed_at + 2 * HALF)
    message = draw(reminder.message(POLICY))
    taken_by_slack(message)
    assert "node-1 still waits for a decision, until " in message.text
    assert "<@U0BOB00001>" in message.text, "whom the policy names by id is called"
    body = json.dumps([message.text, message.blocks])
    for whole in ("usergroup", "subteam", "S0SRE00001", "!here", "!channel", "broadcast"):
        assert whole not in body, "no group and no channel is called"
    assert not message.broadcast


def test_whoever_asked_or_said_yes_already_is_not_called() -> None:
    asked = replace(waiting(1), picked_by="slack:T1/U0BOB00001")
    (reminder,) = reminders([asked], POLICY)
    assert "U0BOB00001" not in draw(reminder.message(POLICY)).text
    assert "U0BOB00001" in draw(reminder.message(replace(POLICY, self_approval=True))).text


def test_node_name_is_no_markup() -> None:
    (reminder,) = reminders([replace(waiting(1), node="<!channel> *n*")], POLICY)
    assert "<!channel>" not in draw(reminder.message(POLICY)).text


def test_plans_that_came_together_are_one_reminder_and_a_late_one_has_its_own() -> None:
    group = [waiting(1), waiting(2, timedelta(minutes=2)), waiting(3, HALF)]
    first, late = reminders(group, POLICY)
    assert [incident.node for incident in first.waiting] == ["node-1", "node-2"]
    assert (first.part, late.part) == ("nudge-incident-1", "nudge-incident-3")
    decided = [waiting(1, state=State.DECLINED), *group[1:]]
    rest, _ = reminders(decided, POLICY)
    assert (rest.part, [incident.node for incident in rest.waiting]) == ("nudge-incident-1", ["node-2"])


def test_what_is_decided_or_part_of_a_wave_is_not_reminded_of() -> None:
    for state in (State.DECLINED, State.ACTING, State.RESOLVED, State.EXPIRED, State.TRIAGED):
        assert list(reminders([replace(told(*WAYS[state]), id="incident-1")], POLICY)) == []
    assert list(reminders([replace(waiting(1), wave="wave-1")], POLICY)) == []
