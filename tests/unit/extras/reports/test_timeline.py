"""The timeline of a report: everything on one clock, each row with its source and how far its time may be off."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.domain.alert import Alert
from bot.domain.transitions import State
from bot.extras.reports.parts import Grid
from bot.extras.reports.report import timeline
from bot.extras.reports.report_data import ReportData
from bot.seats import Moment
from bot.view.words import Instant, plain
from tests.record.incidents import BEGAN_AT, OPENING, WAYS
from tests.unit.extras.reports.report_data import of, report_data


def grid(told: ReportData) -> Grid:
    return next(part for part in timeline(told).parts if isinstance(part, Grid))


def rows(told: ReportData) -> list[tuple[str, ...]]:
    return [tuple(plain(cell) for cell in row) for row in grid(told).rows]


def test_what_the_node_and_the_source_said_stands_between_the_entries_in_the_order_of_time() -> None:
    fired = replace(OPENING, alert=Alert("pagerduty", "Q1", fired_at=BEGAN_AT - timedelta(minutes=3)))
    reset = Moment(
        BEGAN_AT - timedelta(seconds=90), "kernel log of node-1", "nic-reset", "Device reset", timedelta(0, 2)
    )
    caught = Moment(BEGAN_AT - timedelta(seconds=89), "capture abc123", "nic-reset", "reset at …", timedelta(0, 0.004))
    unsure = Moment(BEGAN_AT - timedelta(seconds=80), "capture abc123", "lockup", "soft lockup")
    found = rows(report_data((fired, *WAYS[State.TRIAGED][1:]), moments=(unsure, reset, caught)))
    assert [row[4] for row in found[:5]] == ["alert fired", "nic-reset", "nic-reset", "lockup", "AlertReceived"]
    assert [row[1] for row in found[:5]] == [
        "its source's clock",
        "±\u00a02.0\u00a0s",
        "±\u00a00.004\u00a0s",
        "not known",
        "",
    ]
    assert [row[3] for row in found[:3]] == ["pagerduty", "kernel log of node-1", "capture abc123"]
    assert found[0][2].startswith("-")


def test_record_alone_is_in_the_order_of_its_entries() -> None:
    told = of(State.RESOLVED)
    assert [row[4] for row in rows(told)] == [entry.kind for entry in told.entries]


def test_times_are_instants_which_each_reader_sees_in_their_zone() -> None:
    assert all(isinstance(row[0][0], Instant) for row in grid(of(State.TRIAGED)).rows)
