"""Where profiles are left out nobody takes one; those on record are evaluated all the same, and nothing draws them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.app.extras import extras_in_force, rights_of, shipped
from bot.app.factories import library
from bot.domain.case import Case, CaseHeader
from bot.domain.command import Completed
from bot.domain.events import ProfileTaken
from bot.domain.incident import Incident
from bot.extras.captures.events import CaptureAsked, CaptureBegan, SymptomCaught
from bot.extras.captures.store import CaptureStore
from bot.extras.profiles.sketch import Bar, Sketch
from bot.extras.profiles.sketches import SKETCH
from bot.extras.reports.report_data import ReportData
from bot.extras.reports.report_maker import report_data
from bot.ledger import CaseStore, Database, Ledger
from bot.response.execution.sudoers import capture_sudoers_text
from bot.seats import Extra
from tests.known import known
from tests.record.incidents import APPROVER, ASKER, BEGAN_AT, NODE, OPENING, TRIAGED
from tests.record.ledgers import ledger_in

ID, CAPTURE = "7k3m9x2qpv", "c4p7t0re00"
READING = '{"core": 39}'


def sketch_of(core: int) -> Sketch:
    return Sketch(NODE, core, f"core {core} ran kubelet", 49, "walk", (Bar(0, 0, 49, "walk"),), ((1,) * 50,))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A record with an incident, a profile from its card, and what a capture of its node caught."""
    with ledger_in(tmp_path) as opened:
        ledger, store = Ledger(opened), CaptureStore(opened)
        ledger.append.now(ID, 0, OPENING, ASKER)
        ledger.append.now(ID, 1, TRIAGED, "bot")
        taken = ProfileTaken("Core 39 ran kubelet.", "cycles at 49 Hz for 10 s.", "", READING, kept(opened, ID, 39))
        ledger.append.now(ID, 2, taken, APPROVER)
        at = ledger.read.now(ID)[0].at - timedelta(minutes=1)
        caught = SymptomCaught(CAPTURE, "lockup", at, 100.0, "soft lockup", sketch=kept(opened, CAPTURE, 7))
        asked = CaptureAsked(CAPTURE, NODE, 1, 2, ("lockup",))
        store.append.now(lambda _: (asked, CaptureBegan(CAPTURE, 1), caught), ASKER)
        yield opened


def kept(database: Database, under: str, core: int) -> str:
    case = Case(CaseHeader(NODE, BEGAN_AT, 1, "test"), (Completed(SKETCH, SKETCH, 0, sketch_of(core).text()),))
    return CaseStore(database).keep.now(under, case)


@pytest.fixture
def without(tmp_path: Path) -> tuple[Extra, ...]:
    """The extras with profiles off."""
    (tmp_path / "zombie.toml").write_text('[extras]\noff = ["profiles"]\n')
    found = extras_in_force((), {}, tmp_path)
    assert found.left_out["captures"] == "it needs profiles"
    return found.on


def reported(database: Database, extras: tuple[Extra, ...]) -> ReportData:
    return report_data(database, ID, library(), BEGAN_AT, extras=extras)


def test_profile_on_record_is_still_evaluated(database: Database) -> None:
    incident: Incident | None = Ledger(database).incident.now(ID)
    assert known(incident).profile == READING


def test_what_no_look_read_of_the_log_is_one_moment_of_a_report(database: Database) -> None:
    at = Ledger(database).read.now(ID)[0].at
    gaps = [SymptomCaught(CAPTURE, "log-unread", at, 60.0 * n, "more than 200 lines", f"part {n}") for n in (3, 4, 5)]
    CaptureStore(database).append.now(lambda _: gaps, ASKER)
    (moment,) = (each for each in reported(database, shipped().on).moments if each.what == "log-unread")
    assert moment.words == "more than 200 lines; not read: part 3; 2 more times, the last: part 5"


def test_report_draws_what_each_extra_that_is_there_has(database: Database, without: tuple[Extra, ...]) -> None:
    whole = reported(database, shipped().on)
    assert ["core 39" in picture.alt for picture in whole.profiles] == [True, True, False, False]
    assert ["core 7" in picture.alt for picture in whole.profiles] == [False, False, True, True]
    assert all(picture.png.startswith(b"\x89PNG") for picture in whole.profiles)
    assert {moment.source for moment in whole.moments} == {f"capture {CAPTURE}"}
    no_captures = reported(database, tuple(extra for extra in shipped().on if extra.name != "captures"))
    assert (len(no_captures.profiles), no_captures.moments) == (2, ())
    nothing = reported(database, without)
    assert (nothing.profiles, nothing.moments) == ((), ())
    assert replace(whole, profiles=(), moments=()) == nothing, "and the rest of it is the same"


def test_extra_that_cannot_say_what_it_adds_takes_no_report_down(database: Database) -> None:
    broken = Extra("broken", "nothing", reports="bot.no_such_module:shown")
    assert reported(database, (broken,)) == reported(database, ())


def test_login_needs_no_right_of_it(without: tuple[Extra, ...]) -> None:
    lines = capture_sudoers_text("zombie", rights_of(without))
    assert "perf" not in lines.replace("perf searches", "")
    assert "bpftrace" in lines
    assert "/usr/bin/perf record" in capture_sudoers_text("zombie", rights_of(shipped().on))
