"""From a delivery to incidents: what goes on record of it, and what does not."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.domain.alarm import Raiser, Signal
from bot.domain.alarm_contracts import Brakes
from bot.domain.errors import ImpossibleEvent, PagerDutyRefused, PagerDutyUnavailable, UnknownIncident
from bot.domain.events import AlertReceived, Triaged
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.transitions import State
from bot.domain.verdict import Status, Verdict
from bot.ledger import AwaitedLedger, Database, Leases, Ledger
from bot.ledger.awaited_alarms import AwaitedCases, AwaitedInbox
from bot.ledger.cases import Cases
from bot.ledger.inbox import Inbox
from bot.response.alarm_book import AlarmBook
from bot.response.intake import Intake, Rules
from bot.response.routing import Routes
from bot.sources.alertmanager import AlertmanagerSource
from bot.sources.pagerduty import PagerDutySource, signals_of
from tests.alarms import BEGAN_AT, group_alert, group_body, page_alert, page_event, raw

NODES = tuple(Node(f"node-{number}", f"10.0.0.{number}", labels={"hostname": "shared"}) for number in (1, 2, 3))
MINUTE = timedelta(minutes=1)
TABLES = {
    "slack": {"alerts_channel": "CALERTS"},
    "route": [
        {"match": {"source": "pagerduty", "service": "Look only*"}, "mode": "read-only", "channel": "CQUIET"},
        {"match": {"severity": "page"}, "playbook": "network-resets"},
    ],
}
ALERTS = [page_alert("A1", {"host": "node-1"})]


class Stage:
    """An intake over one database, with a clock that is handed in and a PagerDuty that is told what to say."""

    def __init__(self, database: Database, threads: ThreadPoolExecutor) -> None:
        self.now = BEGAN_AT
        self.alerts: dict[str, Sequence[dict[str, Any]]] = {}
        self.refuses: list[Exception] = []
        self.people: dict[str, str] = {}
        self.seen: list[str] = []
        self.lines: list[tuple[str, dict[str, Any]]] = []
        self.leases = Leases(database, "one", time=self.clock)
        self.ledger = AwaitedLedger(Ledger(database, self.clock), threads)
        self.inbox = AwaitedInbox(Inbox(database, "one", time=self.clock), threads)
        self.cases = AwaitedCases(Cases(database, self.clock), threads)
        self.book = AlarmBook(self.ledger, self.cases)
        self.brakes = Brakes(storm_alerts=3)
        self.intake = self.build()

    def build(self) -> Intake:
        rules = Rules(Routes.of(TABLES, "node-health"), self.brakes)
        return Intake(
            self.inbox, self.cases, self.book, rules, lambda: NODES, self.see, self.clock,
            lambda event, **fields: self.lines.append((event, fields)),
            signals_of=self.signals, person_of=self.person,
        )  # fmt: skip

    def clock(self) -> datetime:
        return self.now

    async def see(self, group: str) -> None:
        self.seen.append(group)

    async def signals(self, case: str) -> tuple[Signal, ...] | None:
        if self.refuses:
            raise self.refuses.pop(0)
        return signals_of(self.alerts.get(case, ALERTS))

    async def person(self, raiser: Raiser) -> str:
        return self.people.get(raiser.id, "")

    async def page(self, event: str, page: str = "Q1", **more: Any) -> None:
        more = {"at": self.now} | more
        await self.kept(PagerDutySource([]).delivery({}, raw(page_event(event, page, **more))))

    async def group(self, *alerts: dict[str, Any], truncated: int = 0) -> None:
        await self.kept(AlertmanagerSource("").delivery({}, raw(group_body(alerts, truncated))))

    async def kept(self, delivery: Any) -> None:
        await asyncio.to_thread(self.leases.beat)
        self.now += timedelta(milliseconds=1)
        await self.inbox.keep(delivery)
        await self.worked()

    async def worked(self) -> None:
        while await self.intake.look():
            await self.intake.idle()

    async def incidents(self) -> list[Incident]:
        found: list[Incident] = []
        for group in dict.fromkeys([one.group for one in await self.ledger.incidents()][::-1]):
            found += await self.book.group(group)
        return found

    async def triage(self) -> None:
        for one in await self.incidents():
            if one.state is State.OPENED and one.node:
                healthy = Triaged(Verdict(one.node, Status.HEALTHY, None, None, "Healthy"))
                await self.ledger.append(one.id, one.seq, healthy, "bot")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Database.open(f"sqlite:///{tmp_path / 'zombie.db'}") as database, ThreadPoolExecutor(2) as threads:
        yield Stage(database, threads)


def do(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def nodes(incidents: Sequence[Incident]) -> list[str]:
    return sorted(one.node for one in incidents)


def test_page_becomes_an_incident_of_the_node_that_its_alert_names(stage: Stage) -> None:
    async def story() -> None:
        await stage.page("E1")
        (one,) = await stage.incidents()
        assert (one.node, one.alert.kind, one.alert.id, one.alert.asked_by) == ("node-1", "pagerduty", "Q1", "")
        assert (one.playbook, one.channel, one.withholds, one.storm) == ("node-health", "CALERTS", "", "")
        assert one.alert.text == "core pinned on a node (Batch nodes) https://example.pagerduty.com/incidents/Q1"
        assert stage.seen == [one.group]
        assert await stage.inbox.waiting() == 0

    do(story())


def test_fifty_nodes_of_one_alert_share_a_card(stage: Stage) -> None:
    async def story() -> None:
        await stage.group(*(group_alert(f"{node.name}:9100") for node in NODES))
        found = await stage.incidents()
        assert (nodes(found), len({one.group for one in found})) == (["node-1", "node-2", "node-3"], 1)
        assert {one.alert.id for one in found} == {'{}:{alertname="CorePinned"}'}

    do(story())


def test_alerts_that_were_left_out_are_said_aloud(stage: Stage) -> None:
    async def story() -> None:
        await stage.group(group_alert("node-1:9100"), truncated=7)
        (one,) = await stage.incidents()
        assert "7 more alerts were left out by alertmanager: their nodes are not known" in one.alert.text

    do(story())


def test_second_page_of_the_same_nodes_joins_the_first_card(stage: Stage) -> None:
    async def story() -> None:
        await stage.page("E1")
        await stage.triage()
        stage.now += 5 * MINUTE
        await stage.page("E2", "Q2")
        (one,) = await stage.incidents()
        assert ([alert.id for alert in one.alerts], one.ended) == (["Q1", "Q2"], True)
        stage.now += 30 * MINUTE
        await stage.page("E3", "Q3")
        assert [[alert.id for alert in one.alerts] for one in await stage.incidents()] == [["Q1", "Q2"], ["Q3"]]

    do(story())


def test_another_alert_about_the_same_node_has_its_own_card(stage: Stage) -> None:
    async def story() -> None:
        await stage.page("E1", title="core 7 of node-1 pinned")
        await stage.page("E2", "Q2", title="core 9 of node-1 pinned")
        await stage.page("E3", "Q3", title="disk of node-1 full")
        assert [[alert.id for alert in one.alerts] for one in await stage.incidents()] == [["Q1", "Q2"], ["Q3"]]

    do(story())


def test_end_upstream_is_noted_after_the_verdict_and_a_return_reopens_the_card(stage: Stage) -> None:
    async def story() -> None:
        await stage.page("E1")
        await stage.triage()
        (first,) = await stage.incidents()
        await stage.page("E2", kind="incident.resolved")
        (over,) = await stage.incidents()
        assert (over.is_over, over.state, over.ended) == (True, State.TRIAGED, True)
        stage.now += MINUTE
        await stage.page("E3", kind="incident.reopened")
        (again,) = await stage.incidents()
        assert (again.reopens, again.group, again.state) == (first.id, first.group, State.OPENED)
        assert stage.seen == [first.group] * 3

    do(story())


def test_end_upstream_calls_off_a_question_that_nobody_answered(stage: Stage) -> None:
    async def story() -> None:
        stage.alerts["Q1"] = [page_alert("A1", {"host": "shared"})]
        await stage.page("E1")
        await stage.page("E2", kind="incident.resolved")
        (one,) = await stage.incidents()
        assert (one.state, one.is_over) == (State.CANCELLED, True)

    do(story())


def test_end_that_is_told_before_the_beginning_opens_nothing(stage: Stage) -> None:
    async def story() -> None:
        await stage.page("E2", kind="incident.resolved", at=BEGAN_AT)
        await stage.page("E1", at=BEGAN_AT - MINUTE)
        assert await stage.incidents() == []

    do(story())


def test_node_that_an_alert_adds_later_stands_on_the_same_card(stage: Stage) -> None:
    async def story() -> None:
        await stage.group(group_alert("node-1:9100"))
        await stage.triage()
        await stage.group(group_alert("node-1:9100"), group_alert("node-2:9100"))
        found = await stage.incidents()
        assert (nodes(found), len({one.group for one in found})) == (["node-1", "node-2"], 1)

    do(story())


def test_alert_that_is_over_while_others_fire_closes_its_node_alone(stage: Stage) -> None:
    async def story() -> None:
        await stage.group(group_alert("node-1:9100"), group_alert("node-2:9100"))
        await stage.group(group_alert("node-1:9100", "resolved"), group_alert("node-2:9100"))
        assert {one.node: one.is_over for one in await stage.incidents()} == {"node-1": True, "node-2": False}
        await stage.group(group_alert("node-1:9100", "resolved"), group_alert("node-2:9100", "resolved"))
        assert [one.is_over for one in await stage.incidents()] == [True, True]

    do(story())


@pytest.mark.parametrize(("details", "options"), [("shared", 3), ("nobody", 3)])
def test_doubt_about_the_node_is_a_question_and_never_a_guess(stage: Stage, details: str, options: int) -> None:
    async def story() -> None:
        stage.alerts["Q1"] = [page_alert("A1", {"host": details})]
        await stage.page("E1")
        (one,) = await stage.incidents()
        assert one.question is not None
        assert (one.node, one.state, len(one.question.options)) == ("", State.UNKNOWN, options)
        await stage.page("E1b")  # told of again: asked once
        picked = await stage.book.picked(one.id, "node-2", "slack:T1/U1")
        assert (picked.node, picked.state) == ("node-2", State.OPENED)
        assert nodes(await stage.incidents()) == ["node-2"]
        with pytest.raises(ImpossibleEvent):
            await stage.book.picked(one.id, "node-3", "slack:T1/U2")
        with pytest.raises(UnknownIncident):
            await stage.book.picked("nothing", "node-3", "slack:T1/U2")

    do(story())


def test_question_is_called_off_once_the_alert_names_its_node(stage: Stage) -> None:
    async def story() -> None:
        stage.alerts["Q1"] = []
        await stage.page("E1")
        stage.alerts["Q1"] = ALERTS
        await stage.page("E2")
        found = {one.node: one.state for one in await stage.incidents()}
        assert found == {"": State.CANCELLED, "node-1": State.OPENED}

    do(story())


def test_read_only_route_offers_nothing(stage: Stage) -> None:
    async def story() -> None:
        await stage.page("E1", service={"id": "PS2", "summary": "Look only, please"})
        (one,) = await stage.incidents()
        assert (one.channel, one.withholds) == (
            "CQUIET", "Route 1 is read-only: it shows what would help and offers nothing.",
        )  # fmt: skip

    do(story())


def test_label_of_one_alert_is_enough_for_a_route(stage: Stage) -> None:
    async def story() -> None:
        await stage.group(group_alert("node-1:9100"), group_alert("node-2:9100", severity="page"))
        found = await stage.incidents()
        assert {one.playbook for one in found} == {"node-health"}, "the group's common label has the last word"
        stage.alerts["Q1"] = [page_alert("A1", {"host": "node-3", "severity": "page"}) | {"severity": "page"}]
        await stage.page("E1")
        assert (await stage.incidents())[-1].playbook == "network-resets"

    do(story())


def test_old_alert_is_read_and_offers_nothing(stage: Stage) -> None:
    async def story() -> None:
        await stage.page("E1", at=BEGAN_AT - 16 * MINUTE)
        await stage.page("E2", "Q2", at=BEGAN_AT - 14 * MINUTE, title="another")
        old, fresh = await stage.incidents()
        assert "more than 15m before it was seen to" in old.withholds
        assert fresh.withholds == ""

    do(story())


def test_storm_is_read_and_offers_nothing(stage: Stage) -> None:
    async def story() -> None:
        for number in range(5):
            await stage.page(f"E{number}", f"Q{number}", title=f"alert {'abcde'[number]}")
        found = await stage.incidents()
        assert [bool(one.storm) for one in found] == [False, False, False, True, True]
        assert "More than 3 alerts came within 5m" in found[-1].withholds
        storm = await stage.cases.storm(found[-1].storm, stage.brakes)
        assert ([one.id for one in storm.incidents], storm.cases) == ([one.id for one in found[3:]], 2)

    do(story())


def test_person_who_raised_it_has_asked(stage: Stage) -> None:
    async def story() -> None:
        stage.people = {"PANN": "slack:T1/UANN"}
        for number, person in enumerate(("PANN", "PBOB", "not a name")):
            agent = {"id": person, "type": "user_reference", "summary": "somebody"}
            await stage.page(f"E{number}", f"Q{number}", title=f"alert {'abc'[number]}", agent=agent)
        await stage.page("E9", "Q9", title="by a service", agent={"id": "PSVC1", "type": "service_reference"})
        asked = [one.alert.asked_by for one in await stage.incidents()]
        assert asked == ["slack:T1/UANN", "pagerduty:PBOB", "pagerduty:somebody", ""]
        entries = await stage.ledger.read((await stage.incidents())[0].id)
        assert entries[0].by == "slack:T1/UANN"

    do(story())


def test_page_is_asked_for_its_alerts_again_while_pagerduty_is_down(stage: Stage) -> None:
    async def story() -> None:
        stage.refuses = [PagerDutyUnavailable("PagerDuty is down.", retry_after_seconds=20)]
        await stage.page("E1")
        assert (await stage.incidents(), await stage.inbox.waiting()) == ([], 1)
        stage.now += timedelta(seconds=10)
        await stage.worked()
        assert await stage.incidents() == [], "it said when to come back"
        stage.now += timedelta(seconds=11)
        await asyncio.to_thread(stage.leases.beat)
        await stage.worked()
        assert (nodes(await stage.incidents()), await stage.inbox.waiting()) == (["node-1"], 0)

    do(story())


@pytest.mark.parametrize("no", [PagerDutyUnavailable("down"), PagerDutyRefused("no", status=403)])
def test_title_that_names_the_node_is_enough_where_pagerduty_does_not_answer(stage: Stage, no: Exception) -> None:
    async def story() -> None:
        stage.refuses = [no]
        await stage.page("E1", title="node-2: core pinned")
        assert nodes(await stage.incidents()) == ["node-2"]

    do(story())


def test_pages_that_the_bot_raised_itself_start_nothing(stage: Stage) -> None:
    async def story() -> None:
        async def ours(case: str) -> None:
            return None

        stage.intake = Intake(
            stage.inbox, stage.cases, stage.book, Rules(Routes.of({}, "node-health")), lambda: NODES, stage.see,
            stage.clock, lambda event, **fields: None, signals_of=ours,
        )  # fmt: skip
        await stage.page("E1")
        assert (await stage.incidents(), await stage.inbox.waiting()) == ([], 0)

    do(story())


def test_delivery_that_was_half_done_is_done_once(stage: Stage) -> None:
    async def story() -> None:
        async def broken(group: str) -> None:
            raise RuntimeError("killed here")

        stage.brakes = replace(stage.brakes, storm_alerts=99)
        stage.intake = stage.build()
        stage.see, kept = broken, stage.see  # type: ignore[method-assign]
        stage.intake = stage.build()
        await stage.page("E1")
        assert await stage.inbox.waiting() == 1
        stage.see = kept  # type: ignore[method-assign]
        stage.intake = stage.build()
        stage.now += MINUTE
        await asyncio.to_thread(stage.leases.beat)
        await stage.worked()
        (one,) = await stage.incidents()
        kinds = [entry.kind for entry in await stage.ledger.read(one.id)]
        assert (kinds, await stage.inbox.waiting()) == ([AlertReceived.__name__], 0)

    do(story())
