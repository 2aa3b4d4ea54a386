"""What a node had before: counted by what was seen to be gone in between, and put on record with the verdict."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.causes import CAUSES
from bot.domain.alert import Alert
from bot.domain.cause import Cause
from bot.domain.claim import Claim
from bot.domain.events import (
    REFUTED,
    AlertCleared,
    AlertReceived,
    Escalated,
    IncidentEvent,
    PlanWithheld,
    SampleTaken,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    ValidationStarted,
)
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.playbook import ConfiguredCause, Playbook
from bot.domain.probe import Snapshot
from bot.domain.relapse import Relapse
from bot.domain.verdict import Evidence, RuledOut, Verdict
from bot.probes.host import HostReading
from bot.response.diagnosis.proposal import ACTING_IS_OFF, Proposer
from bot.response.diagnosis.recorder import VerdictRecorder
from bot.response.diagnosis.relapses import relapse_of, withheld_after_reboot
from bot.response.incident_record import IncidentRequest, null_log
from tests.alerts.intake import Stage
from tests.known import known, known_as
from tests.record.incidents import (
    APPROVED,
    BEGAN_AT,
    HEALTHY,
    HOLDS,
    NODE,
    OPENING,
    PLAN,
    PROPOSED,
    RESOLVED,
    STARTED,
    TRIAGED,
    VALIDATING,
    VERDICT,
    VERIFIED,
    by_whom,
    entries,
)

DAY, MONTH = timedelta(days=1), timedelta(days=30)
REBOOTED = (StepStarted(2, 1, "b", (), "r", 9), StepVerified(2, (), timedelta(seconds=90)))
CURED: tuple[IncidentEvent, ...] = (
    OPENING, TRIAGED, PROPOSED, APPROVED, STARTED, VERIFIED, *REBOOTED, VALIDATING, HOLDS, RESOLVED,
)  # fmt: skip


def at(day: float, *events: IncidentEvent, name: str = "") -> Incident:
    """An incident that was opened so many days after the first of these tests."""
    later = timedelta(days=day)
    told = entries(events, name or f"day{day:07.2f}".replace(".", "x"))
    return fold([replace(entry, at=entry.at + later) for entry in told])


def seen(day: float, verdict: Verdict = VERDICT, **more: Any) -> Incident:
    """A verdict for which nothing was done."""
    return at(day, OPENING, replace(TRIAGED, verdict=verdict, **more))


def now(day: float) -> Incident:
    return at(day, OPENING, name="now0000000")


def relapse(day: float, *past: Incident, verdict: Verdict = VERDICT, machine: str = "") -> Relapse | None:
    return relapse_of(now(day), verdict, past, machine)


def test_third_time_after_two_remedies_says_how_soon_it_comes_back() -> None:
    first, second = at(0, *CURED), at(9, *CURED)
    found = known(relapse(18, first, second))
    assert (found.times, found.within, found.cured, found.rebooted) == (3, MONTH, True, True)
    assert 8.9 * DAY < found.apart < 9 * DAY
    assert found.tried == (first.id, second.id)


@pytest.mark.parametrize(
    ("past", "times"),
    [
        ((), None),
        ((seen(1),), None),  # it was never gone: one case, told twice
        ((seen(1), seen(2), seen(3)), None),
        ((seen(1), seen(2, HEALTHY)), 2),
        ((seen(1), seen(2, HEALTHY), seen(3), seen(4), seen(5, HEALTHY)), 3),
        ((seen(1), seen(2, replace(VERDICT, cause="oom-kills"))), None),  # another cause beside it, and no cure
        ((seen(1, replace(VERDICT, cause="oom-kills")), seen(2, HEALTHY)), None),
        ((at(1, *CURED),), 2),
        ((at(1, replace(OPENING, undoes="old0000000"), TRIAGED), seen(2, HEALTHY)), None),
        ((replace(at(1, *CURED), node="node-2"),), None),
    ],
)
def test_time_is_counted_once_the_cause_was_gone_in_between(past: tuple[Incident, ...], times: int | None) -> None:
    found = relapse(10, *past)
    assert (found.times if found else None) == times


def test_alert_that_its_source_ended_is_a_case_of_its_own() -> None:
    paged = AlertReceived(Alert("pagerduty", "Q1"), NODE, "g1")
    over = at(1, paged, TRIAGED, AlertCleared("pagerduty", "Q1"))
    found = known(relapse(4, over))
    assert (found.times, found.apart, found.cured) == (2, 3 * DAY, False)


def test_another_machine_of_the_same_name_is_another_node() -> None:
    cured = at(1, OPENING, replace(TRIAGED, machine_id="M1"), *CURED[2:])
    assert relapse(5, cured, machine="m2") is None
    assert relapse(5, cured, machine="m1") is not None
    assert relapse(5, cured, machine="") is not None


def test_another_remedy_was_not_tried() -> None:
    other = replace(VERDICT, plan=replace(PLAN, steps=PLAN.steps[:1]))
    found = known(relapse(18, at(0, *CURED), at(9, *CURED), verdict=other))
    assert found.tried == ()


def test_remedy_that_was_undone_or_of_which_nothing_ran_did_not_fail() -> None:
    first, second = at(0, *CURED), at(9, *CURED)
    undo = replace(at(10, *CURED), undoes=second.id)
    vain = at(12, *CURED[:5], StepFailed(1, "too late", never_ran=True), Escalated("x"))
    braked = at(13, *CURED[:6], Escalated("Not done: reboot."))
    found = known(relapse(18, first, second, undo, vain, braked))
    assert found.tried == (first.id,)
    rebooted = at(12, *CURED[:7], StepFailed(2, "too late", never_ran=True), Escalated("x"))
    assert withheld_after_reboot(now(18), VERDICT, playbook(MONTH), (rebooted,)) is None


@pytest.mark.parametrize(
    ("steps", "had_its_try"),
    [
        (CURED[4:6], False),  # stopped before its reboot
        ((STARTED, StepFailed(1, "it runs again")), True),
        ((*CURED[4:7], StepFailed(2, "refused", never_ran=True)), False),
        (CURED[4:7], True),  # it may be under way
        (CURED[4:8], True),
        ((*CURED[4:6], ValidationStarted(DAY, waiting=1)), True),
    ],
)
def test_plan_that_was_stopped_between_its_steps_was_not_carried_out(
    steps: tuple[IncidentEvent, ...], had_its_try: bool
) -> None:
    assert at(0, *CURED[:4], *steps).was_carried_out == had_its_try


def test_cure_that_does_not_hold_is_none_whoever_did_what_the_plan_asks() -> None:
    refuted = SampleTaken(False, (Evidence(REFUTED, "look", "it is back"),))
    needless = StepSkipped(1, "disabled by hand"), StepSkipped(2, "rebooted by hand")
    assert at(0, *CURED[:4], *needless, ValidationStarted(DAY), refuted).is_unfixed


# --- a reboot that did not last


def playbook(lasts: timedelta | None) -> Playbook:
    cause = Cause(str(VERDICT.cause), "", (), {}, lambda *_: RuledOut("", ""), reboot_lasts=lasts)
    return Playbook("node-health", "", 3, (), (), (ConfiguredCause(cause, {}),))


@pytest.mark.parametrize(
    ("day", "lasts", "withheld"), [(29, MONTH, True), (31, MONTH, False), (2, DAY, False), (2, None, False)]
)
def test_reboot_for_a_cause_is_not_offered_again_before_its_time(
    day: int, lasts: timedelta | None, withheld: bool
) -> None:
    again = withheld_after_reboot(now(day), VERDICT, playbook(lasts), (at(0, *CURED),))
    assert (again is not None) == withheld
    if again is not None:
        assert "29 days ago" in again.because or "28 days ago" in again.because
        assert "Take the agent out of the image." in again.because


def test_reboot_counts_however_it_ended_and_under_every_name_of_the_machine() -> None:
    begun = replace(at(0, *CURED[:8]), node="other-name")
    assert withheld_after_reboot(now(3), VERDICT, playbook(MONTH), (begun,)) is not None


def test_what_cannot_be_read_may_have_been_a_reboot() -> None:
    again = known(withheld_after_reboot(now(3), VERDICT, playbook(MONTH), (), {"7k3m9x2qpv": "damaged"}))
    assert "incident 7k3m9x2qpv cannot be read" in again.because
    assert withheld_after_reboot(now(3), VERDICT, playbook(None), (), {"7k3m9x2qpv": "damaged"}) is None


def test_plan_without_a_reboot_and_a_past_without_one_are_offered() -> None:
    alone = replace(VERDICT, plan=replace(PLAN, steps=PLAN.steps[:1]))
    assert withheld_after_reboot(now(3), alone, playbook(MONTH), (at(0, *CURED),)) is None
    disabled = at(0, *CURED[:6])
    assert withheld_after_reboot(now(3), VERDICT, playbook(MONTH), (disabled, seen(1))) is None
    other = replace(VERDICT, cause="lockup")
    assert withheld_after_reboot(now(3), other, playbook(MONTH), (at(0, *CURED),)) is None


def test_faulty_gpu_is_rebooted_once_in_30_days() -> None:
    assert CAUSES["gpu-fault"].reboot_lasts == MONTH


# --- on record


async def kept(stage: Stage, name: str, *events: IncidentEvent) -> None:
    for seq, event in enumerate(events):
        if isinstance(event, StepStarted):
            await stage.ledger.begin(name, seq, event, by_whom(event), Claim(NODE, PLAN.remedy, "r", cure=PLAN.cure))
        else:
            await stage.ledger.append(name, seq, event, by_whom(event))


def read_of(machine_id: str) -> Verdict:
    host = HostReading(kernel="6.1", boot_id="b", uptime=DAY, machine_id=machine_id)
    return replace(VERDICT, snapshot=Snapshot(NODE, BEGAN_AT, timedelta(seconds=5), {"host": host}))


WISH = IncidentRequest("terminal", "7k3m9x2qpv", "terminal:ann", "check", "node-health")


async def recorded(
    stage: Stage, lasts: timedelta | None, proposer: Proposer | None = None, wish: IncidentRequest = WISH
) -> Incident:
    """Record a verdict of now."""
    recorder = VerdictRecorder(stage.ledger, proposer, null_log)
    return await recorder.record(wish.unrecorded(NODE, stage.now), read_of("m1"), playbook(lasts))


async def test_recorder_puts_the_past_on_record_with_the_verdict(intake: Stage) -> None:
    await kept(intake, "first00000", *CURED)
    intake.now += 9 * DAY
    await kept(intake, "second0000", *CURED)
    intake.now += 9 * DAY
    incident = await recorded(intake, None)
    assert incident.triage is not None
    assert incident.triage.relapse is not None
    assert (incident.triage.relapse.times, incident.triage.relapse.tried) == (3, ("first00000", "second0000"))
    again = fold(await intake.ledger.read(incident.id))
    assert again.triage == incident.triage, "it is read back as it was"
    guarded = await recorded(intake, MONTH, wish=replace(WISH, id="8k3m9x2qpv"))
    assert "in incident second0000" in known_as(guarded.withheld, PlanWithheld).because


async def test_reboot_is_remembered_however_often_the_node_was_looked_at_since(intake: Stage) -> None:
    await kept(intake, "first00000", *CURED)
    for number in range(61):
        intake.now += timedelta(hours=6)
        await kept(intake, f"look{number:06}", OPENING, replace(TRIAGED, verdict=VERDICT))
    again = await recorded(intake, MONTH)
    assert again.withheld is not None
    assert "in incident first00000" in again.withheld.because
    assert "15 days ago" in again.withheld.because


@pytest.mark.parametrize(
    ("offered", "stands"),
    [
        (PROPOSED, False),
        (PlanWithheld(ACTING_IS_OFF), False),
        (PlanWithheld("Nobody may approve."), True),
        (Escalated("The same plan was carried out less than a day ago."), True),
    ],
)
async def test_only_what_would_be_offered_is_kept_back(intake: Stage, offered: IncidentEvent, stands: bool) -> None:
    async def event(*_: Any) -> IncidentEvent:
        return offered

    await kept(intake, "first00000", *CURED)
    intake.now += DAY
    incident = await recorded(intake, MONTH, cast("Proposer", SimpleNamespace(event=event)))
    assert (incident.withheld == offered or incident.ending == offered) == stands
    if not stands:
        assert incident.proposal is None
        assert "in incident first00000" in known(incident.withheld).because


async def test_past_of_more_than_30_days_ago_is_not_told(intake: Stage) -> None:
    await kept(intake, "first00000", *CURED)
    intake.now += 31 * DAY
    incident = await recorded(intake, MONTH)
    assert known(incident.triage).relapse is None
