"""From a delivery to incidents: what goes on record of it, and what does not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.domain.node import Node
from bot.domain.transitions import State
from bot.ledger import Pruner, audit
from bot.sources.alertmanager import SOURCE
from bot.sources.pagerduty import SOURCE as PAGERDUTY
from tests.alerts.bodies import BEGAN_AT, group_alert, group_body, page_alert, page_event
from tests.alerts.intake import MINUTE, NODES, Stage, nodes
from tests.record.incidents import NODE, WAYS, by_whom


async def test_page_becomes_an_incident_of_the_node_that_its_alert_names(intake: Stage) -> None:
    await intake.page("E1")
    (one,) = await intake.incidents()
    assert (one.node, one.alert.kind, one.alert.id, one.alert.asked_by) == ("node-1", "pagerduty", "Q1", "")
    assert (one.playbook, one.channel, one.withholds, one.storm) == ("node-health", "CALERTS", "", "")
    assert one.alert.text == "core pinned on a node (Batch nodes) https://example.pagerduty.com/incidents/Q1"
    assert intake.seen == [one.group]
    assert await intake.inbox.waiting() == 0


async def test_fifty_nodes_of_one_alert_share_a_card(intake: Stage) -> None:
    await intake.group(*(group_alert(f"{node.name}:9100") for node in NODES))
    found = await intake.incidents()
    assert (nodes(found), len({one.group for one in found})) == (["node-1", "node-2", "node-3"], 1)
    assert {one.alert.id for one in found} == {'{}:{alertname="CorePinned"}'}


async def test_alerts_that_were_left_out_are_said_aloud(intake: Stage) -> None:
    await intake.group(group_alert("node-1:9100"), truncated=7)
    (one,) = await intake.incidents()
    assert "7 more alerts were left out by alertmanager: their nodes are not known" in one.alert.text


async def test_second_page_of_the_same_nodes_joins_the_first_card(intake: Stage) -> None:
    await intake.page("E1")
    await intake.triage()
    intake.now += 5 * MINUTE
    await intake.page("E2", "Q2")
    (one,) = await intake.incidents()
    assert ([alert.id for alert in one.alerts], one.ended) == (["Q1", "Q2"], True)
    intake.now += 30 * MINUTE
    await intake.page("E3", "Q3")
    assert [[alert.id for alert in one.alerts] for one in await intake.incidents()] == [["Q1", "Q2"], ["Q3"]]


async def test_another_alert_about_the_same_node_has_its_own_card(intake: Stage) -> None:
    await intake.page("E1", title="core 7 of node-1 pinned")
    await intake.page("E2", "Q2", title="core 9 of node-1 pinned")
    await intake.page("E3", "Q3", title="disk of node-1 full")
    assert [[alert.id for alert in one.alerts] for one in await intake.incidents()] == [["Q1", "Q2"], ["Q3"]]


async def test_end_upstream_is_noted_after_the_verdict_and_a_return_reopens_the_card(intake: Stage) -> None:
    await intake.page("E1")
    await intake.triage()
    (first,) = await intake.incidents()
    await intake.page("E2", kind="incident.resolved")
    (over,) = await intake.incidents()
    assert (over.is_over, over.state, over.ended) == (True, State.TRIAGED, True)
    intake.now += MINUTE
    await intake.page("E3", kind="incident.reopened")
    (again,) = await intake.incidents()
    assert (again.reopens, again.group, again.state) == (first.id, first.group, State.OPENED)
    assert intake.seen == [first.group] * 3


async def test_page_that_is_reopened_is_read_anew_though_its_end_is_told_late(intake: Stage) -> None:
    await intake.page("E1")
    await intake.triage()
    ended_at, intake.now = intake.now + MINUTE, intake.now + 2 * MINUTE
    await intake.page("E3", kind="incident.reopened")
    (again,) = await intake.incidents()
    assert (again.state, again.reopens != "") == (State.OPENED, True)
    await intake.page("E2", kind="incident.resolved", at=ended_at)
    await intake.triage()
    await intake.page("looked", kind="incident.reopened", at=again.opened_at - timedelta(seconds=1))
    (same,) = await intake.incidents()
    assert (same.id, same.is_over) == (again.id, False), "told twice, as by a look at the page, it is read once"


async def test_alert_that_fires_again_beside_another_is_not_over_when_that_one_is(intake: Stage) -> None:
    await intake.page("E1", title="core 7 of node-1 pinned")
    await intake.page("E2", "Q2", title="core 7 of node-1 pinned")
    told = (("Q1", "resolved"), ("Q1", "reopened"), ("Q1", "reopened"), ("Q2", "resolved"))
    for number, (case, kind) in enumerate(told, 3):
        intake.now += MINUTE
        await intake.page(f"E{number}", case, kind=f"incident.{kind}", title="core 7 of node-1 pinned")
    (one,) = await intake.incidents()
    assert ([alert.id for alert in one.alerts], one.is_over) == (["Q1", "Q2", "Q1"], False)
    intake.now += MINUTE
    await intake.page("E9", "Q1", kind="incident.resolved", title="core 7 of node-1 pinned")
    (one,) = await intake.incidents()
    assert one.is_over


async def test_end_upstream_calls_off_a_question_that_nobody_answered(intake: Stage) -> None:
    intake.alerts["Q1"] = [page_alert("A1", {"host": "shared"})]
    await intake.page("E1")
    await intake.page("E2", kind="incident.resolved")
    (one,) = await intake.incidents()
    assert (one.state, one.is_over) == (State.CANCELLED, True)


async def test_end_that_is_told_before_the_beginning_opens_nothing(intake: Stage) -> None:
    await intake.page("E2", kind="incident.resolved", at=BEGAN_AT)
    await intake.page("E1", at=BEGAN_AT - MINUTE)
    assert await intake.incidents() == []


async def test_node_that_an_alert_adds_later_stands_on_the_same_card(intake: Stage) -> None:
    await intake.group(group_alert("node-1:9100"))
    await intake.triage()
    await intake.group(group_alert("node-1:9100"), group_alert("node-2:9100"))
    found = await intake.incidents()
    assert (nodes(found), len({one.group for one in found})) == (["node-1", "node-2"], 1)


async def test_alert_that_is_over_while_others_fire_closes_its_node_alone(intake: Stage) -> None:
    await intake.group(group_alert("node-1:9100"), group_alert("node-2:9100"))
    await intake.group(group_alert("node-1:9100", "resolved"), group_alert("node-2:9100"))
    assert await intake.over() == {"node-1": True, "node-2": False}
    await intake.group(group_alert("node-1:9100", "resolved"), group_alert("node-2:9100", "resolved"))
    assert [one.is_over for one in await intake.incidents()] == [True, True]


async def test_title_does_not_keep_a_node_whose_alert_is_over(intake: Stage) -> None:
    mine, other, unknown = (page_alert(f"A{at}", {"host": host}) for at, host in enumerate(("node-1", "node-2", "pc")))
    over = mine | {"status": "resolved"}
    told = (unknown,), (unknown, mine, other), (unknown, over, other), (unknown, over, other)
    for number, (case, alerts) in enumerate(zip(("Q1", "Q1", "Q1", "Q2"), told, strict=True)):
        intake.alerts[case] = alerts
        await intake.page(f"E{number}", case, title=f"{case}: node-1 is pinned, and not node-3")  # as its first alert
    found = [(one.alert.id, one.node, one.is_over) for one in await intake.incidents()]
    assert sorted(found) == [
        *(("Q1", "node-1", True), ("Q1", "node-2", False), ("Q1", "node-3", False)),
        *(("Q2", "node-2", False), ("Q2", "node-3", False)),
    ]


async def test_custom_field_does_not_keep_a_node_whose_alert_is_over(intake: Stage) -> None:
    mine, other = page_alert("A1", {"host": "node-1"}), page_alert("A2", {"host": "node-2"})
    intake.fields = {"affected": "node-1, node-3"}
    for number, alerts in enumerate(([mine, other], [mine | {"status": "resolved"}, other])):
        intake.alerts["Q1"] = alerts
        await intake.page(f"E{number}")
    found = await intake.over()
    assert found == {"node-1": True, "node-2": False, "node-3": False}


async def test_group_without_a_title_is_called_after_an_alert_that_fires(intake: Stage) -> None:
    body = group_body([group_alert("node-1:9100", "resolved"), group_alert("node-2:9100")])
    body |= {"groupLabels": {}, "commonLabels": {}}
    await intake.kept(SOURCE.delivery(body))
    (one,) = await intake.incidents()
    assert (one.node, one.alert.text.partition(" is")[0]) == ("node-2", "A core of node-2:9100")


async def test_alert_that_comes_back_with_its_old_beginning_is_told_and_its_repetition_is_not(intake: Stage) -> None:
    first, second = group_alert("node-1:9100"), group_alert("node-2:9100")
    over = {"status": "resolved", "endsAt": "2026-11-21T09:36:00Z"}
    for other in (first, first | over):  # one of its group ends, and all of it
        await intake.group(other, second)
        await intake.triage()
        await intake.group(other, second | over)  # cut off from Prometheus for some minutes
        assert (await intake.over())["node-2"]
        for _ in range(2):
            await intake.group(other, second)
        again = {one.node: one for one in await intake.incidents()}["node-2"]
        assert (again.state, again.is_over, again.reopens != "") == (State.OPENED, False, True)
        assert len(intake.seen) == 3, "the repetition is not handled"
        intake.seen.clear()


async def test_end_of_a_senders_group_leaves_the_nodes_of_another_whose_group_has_the_same_name(intake: Stage) -> None:
    east, west, mixed = group_alert("node-1:9100"), group_alert("node-2:9100"), group_alert("node-1:9100", pod="b")
    for told in (east, west, mixed):  # the same route in two clusters, each with an Alertmanager
        await intake.group(told)
    over = {"status": "resolved", "endsAt": "2026-11-21T09:36:00Z"}
    await intake.group(west | over)
    assert await intake.over() == {"node-1": False, "node-2": True}
    await intake.group(mixed | over, west)
    assert await intake.over() == {"node-1": False, "node-2": False}
    await intake.group(east | over)
    assert await intake.over() == {"node-1": True, "node-2": False}


async def test_alert_that_ended_unheard_does_not_keep_a_later_card_open(intake: Stage) -> None:
    silenced, other = group_alert("node-1:9100", core="7"), group_alert("node-2:9100")
    await intake.group(silenced, other)
    await intake.group(other | {"status": "resolved"})
    intake.now += timedelta(days=30)
    later = group_alert("node-1:9100", at=intake.now, core="9")
    await intake.group(later)
    await intake.group(later | {"status": "resolved"})
    assert (await intake.incidents())[-1].is_over


async def test_group_of_which_alerts_were_left_out_ends_only_those_that_it_lists(intake: Stage) -> None:
    told = [group_alert(f"{node.name}:9100") for node in NODES]
    over = [alert | {"status": "resolved", "endsAt": "2026-11-21T09:36:00Z"} for alert in told]
    await intake.group(*told)
    await intake.group(*over[:2], truncated=1)  # its status is that of the alerts it lists
    assert await intake.over() == {
        "node-1": True,
        "node-2": True,
        "node-3": False,
    }
    assert len(await intake.cases.open_cases("alertmanager", BEGAN_AT - MINUTE)) == 1
    await intake.group(over[2], truncated=1)
    assert [one.is_over for one in await intake.incidents()] == [True, True, True]
    assert await intake.cases.open_cases("alertmanager", BEGAN_AT - MINUTE) == ()


@pytest.mark.parametrize("anew", [{}, {"alertname": "GpuFellOffTheBus"}], ids=["its own", "another"])
async def test_alert_that_begins_long_after_the_verdict_has_the_node_read_anew_though_no_end_was_told(
    intake: Stage, anew: dict[str, str]
) -> None:
    first, second = group_alert("node-1:9100"), group_alert("node-2:9100")
    await intake.group(first, second)
    await intake.triage()
    (other,) = [one for one in await intake.incidents() if one.node == "node-2"]
    intake.now += timedelta(days=3)  # silenced for a while, or Alertmanager began afresh
    for _ in range(2):
        await intake.group(second, group_alert("node-1:9100", at=intake.now, **anew))
    again, still = sorted(await intake.incidents(), key=lambda one: one.node)
    assert (again.state, again.reopens != "", again.withholds, still) == (State.OPENED, True, "", other)


@pytest.mark.parametrize("page", ["Q1", "Q2"], ids=["the same page", "another page"])
async def test_alert_that_begins_after_the_cure_was_proven_has_the_node_read_anew(intake: Stage, page: str) -> None:
    intake.intake.knows((Node(NODE, "10.0.0.7"),))

    async def fires(key: str, case: str) -> State:
        intake.alerts[case] = [page_alert(key, {"host": NODE}) | {"created_at": began.isoformat()}]
        await intake.page(f"E{key}", case)
        (one,) = await intake.incidents()
        return one.state

    began = intake.now
    await fires("A1", "Q1")
    (one,) = await intake.incidents()
    for seq, event in enumerate(WAYS[State.RESOLVED][1:], 1):
        began, intake.now = intake.now, intake.now + MINUTE
        await intake.ledger.append(one.id, seq, event, by_whom(event))
    began -= MINUTE
    assert await fires("A2", page) is State.RESOLVED, "it was there when the cure was proven"
    began = intake.now
    assert await fires("A3", page) is State.OPENED


async def test_alert_that_begins_anew_reopens_its_node_with_the_other_alerts_that_fire_on(intake: Stage) -> None:
    for name in ("severe", "mild"):
        alert = group_alert("node-1:9100")
        body = group_body([alert]) | {"groupKey": name}
        await intake.kept(SOURCE.delivery(body))
    await intake.triage()
    intake.now += MINUTE
    body = group_body([group_alert("node-1:9100", at=intake.now)]) | {"groupKey": "mild"}
    await intake.kept(SOURCE.delivery(body))
    (again,) = await intake.incidents()
    assert ([alert.id for alert in again.alerts], again.reopens != "") == (["mild", "severe"], True)


async def test_new_alert_of_a_case_that_fires_is_on_record_with_its_node_and_time_and_a_repetition_is_not(
    intake: Stage,
) -> None:
    def alarms() -> list[tuple[str, int]]:
        found = intake.waves.alarms.now(BEGAN_AT, frozenset(("terminal",)))
        return sorted((alarm.node, (alarm.at - BEGAN_AT) // MINUTE) for alarm in found)

    first, second = group_alert("node-1:9100"), group_alert("node-2:9100")
    await intake.group(first, second)
    assert alarms() == [("node-1", 0), ("node-2", 0)]
    intake.now += 5 * MINUTE
    await intake.group(first, second, group_alert("node-3:9100"))  # the others are only repeated
    assert alarms() == [("node-1", 0), ("node-2", 0), ("node-3", 5)]
    intake.now += 5 * MINUTE
    again = group_alert("node-1:9100", at=intake.now)  # nobody was told that it was over meanwhile
    await intake.group(again, second)
    assert alarms() == [("node-1", 0), ("node-1", 10), ("node-2", 0), ("node-3", 5)]
    intake.now += 5 * MINUTE
    await intake.group(again, second, group_alert("node-2:9100", severity="warning"))  # another alert of the node
    assert ("node-2", 15) in alarms()


async def test_alert_that_is_repeated_after_its_incident_was_pruned_has_another_name(intake: Stage) -> None:
    alert, days = group_alert("node-1:9100"), timedelta(days=3)
    await intake.group(alert)
    await intake.triage()
    await intake.group(alert | {"status": "resolved"})
    intake.now += days
    await intake.page("E1", "Q1", title="what changed last")
    intake.now += days
    pruner = Pruner(intake.ledger.database, "terminal:ann", intake.clock)
    assert (pruner.prune_incidents(days).incidents, pruner.prune_deliveries(days).deliveries > 0) == (1, True)
    await intake.group(alert)
    assert nodes(await intake.incidents()) == ["node-1", "node-1"]
    assert audit(intake.ledger.database).broken == ()


async def test_node_whose_card_two_pages_take_up_again_at_one_moment_is_read_once(intake: Stage) -> None:
    await intake.page("E1")
    await intake.triage()
    await intake.page("E2", kind="incident.resolved")
    for event, page in (("E3", "Q2"), ("E4", "Q3")):
        await intake.inbox.keep(PAGERDUTY.delivery(page_event(event, page, at=intake.now)))
    await intake.worked()
    assert len(await intake.ledger.incidents()) == 2
    (again,) = await intake.incidents()
    assert (again.reopens != "", {alert.id for alert in again.alerts}) == (True, {"Q2", "Q3"})


async def test_alert_that_joins_the_open_incident_of_another_case_is_on_record(intake: Stage) -> None:
    await intake.page("E1", "Q1")
    intake.now += 5 * MINUTE
    await intake.page("E2", "Q2")
    (one,) = await intake.incidents()
    assert len(one.joined) == 1
    found = intake.waves.alarms.now(BEGAN_AT, frozenset())
    assert sorted((alarm.node, (alarm.at - BEGAN_AT) // MINUTE) for alarm in found) == [("node-1", 0), ("node-1", 5)]
