"""Incidents on record: found again, and carried on one entry at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.domain.action import Plan, Step
from bot.domain.alert import BOT
from bot.domain.errors import Conflict, ImpossibleEvent, UnknownIncident
from bot.domain.events import Cancelled
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.playbook import Playbook
from bot.domain.transitions import State
from bot.ledger import Ledger
from bot.response.incident_record import IncidentRecord, IncidentRequest, cured_since
from tests.known import known
from tests.record.incidents import ASKER, NODE, OPENING, PROPOSED, TRIAGED, VERDICT, WAYS, entries

PLAYBOOK = Playbook("node-health", "Health", 3, (), (), ())
WISH = IncidentRequest("terminal", "7k3m9x2qpv", ASKER, f"check {NODE}", "node-health")


async def test_who_tells_late_hears_of_it(ledger: Ledger) -> None:
    record = IncidentRecord(ledger)
    await ledger.append(WISH.incident(NODE), 0, WISH.opening_event(NODE), ASKER)
    opened = await record.find(WISH.incident(NODE))
    triaged = await record.append(opened, TRIAGED, BOT)
    assert (triaged.state, triaged.verdict) == (State.TRIAGED, VERDICT)
    with pytest.raises(Conflict):
        await record.append(opened, Cancelled("asked twice"), ASKER)
    with pytest.raises(ImpossibleEvent):
        await record.append(triaged, OPENING, ASKER)
    assert (await record.append(triaged, PROPOSED, BOT)).state is State.PROPOSED


@pytest.mark.parametrize("wrong", ["nosuchone0", "house", "../x", ""])
async def test_incident_that_is_not_there_is_said_to_be_unknown(ledger: Ledger, wrong: str) -> None:
    with pytest.raises(UnknownIncident):
        await IncidentRecord(ledger).find(wrong)


def undoing(state: State, unit: str) -> Incident:
    """An incident that undoes what was done to a unit: its verdict names no cause."""
    incident = fold(entries(WAYS[state]))
    assert incident.triage is not None
    assert incident.proposal is not None
    triage = replace(incident.triage, verdict=replace(VERDICT, cause=None), taken_at=None)
    plan = Plan(NODE, (Step("enable_unit", {"unit": unit}, (f"systemctl enable -- {unit}",)),))
    return replace(incident, id=unit, triage=triage, proposal=replace(incident.proposal, plan=plan), undoes="i0")


def test_undo_of_one_thing_leaves_no_other_undo_without_something_to_do() -> None:
    done = undoing(State.RESOLVED, "one.service")
    waits = undoing(State.PROPOSED, "two.service")
    waits = replace(waits, proposed_at=done.opened_at - timedelta(hours=1))
    assert cured_since(replace(waits, proposal=done.proposal), done) != "", "it is the same"
    assert cured_since(waits, done) == ""


@pytest.mark.parametrize(
    ("cause", "says"), [(VERDICT.cause, "nothing left to do"), ("gpu-fault", "check the node again")]
)
def test_what_cured_one_cause_is_not_told_to_have_cured_another(cause: str, says: str) -> None:
    done, waits = (undoing(state, "one.service") for state in (State.RESOLVED, State.PROPOSED))
    triages = (replace(known(done.triage), verdict=replace(VERDICT, cause=each)) for each in (VERDICT.cause, cause))
    done = replace(done, triage=next(triages), id="i0")
    waits = replace(waits, triage=next(triages), proposed_at=done.opened_at - timedelta(hours=1))
    assert says in cured_since(waits, done)
