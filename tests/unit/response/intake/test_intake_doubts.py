"""What becomes of an alarm whose node, age or weight is in doubt, and of one whose source does not answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.alert import Alert, AlertGroup
from bot.domain.errors import ImpossibleEvent, PagerDutyRefused, PagerDutyUnavailable, UnknownIncident
from bot.domain.events import AlertReceived
from bot.domain.fold import fold
from bot.domain.intake_contracts import StormLimits
from bot.domain.transitions import State
from bot.response.intake.alert_recorder import IncidentSeed, incident_id
from bot.response.intake.intake import GIVEN_UP_AFTER, LONGEST_PAUSE, Intake, IntakeRules
from bot.response.intake.routing import READ_ONLY, Route, Routes
from bot.sources.alertmanager import SOURCE
from tests.alerts.bodies import BEGAN_AT, group_alert, group_body, page_alert
from tests.alerts.intake import ALERTS, MINUTE, NODES, ROUTES, STALE_AFTER, Stage, nodes
from tests.known import known


@pytest.mark.parametrize(("details", "options"), [("shared", 3), ("nobody", 3)])
async def test_doubt_about_the_node_is_a_question_and_never_a_guess(intake: Stage, details: str, options: int) -> None:
    intake.alerts["Q1"] = [page_alert("A1", {"host": details})]
    await intake.page("E1")
    (one,) = await intake.incidents()
    assert (one.node, one.state, len(known(one.question).options)) == ("", State.UNKNOWN, options)
    await intake.page("E1b")  # told of again: asked once
    picked = await intake.recorder.record_pick(one.id, "node-2", "slack:T1/U1")
    assert (picked.node, picked.state) == ("node-2", State.OPENED)
    assert nodes(await intake.incidents()) == ["node-2"]
    with pytest.raises(ImpossibleEvent):
        await intake.recorder.record_pick(one.id, "node-3", "slack:T1/U2")
    with pytest.raises(UnknownIncident):
        await intake.recorder.record_pick("nothing", "node-3", "slack:T1/U2")


async def test_what_an_older_program_opened_without_its_question_is_asked_about_once(intake: Stage) -> None:
    seed, name = IncidentSeed(Alert("pagerduty", "Q1"), "g1", "node-health", "C1"), incident_id("g1", "?")
    await intake.ledger.append(name, 0, seed.opening_event(""), "bot")
    for _ in range(2):
        await intake.recorder.record_question(seed, "Which is meant?", ["node-1", "node-2"])
    kinds = [entry.kind for entry in await intake.ledger.read(name)]
    assert kinds == ["AlertReceived", "QuestionAsked"]


async def test_question_is_called_off_once_the_alert_names_its_node(intake: Stage) -> None:
    intake.alerts["Q1"] = []
    await intake.page("E1")
    intake.alerts["Q1"] = ALERTS
    await intake.page("E2")
    found = {one.node: one.state for one in await intake.incidents()}
    assert found == {"": State.CANCELLED, "node-1": State.OPENED}


async def test_question_about_one_alert_stays_whatever_another_of_its_group_names(intake: Stage) -> None:
    unclear, clear = group_alert("shared"), group_alert("node-3:9100")
    for told in ((unclear,), (unclear, clear), (unclear | {"status": "resolved"}, clear), (clear, unclear)):
        await intake.group(*told)
    found = [(one.node, one.state) for one in await intake.incidents()]
    assert found == [("", State.CANCELLED), ("node-3", State.OPENED), ("", State.UNKNOWN)]


async def test_question_is_asked_once_also_after_the_first_was_over(intake: Stage) -> None:
    alert = group_alert("alien-1:9100")
    await intake.group(alert)
    await intake.group(alert | {"status": "resolved"})
    for added in ((), ("alien-2:9100",), ("alien-2:9100", "alien-3:9100")):
        await intake.group(alert, *map(group_alert, added))
    assert [one.state for one in await intake.incidents()] == [State.CANCELLED, State.UNKNOWN]


async def test_read_only_route_offers_nothing(intake: Stage) -> None:
    await intake.page("E1", service={"id": "PS2", "summary": "Look only, please"})
    (one,) = await intake.incidents()
    assert (one.channel, one.withholds) == (
        "CQUIET", "Route 1 is read-only: it shows what would help and offers nothing.",
    )  # fmt: skip


async def test_label_of_one_alert_is_enough_for_a_route(intake: Stage) -> None:
    await intake.group(group_alert("node-1:9100"), group_alert("node-2:9100", severity="page"))
    found = await intake.incidents()
    assert {one.playbook for one in found} == {"node-health"}, "the group's common label has the last word"
    intake.alerts["Q1"] = [page_alert("A1", {"host": "node-3", "severity": "page"}) | {"severity": "page"}]
    await intake.page("E1")
    assert (await intake.incidents())[-1].playbook == "network-resets"


async def test_node_has_playbook_mode_and_age_of_its_own_alerts_and_all_have_one_channel(intake: Stage) -> None:
    dev = Route(1, {"env": "dev"}, "network-resets", "CDEV", "remedies")
    prod = Route(2, {"env": "prod"}, "node-health", "CPROD", READ_ONLY)
    intake.intake.rules = replace(intake.intake.rules, routes=Routes((dev, prod), ROUTES.otherwise))
    intake.now += 20 * MINUTE
    others = group_alert("node-3:9100", env="dev"), group_alert("unknown:9100", env="dev", at=intake.now)
    await intake.group(group_alert("node-1:9100", env="prod", at=intake.now), *others)
    await intake.group(group_alert("node-2:9100", env="dev", at=intake.now), *others)
    found = [(one.node, one.playbook, one.channel, one.withholds[:12]) for one in await intake.incidents()]
    assert sorted(found) == [
        ("node-1", "node-health", "CDEV", "Route 2 is r"),
        ("node-2", "network-resets", "CDEV", ""),
        ("node-3", "network-resets", "CDEV", "The alert is"),
    ]


@pytest.mark.parametrize("quiet", [{"channel": "CQUIET"}, {"mode": READ_ONLY}, {}])
async def test_alert_does_not_join_a_card_elsewhere_or_one_that_offers_nothing(
    intake: Stage, quiet: dict[str, str]
) -> None:
    warnings = replace(Route(1, {"severity": "warning"}, "node-health", "CALERTS", "remedies"), **quiet)  # type: ignore[arg-type]
    intake.intake.rules = replace(intake.intake.rules, routes=Routes((warnings,), ROUTES.otherwise))
    for severity in ("warning", "critical"):  # group_by: [alertname, severity]
        body = group_body([group_alert("node-1:9100", severity=severity)])
        body |= {"groupKey": severity, "commonLabels": {"severity": severity}}
        await intake.kept(SOURCE.delivery(body))
    assert len(await intake.incidents()) == (2 if quiet else 1)
    assert (await intake.incidents())[-1].channel == "CALERTS"


async def test_old_alert_is_read_and_offers_nothing(intake: Stage) -> None:
    await intake.page("E1", at=BEGAN_AT - 16 * MINUTE)
    await intake.page("E2", "Q2", at=BEGAN_AT - 14 * MINUTE, title="another")
    old, fresh = await intake.incidents()
    assert "more than 15m before it was handled" in old.withholds
    assert fresh.withholds == ""


@pytest.mark.parametrize("is_read", [True, False])
async def test_node_for_which_nothing_could_be_offered_is_read_anew_for_an_alert_for_which_it_can(
    intake: Stage, is_read: bool
) -> None:
    intake.now += 20 * MINUTE
    old = group_alert("node-1:9100")
    await intake.group(old)
    if is_read:
        await intake.triage()
    for added in ({"core": "7"}, {"core": "9"}):
        await intake.group(old, group_alert("node-1:9100", at=intake.now, **added))
        (one,) = await intake.incidents()
        assert (one.reopens != "", one.withholds) == (True, "")
        assert one.state is (State.OPENED if added["core"] == "7" else State.TRIAGED), "the second joins its verdict"
        await intake.triage()
        intake.now += MINUTE


async def test_alert_that_was_added_to_an_old_page_is_as_new_as_it_says(intake: Stage) -> None:
    first, added = page_alert("A1", {"host": "node-1"}), page_alert("A2", {"host": "node-2"})
    intake.alerts["Q1"] = [first]
    await intake.page("E1")
    await intake.triage()
    read = await intake.incidents()
    intake.now += 60 * MINUTE
    first |= {"created_at": BEGAN_AT.isoformat()}  # an older program kept no times of a page's alerts
    intake.alerts["Q1"] = [first, added | {"created_at": intake.now.isoformat()}]
    await intake.page("E2", at=BEGAN_AT)  # as the look at open pages finds it
    again, new = await intake.incidents()
    assert ([again], new.node, new.withholds) == (read, "node-2", "")
    intake.alerts["Q2"] = intake.alerts["Q1"]
    await intake.page("E3", "Q2", title="another", at=BEGAN_AT)
    found = [(one.alert.id, one.node) for one in await intake.incidents() if one.withholds]
    assert found == [("Q2", "node-1")]


async def test_storm_is_read_and_offers_nothing(intake: Stage) -> None:
    for number in range(5):
        await intake.page(f"E{number}", f"Q{number}", title=f"alert {'abcde'[number]}")
    found = await intake.incidents()
    assert [bool(one.storm) for one in found] == [False, False, False, True, True]
    assert "More than 3 alerts came within 5m" in found[-1].withholds
    storm = await intake.cases.storm(found[-1].storm, intake.brakes)
    assert ([one.id for one in storm.incidents], storm.cases) == ([one.id for one in found[3:]], 2)


async def test_person_who_raised_it_has_asked(intake: Stage) -> None:
    intake.people = {"PANN": "slack:T1/UANN"}
    for number, person in enumerate(("PANN", "PBOB", "not a name")):
        agent = {"id": person, "type": "user_reference", "summary": "somebody"}
        await intake.page(f"E{number}", f"Q{number}", title=f"alert {'abc'[number]}", agent=agent)
    await intake.page("E9", "Q9", title="by a service", agent={"id": "PSVC1", "type": "service_reference"})
    asked = [one.alert.asked_by for one in await intake.incidents()]
    assert asked == ["slack:T1/UANN", "pagerduty:PBOB", "pagerduty:somebody", ""]
    entries = await intake.ledger.read((await intake.incidents())[0].id)
    assert entries[0].by == "slack:T1/UANN"


async def test_page_is_asked_for_its_alerts_again_while_pagerduty_is_down(intake: Stage) -> None:
    intake.refuses = [PagerDutyUnavailable("PagerDuty is down.", retry_after_seconds=20)]
    await intake.page("E1")
    assert (await intake.incidents(), await intake.inbox.waiting()) == ([], 1)
    intake.now += timedelta(seconds=10)
    await intake.worked()
    assert await intake.incidents() == [], "it said when to come back"
    intake.now += timedelta(seconds=11)
    await asyncio.to_thread(intake.leases.beat.now)
    await intake.worked()
    assert (nodes(await intake.incidents()), await intake.inbox.waiting()) == (["node-1"], 0)


async def test_delivery_that_fails_forty_times_is_given_up_and_stays_known(intake: Stage) -> None:
    intake.refuses = [RuntimeError("a fault of ours") for _ in range(GIVEN_UP_AFTER)]
    await intake.page("E1", "Q1", title="a core is pinned")
    for _ in range(GIVEN_UP_AFTER - 1):
        assert await intake.inbox.given_up() == ()
        intake.now += LONGEST_PAUSE
        await asyncio.to_thread(intake.leases.beat.now)
        await intake.worked()
    assert (intake.refuses, await intake.incidents(), await intake.inbox.waiting()) == ([], [], 0)
    (lost,) = await intake.inbox.given_up()
    assert (lost.case, lost.because, known(lost.alarm).title) == ("Q1", "a fault of ours", "a core is pinned")
    assert [fields["id"] for event, fields in intake.lines if event == "delivery_given_up"] == ["E1"]
    await intake.page("E2", "Q1")
    assert nodes(await intake.incidents()) == ["node-1"], "what comes later for its case is seen to"


@pytest.mark.parametrize("no", [PagerDutyUnavailable("down"), PagerDutyRefused("no", status=403)])
async def test_title_that_names_the_node_will_do_where_pagerduty_does_not_answer(intake: Stage, no: Exception) -> None:
    intake.refuses = [no]
    await intake.page("E1", title="node-2: core pinned")
    assert nodes(await intake.incidents()) == ["node-2"]


async def test_pages_that_the_bot_raised_itself_start_nothing(intake: Stage) -> None:
    async def ours(alarm: AlertGroup) -> None:
        return None

    intake.intake = Intake(
        intake.inbox, intake.cases, intake.recorder, IntakeRules(ROUTES, StormLimits(), STALE_AFTER), NODES, intake,
        asyncio.Event(), intake.clock, lambda event, **fields: None, complete=ours,
    )  # fmt: skip
    await intake.page("E1")
    assert (await intake.incidents(), await intake.inbox.waiting()) == ([], 0)


async def test_delivery_that_was_half_done_is_done_once(intake: Stage) -> None:
    def broken(group: str, /) -> None:
        raise RuntimeError("killed here")

    intake.brakes = replace(intake.brakes, storm_alerts=99)
    intake.intake = intake.build()
    intake.changed, kept = broken, intake.changed  # type: ignore[method-assign]
    intake.intake = intake.build()
    await intake.page("E1")
    assert await intake.inbox.waiting() == 1
    intake.changed = kept  # type: ignore[method-assign]
    intake.intake = intake.build()
    intake.now += MINUTE
    await asyncio.to_thread(intake.leases.beat.now)
    await intake.worked()
    (one,) = await intake.incidents()
    kinds = [entry.kind for entry in await intake.ledger.read(one.id)]
    assert (kinds, await intake.inbox.waiting()) == ([AlertReceived.__name__], 0)


ANN = {"id": "PANN", "type": "user_reference", "summary": "Ann"}


async def test_another_person_who_is_named_later_has_asked_too(intake: Stage) -> None:
    intake.people = {"PANN": "slack:T1/UANN"}
    await intake.page("E1", "Q1")
    await intake.page("E2", "Q1", agent=ANN)
    await intake.page("E3", "Q1", agent=ANN)
    (one,) = await intake.incidents()
    assert one.askers == ("slack:T1/UANN",)
    assert [entry.kind for entry in await intake.ledger.read(one.id)] == ["AlertReceived", "AlertJoined"]
    assert not one.is_over
    await intake.page("E4", "Q1", kind="incident.resolved")
    assert (await intake.incidents())[0].is_over


async def test_node_that_is_added_later_inherits_whoever_raised_its_page(intake: Stage) -> None:
    await intake.page("E1", "Q1", agent=ANN)
    intake.alerts["Q1"] = [page_alert("A1", {"host": "node-1"}), page_alert("A2", {"host": "node-2"})]
    await intake.page("E2", "Q1")
    first, second = await intake.incidents()
    assert (first.node, second.node) == ("node-1", "node-2")
    assert second.alert.asked_by == ""
    assert second.askers == first.askers == ("pagerduty:PANN",)


async def test_two_who_raise_the_same_at_one_moment_have_both_asked(intake: Stage) -> None:
    seed = IncidentSeed(Alert("pagerduty", "Q1", "pagerduty:PANN"), "g1", "node-health", "C1")
    await intake.ledger.append(incident_id("g1", "node-1"), 0, seed.opening_event("node-1"), "pagerduty:PANN")
    other = replace(seed, alert=Alert("pagerduty", "Q2", "pagerduty:PBOB"))
    await intake.recorder._open(incident_id("g1", "node-1"), other.opening_event("node-1"))
    (one,) = [fold(await intake.ledger.read(incident_id("g1", "node-1")))]
    assert one.askers == ("pagerduty:PANN", "pagerduty:PBOB")
