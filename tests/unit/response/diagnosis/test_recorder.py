"""The verdict on an alarm's node, and what becomes of its plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, cast

import pytest

from bot.domain.alert import BOT, Alert
from bot.domain.errors import LedgerUnavailable
from bot.domain.events import AlertCleared, AlertJoined, AlertReceived, IncidentEvent, PlanProposed, PlanWithheld
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.probe import Snapshot
from bot.domain.transitions import State
from bot.response.diagnosis.proposal import ACTING_IS_OFF, Proposer
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.incident_record import OVER_BY_NOW, IncidentRequest, null_log
from bot.response.intake.alert_recorder import incident_id
from tests.alerts.intake import Stage
from tests.record.incidents import ASKER, BEGAN_AT, HEALTHY, NODE, PLAN, VERDICT

PLAYBOOK = Playbook("node-health", "", 3, (), (), ())
ALERT = Alert("pagerduty", "Q1", text="core pinned")
ID = incident_id("g1", NODE)
PROPOSED = PlanProposed.of(PLAN, {"boot_id": "one"})


class Offering:
    """A proposer that offers what it is told to."""

    def __init__(self, offer: Callable[..., Awaitable[IncidentEvent | None]]) -> None:
        self.event = offer


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

    proposer = cast("Proposer", Offering(offer))
    recorder = VerdictRecorder(stage.ledger, proposer, lambda event, **fields: stage.lines.append((event, fields)))
    return await recorder.record(await now(stage), verdict, PLAYBOOK)


async def test_verdict_and_offer_stand_on_record(intake: Stage) -> None:
    await opened(intake)
    incident = await judge(intake)
    assert (incident.state, incident.playbook, incident.proposal) == (State.PROPOSED, "node-health", PROPOSED)
    assert await judge(intake, HEALTHY) == incident, "judged once"


async def test_alert_that_joins_meanwhile_loses_no_verdict(intake: Stage) -> None:
    await opened(intake)
    incident = await judge(intake, meanwhile=[AlertJoined(replace(ALERT, id="Q2"))])
    assert (incident.state, len(incident.alerts)) == (State.PROPOSED, 2)


async def test_verdict_without_a_plan_is_the_end(intake: Stage) -> None:
    await opened(intake)
    incident = await judge(intake, HEALTHY)
    assert (incident.state, incident.ended) == (State.TRIAGED, True)


async def test_what_is_withheld_from_the_beginning_is_never_offered(intake: Stage) -> None:
    await opened(intake, withheld="Route 1 is read-only.")
    incident = await judge(intake)
    assert (incident.withheld, incident.ended) == (PlanWithheld("Route 1 is read-only."), True)


async def test_nothing_is_offered_once_the_alert_is_over(intake: Stage) -> None:
    await opened(intake)
    await intake.ledger.append(ID, 1, AlertCleared(ALERT.kind, "Q1"), BOT)
    assert (await judge(intake)).withheld == PlanWithheld(OVER_BY_NOW)


async def test_offer_is_called_off_where_the_alert_ended_while_it_was_made(intake: Stage) -> None:
    await opened(intake)
    incident = await judge(intake, meanwhile=[AlertCleared(ALERT.kind, "Q1")])
    assert (incident.state, incident.is_over) == (State.CANCELLED, True)


async def test_verdict_and_offer_are_one_transaction(intake: Stage) -> None:
    await opened(intake)
    before = (await intake.ledger.changed()).cursor
    await judge(intake)
    kinds = [entry.kind for entry in await intake.ledger.read(ID)]
    assert kinds == ["AlertReceived", "Triaged", "PlanProposed"]
    assert (await intake.ledger.changed()).cursor == before + 1, "nobody sees one without the other"


REQUEST = IncidentRequest("terminal", "7k3m9x2qpv", ASKER, f"check {NODE}", "node-health")
UNRECORDED = REQUEST.unrecorded(NODE, BEGAN_AT)


async def test_check_that_is_through_becomes_an_incident_with_its_verdict(intake: Stage) -> None:
    read = replace(HEALTHY, snapshot=Snapshot(NODE, BEGAN_AT, timedelta(seconds=5)))
    incident = await VerdictRecorder(intake.ledger, None, null_log).record(UNRECORDED, read, PLAYBOOK)
    assert (incident.verdict, incident.ended, incident.group) == (HEALTHY, True, REQUEST.group)
    assert (incident.alert.kind, incident.alert.asked_by) == ("terminal", ASKER)
    assert incident.triage is not None
    triage = (incident.triage.playbook, incident.triage.playbook_version, incident.triage.taken_at)
    assert triage == ("node-health", 3, BEGAN_AT)


async def test_plan_is_withheld_where_nobody_offers_it(intake: Stage) -> None:
    incident = await VerdictRecorder(intake.ledger, None, null_log).record(UNRECORDED, VERDICT, PLAYBOOK)
    assert (incident.withheld, incident.ended) == (PlanWithheld(ACTING_IS_OFF), True)


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("gone_at", [1, 2])
async def test_verdict_that_was_half_written_down_is_told_again_and_stands_once(
    intake: Stage, gone_at: int, heard: bool
) -> None:
    class Breaks:
        """A ledger whose writing breaks once, before or after it was done."""

        def __init__(self) -> None:
            self.appended = 0

        def __getattr__(self, name: str) -> Any:
            verb = getattr(intake.ledger, name)
            return partial(self._written, verb) if name.startswith("append") else verb

        async def _written(self, verb: Any, *args: Any) -> Any:
            self.appended += 1
            if self.appended != gone_at:
                return await verb(*args)
            if heard:
                await verb(*args)
            raise LedgerUnavailable("The connection to the database broke.")

    async def offer(*_: Any) -> PlanProposed:
        return PROPOSED

    broken: Any = Breaks()
    recorder = VerdictRecorder(broken, cast("Proposer", Offering(offer)), null_log)
    with pytest.raises(LedgerUnavailable):
        await recorder.record(UNRECORDED, VERDICT, PLAYBOOK)
    await recorder.record(UNRECORDED, VERDICT, PLAYBOOK)
    kinds = [entry.kind for entry in await intake.ledger.read(UNRECORDED.id)]
    assert kinds == ["AlertReceived", "Triaged", "PlanProposed"]
