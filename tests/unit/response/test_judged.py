"""The verdict on an alarm's node, and what becomes of its plan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bot.domain.alert import BOT, Alert
from bot.domain.events import AlertCleared, AlertJoined, AlertReceived, IncidentEvent, PlanProposed, PlanWithheld
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.transitions import State
from bot.response.alarm_book import incident_id
from bot.response.judged import INTERRUPTED, OVER_BY_NOW, Judged
from tests.incidents import HEALTHY, NODE, PLAN, TRIAGED, VERDICT
from tests.intake import Stage, do

PLAYBOOK = Playbook("node-health", "", 3, (), (), ())
ALERT = Alert("pagerduty", "Q1", text="core pinned")
ID = incident_id("g1", NODE)
PROPOSED = PlanProposed.of(PLAN, {"boot_id": "one"})


async def opened(stage: Stage, **more: Any) -> None:
    await stage.ledger.append(ID, 0, AlertReceived(ALERT, NODE, "g1", "node-health", **more), BOT)


async def now(stage: Stage) -> Incident:
    return fold(await stage.ledger.read(ID))


async def judge(
    stage: Stage, verdict: Any = VERDICT, offered: IncidentEvent | None = PROPOSED, **events: Any
) -> Incident:
    """Have it judged; `meanwhile` is told while the offer is thought about."""

    async def offer(*_: Any) -> IncidentEvent | None:
        for event in events.get("meanwhile", ()):
            await stage.ledger.append(ID, (await now(stage)).seq, event, BOT)
        return offered

    judged = Judged(stage.ledger, offer, lambda event, **fields: stage.lines.append((event, fields)))
    return await judged.triaged(ID, verdict, PLAYBOOK)


def test_verdict_and_offer_stand_on_record(intake: Stage) -> None:
    async def story() -> None:
        await opened(intake)
        incident = await judge(intake)
        assert (incident.state, incident.playbook, incident.proposal) == (State.PROPOSED, "node-health", PROPOSED)
        assert await judge(intake, HEALTHY) == incident, "judged once"

    do(story())


def test_alert_that_joins_meanwhile_loses_no_verdict(intake: Stage) -> None:
    async def story() -> None:
        await opened(intake)
        incident = await judge(intake, meanwhile=[AlertJoined(replace(ALERT, id="Q2"))])
        assert (incident.state, len(incident.alerts)) == (State.PROPOSED, 2)

    do(story())


def test_verdict_without_a_plan_is_the_end(intake: Stage) -> None:
    async def story() -> None:
        await opened(intake)
        incident = await judge(intake, HEALTHY)
        assert (incident.state, incident.ended) == (State.TRIAGED, True)

    do(story())


def test_what_is_withheld_from_the_beginning_is_never_offered(intake: Stage) -> None:
    async def story() -> None:
        await opened(intake, withheld="Route 1 is read-only.")
        incident = await judge(intake)
        assert (incident.withheld, incident.ended) == (PlanWithheld("Route 1 is read-only."), True)

    do(story())


def test_nothing_is_offered_once_the_alert_is_over(intake: Stage) -> None:
    async def story() -> None:
        await opened(intake)
        await intake.ledger.append(ID, 1, AlertCleared(ALERT.kind, "Q1"), BOT)
        assert (await judge(intake)).withheld == PlanWithheld(OVER_BY_NOW)

    do(story())


def test_offer_is_called_off_where_the_alert_ended_while_it_was_made(intake: Stage) -> None:
    async def story() -> None:
        await opened(intake)
        incident = await judge(intake, meanwhile=[AlertCleared(ALERT.kind, "Q1")])
        assert (incident.state, incident.is_over) == (State.CANCELLED, True)

    do(story())


def test_plan_that_nobody_offered_any_more_is_withheld_and_says_so(intake: Stage) -> None:
    async def story() -> None:
        await opened(intake)

        await intake.ledger.append(ID, 1, TRIAGED, BOT)
        judged = Judged(intake.ledger, None, lambda event, **fields: None)
        await judged.finished(await now(intake))
        assert (await now(intake)).withheld == PlanWithheld(INTERRUPTED)
        await judged.finished(await now(intake))

    do(story())
