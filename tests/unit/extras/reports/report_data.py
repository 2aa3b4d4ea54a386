"""Accounts for tests: an incident in any state, with words of one's choice wherever words may stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from bot.actions import ACTIONS
from bot.domain.alert import Alert
from bot.domain.case import CaseHeader
from bot.domain.events import (
    AlertJoined,
    Approved,
    Compared,
    Escalated,
    IncidentEvent,
    PlanProposed,
    Resolved,
    SampleTaken,
    StepSkipped,
    StepVerified,
    ValidationStarted,
)
from bot.domain.fold import fold
from bot.domain.probe import Unread
from bot.domain.transitions import State
from bot.domain.verdict import Evidence, RuledOut, Undecided
from bot.extras.reports.report_data import ReportData, StoredAnswer
from bot.seats import Moment, Picture
from bot.view.plan_words import PlanWords
from tests.record.incidents import BEGAN_AT, EVIDENCE, OPENING, PLAN, STARTED, TRIAGED, WAYS, entries

WORDS = PlanWords(ACTIONS)


def report_data(events: Iterable[IncidentEvent], **more: Any) -> ReportData:
    """The report data of an incident with these entries."""
    told = entries(events)
    return replace(ReportData(fold(told), told, "zombie 0.1.0", BEGAN_AT + timedelta(minutes=5), WORDS), **more)


def of(state: State, **more: Any) -> ReportData:
    """The report data of an incident in that state."""
    return report_data(WAYS[state], **more)


def everything(words: str, cured: bool = True) -> tuple[IncidentEvent, ...]:
    """The events of an incident that has everything that a report tells, each free text of it being `words`."""
    evidence = Evidence("harm", "cpu", words, (words, f"{words}\n{words}"))
    verdict = replace(
        TRIAGED.verdict,
        summary=words,
        evidence=(EVIDENCE, evidence),
        ruled_out=(RuledOut("cpu-steal", words),),
        undecided=(Undecided("io-stall", words),),
        unread=(Unread("perf", words),),
        suspects=(words,),
        lasting_fix=words,
        try_next=words,
    )
    proposed = PlanProposed.of(
        replace(PLAN, notes=(words,), lasting_fix=words),
        {"address": words, "also1": words},
        figures={"dying memory cgroups": words, words: "1"},
        affects=(words,),
    )
    looked = SampleTaken(True, (Evidence("figures", "verdict", words, (f"dying memory cgroups={words}",)),))
    return (
        replace(OPENING, alert=Alert("pagerduty", "Q1", text=words, fired_at=BEGAN_AT - timedelta(minutes=3))),
        AlertJoined(Alert("alertmanager", words, text=words)),
        replace(TRIAGED, verdict=verdict),
        proposed,
        Approved(proposed.digest, words, words),
        STARTED,
        StepVerified(1, (Evidence("off", "units", words, (words,)),), timedelta(seconds=2)),
        StepSkipped(2, words),
        ValidationStarted(timedelta(minutes=10), words),
        looked,
        Resolved(words, (Compared(words, words, words),)) if cured else Escalated(words, words),
    )


def told_all(words: str, cured: bool = True) -> ReportData:
    """The report data of such an incident, with whatever else stands beside its record."""
    return report_data(
        everything(words, cured),
        head="4:" + "ab" * 16,
        broken=words,
        case=CaseHeader("node-gpu-01", environment={"kernel": words}, labels={"gpus": words}),
        why=(words,),
        labels={"gpus": words},
        before_reboot=(StoredAnswer(words, words),),
        others=(words,),
        profiles=(Picture(b"\x89PNG\r\n\x1a\n", words),),
        moments=(Moment(BEGAN_AT + timedelta(minutes=1), words, words, words, timedelta(seconds=1)),),
    )
