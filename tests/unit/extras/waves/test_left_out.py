"""Where waves are left out nothing of one begins, and everything else goes on; their record is stepped over."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import text

from bot.__main__ import parser
from bot.app.extras import extras_in_force, seat_values, shipped, step_blockers
from bot.chat.post_state import MessageTarget
from bot.domain.action import Plan, Step
from bot.domain.claim import Claim
from bot.domain.contracts import Clock
from bot.domain.entry import WAVES, Head, OwnEvent
from bot.domain.errors import BudgetSpent, CannotTell, UsageError, WaveHeld
from bot.domain.events import (
    BESIDE,
    REFUTED,
    Escalated,
    IncidentEvent,
    PlanProposed,
    QuestionAsked,
    Resolved,
    SampleTaken,
    StepFailed,
    StepSkipped,
    StepStarted,
    StepVerified,
    ValidationStarted,
)
from bot.domain.policy import Limits
from bot.domain.verdict import Evidence
from bot.extras.fleet.chat_cards import FleetCards
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.waves import command
from bot.extras.waves.events import (
    TurnEnded,
    TurnGiven,
    TurnOutcome,
    WaveApproved,
    WaveMember,
    WaveProposed,
    WaveResumed,
    WaveStopped,
)
from bot.extras.waves.settings import WaveSettings
from bot.extras.waves.store import WaveStore
from bot.extras.waves.wave import stages_of
from bot.ledger import Database, Ledger, audit
from bot.ledger.entries import chained_entry, insert_entry
from bot.seats import Extra, Rules
from tests.known import known
from tests.program import zombie_in as zombie
from tests.record.incidents import APPROVER, ASKER, STEPS
from tests.record.keeping import approved
from tests.record.ledgers import ledger_in

ROOT = Path(__file__).parents[4]
WAVE = "wave-7k3m9x2qpv"
OLDER = ROOT / "tests" / "contract" / "ledger-v14.sql"


@pytest.fixture
def without(tmp_path: Path) -> tuple[Extra, ...]:
    """The extras with waves off."""
    (tmp_path / "zombie.toml").write_text('[extras]\noff = ["waves"]\n')
    found = extras_in_force((), {}, tmp_path)
    assert WAVES in found.left_out
    return found.on


def begin(ledger: Ledger, incident: str, seq: int = 4, attempt: int = 1, step: int = 1) -> None:
    plan = Plan(f"node-{incident}", STEPS)
    claim = Claim(plan.node, plan.remedy, "r1", Limits(at_once=9), {}, cure=plan.cure)
    ledger.begin.now(incident, seq, StepStarted(step, attempt), "bot", claim)


def running(sqlite: Database, incident: str, proposal: PlanProposed, time: Clock | None = None) -> None:
    """A wave that runs, and has given the incident the turn."""
    member = WaveMember(f"node-{incident}", incident, proposal.digest)
    proposed = WaveProposed(("*",), ("c",), (member,), (), stages_of(1), timedelta(hours=8), "p", "").sealed()
    waves = WaveStore(sqlite, time)
    waves.append.now(WAVE, 0, proposed, ASKER)
    waves.append.now(WAVE, 1, WaveApproved(proposed.digest, "go"), APPROVER)
    waves.append.now(WAVE, 2, TurnGiven(incident, member.node), "bot")


def test_incident_of_a_wave_never_begins_where_waves_are_left_out(sqlite: Database, without: tuple[Extra, ...]) -> None:
    ledger = Ledger(sqlite, holders=step_blockers(without))
    running(sqlite, "one", approved(ledger, "one", "node-one", wave=WAVE))
    with pytest.raises(WaveHeld, match="left out"):
        begin(ledger, "one")
    with pytest.raises(WaveHeld, match="left out"):
        begin(Ledger(sqlite), "one")
    assert ledger.head.now("one").seq == 4, "nothing of it is on record"
    approved(ledger, "two", "node-two")
    begin(ledger, "two")
    with_waves = Ledger(sqlite, holders=step_blockers(shipped().on))
    begin(with_waves, "one")
    with pytest.raises(WaveHeld, match="left out"):
        begin(ledger, "one", 5, 2)  # nor is it sent again
    begin(with_waves, "one", 5, 2)


def test_incident_of_a_wave_begins_only_as_its_wave_says(sqlite: Database) -> None:
    ledger = Ledger(sqlite, holders=step_blockers(shipped().on))
    for name in ("one", "two"):
        approved(ledger, name, f"node-{name}", wave=WAVE)
    with pytest.raises(WaveHeld, match="not on record"):
        begin(ledger, "one")
    proposal = known(ledger.incident.now("one"))
    assert proposal.proposal is not None
    running(sqlite, "one", proposal.proposal)
    with pytest.raises(WaveHeld, match="has not given node-two the turn"):
        begin(ledger, "two")
    begin(ledger, "one")


def of_two(sqlite: Database, ledger: Ledger) -> WaveStore:
    """A wave that runs, with two of its nodes under way, of which the first has begun."""
    members = []
    for name in ("one", "two", "three"):
        proposal = approved(ledger, name, f"node-{name}", wave=WAVE)
        members.append(WaveMember(f"node-{name}", name, proposal.digest))
    proposed = WaveProposed(("*",), ("c",), tuple(members), (), stages_of(3), timedelta(hours=8), "p", "").sealed()
    waves = WaveStore(sqlite)
    waves.append.now(WAVE, 0, proposed, ASKER)
    waves.append.now(WAVE, 1, WaveApproved(proposed.digest, "go"), APPROVER)
    waves.append.now(WAVE, 2, TurnGiven("three", "node-three"), "bot")
    waves.append.now(WAVE, 3, TurnEnded("three", "node-three", TurnOutcome.CURED), "bot")
    waves.append.now(WAVE, 4, TurnGiven("one", "node-one"), "bot")
    waves.append.now(WAVE, 5, TurnGiven("two", "node-two"), "bot")
    begin(ledger, "one")
    return waves


HELD: tuple[IncidentEvent, ...] = (
    StepVerified(1),
    ValidationStarted(timedelta(0), waiting=1),
    SampleTaken(True),
)
NOT_FIXED: tuple[tuple[IncidentEvent, ...], ...] = (
    (Escalated("it did not come back"),),
    (QuestionAsked("What is it?"),),
    (StepFailed(1, "no sign of its effect by its deadline"),),  # its runner died before it could end it
    (
        StepVerified(1),
        ValidationStarted(timedelta(minutes=10), waiting=1),
        SampleTaken(False, (Evidence(REFUTED, "look", "it is back"),)),
    ),
    (
        StepVerified(1, otherwise="it was booted otherwise"),
        StepSkipped(2, "not needed"),
        ValidationStarted(timedelta(minutes=10)),
        SampleTaken(False, (Evidence(REFUTED, "look", "it is back"),)),
    ),
    (
        StepVerified(1),
        StepSkipped(2, "somebody else rebooted it"),
        ValidationStarted(timedelta(minutes=10)),
        SampleTaken(True, (Evidence(BESIDE, "verdict", "critical io-stall"),)),
        Resolved("cured so far"),
    ),
    (*HELD, Escalated("the brake stayed on")),
    (*HELD, StepStarted(2, 1), QuestionAsked("What is it?")),  # whether it was given back is not known
)


@pytest.mark.parametrize("shows", NOT_FIXED, ids=lambda shows: type(shows[-1]).__name__)
def test_nothing_of_a_wave_begins_once_one_of_its_nodes_is_not_fixed_whoever_notes_that(
    sqlite: Database, shows: tuple[IncidentEvent, ...]
) -> None:
    ledger = Ledger(sqlite, holders=step_blockers(shipped().on))
    waves = of_two(sqlite, ledger)
    ledger.append_all.now("one", 5, shows, "bot")
    with pytest.raises(WaveHeld, match=r"node-one: (acted, but not fixed|cured, but not given back)"):
        begin(ledger, "two")
    waves.append.now(WAVE, 6, TurnEnded("one", "node-one", TurnOutcome.FAILED), "bot")
    with pytest.raises(WaveHeld):
        begin(ledger, "two")
    waves.append.now(WAVE, 7, WaveStopped("node-one: acted, but not fixed"), "bot")
    with pytest.raises(WaveHeld, match="is stopped"):
        begin(ledger, "two")
    waves.append.now(WAVE, 8, WaveResumed("a broken disk"), APPROVER)
    begin(ledger, "two")


def test_node_whose_cure_has_held_is_given_back_also_while_its_wave_is_stopped(sqlite: Database) -> None:
    ledger = Ledger(sqlite, holders=step_blockers(shipped().on))
    waves = of_two(sqlite, ledger)
    ledger.append_all.now("one", 5, HELD, "bot")
    waves.append.now(WAVE, 6, WaveStopped("an odd graph"), APPROVER)
    begin(ledger, "one", 8, step=2)
    with pytest.raises(WaveHeld, match="is stopped"):
        begin(ledger, "two")


def test_plan_whose_first_step_was_needless_begins_no_later_than_its_waves_time(
    sqlite: Database, tmp_path: Path
) -> None:
    at = datetime(2027, 1, 1, 9, 0, tzinfo=UTC)
    ledger = Ledger(sqlite, lambda: at, holders=step_blockers(shipped().on))
    steps = (Step("disable_unit", {"unit": "ecs.service"}, ("a",)), Step("reboot", {}, ("b",)))
    plan, proposal = Plan("node-one", steps), approved(ledger, "one", "node-one", steps, wave=WAVE)
    running(sqlite, "one", proposal, lambda: at)
    ledger.append.now("one", 4, StepSkipped(1, "that is so already"), "bot")
    claim = Claim(plan.node, plan.remedy, "r1", Limits(at_once=9), {}, cure=plan.cure)
    at += timedelta(hours=8, milliseconds=1)  # the yes was an entry after the proposal
    with pytest.raises(WaveHeld, match="was valid until"):
        ledger.begin.now("one", 5, StepStarted(2, 1), "bot", claim)
    at -= timedelta(seconds=1)
    ledger.begin.now("one", 5, StepStarted(2, 1), "bot", claim)
    at += timedelta(seconds=1)
    ledger.begin.now("one", 6, StepStarted(2, 2), "bot", claim)  # what has begun may go on


def holds(_: object, incident: Any, is_first: bool, __: object) -> None:
    """What an invented extra says: a tide is high on one node."""
    if incident.node == "node-two" and is_first:
        raise BudgetSpent("The tide is high.")


def test_any_extra_may_hold_any_step_and_one_that_cannot_be_loaded_holds_all(sqlite: Database) -> None:
    tides = Extra("tides", "tides", holds=f"{__name__}:holds")
    ledger = Ledger(sqlite, holders=step_blockers([*shipped().on, tides]))
    for name in ("one", "two", "three"):
        approved(ledger, name, f"node-{name}")
    begin(ledger, "one")
    with pytest.raises(BudgetSpent, match="The tide is high"):
        begin(ledger, "two")
    wrecked = Ledger(sqlite, holders=step_blockers([replace(tides, holds="bot.no_such_module:holds")]))
    with pytest.raises(CannotTell, match="extra tides may hold this step: it cannot be loaded"):
        begin(wrecked, "three")


def test_extra_that_is_wanted_and_cannot_be_loaded_holds_every_step(sqlite: Database, tmp_path: Path) -> None:
    (tmp_path / "zombie.toml").write_text('[extras]\non = ["freeze"]\n')
    found = extras_in_force((), {}, tmp_path)
    ledger = Ledger(sqlite, holders=step_blockers(found.serving))
    approved(ledger, "one", "node-one")
    with pytest.raises(CannotTell, match=r"\[extras\] on names may hold this step, and could not be loaded"):
        begin(ledger, "one")
    assert [extra.name for extra in found.on] == [extra.name for extra in shipped().on]
    begin(Ledger(sqlite, holders=step_blockers(shipped().serving)), "one")


def test_wave_in_a_terminal_begins_nothing_while_a_wanted_extra_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "zombie.toml").write_text('[extras]\non = ["freeze"]\n')
    (tmp_path / "inventory.toml").write_text('[nodes.node-one]\naddress = "10.0.0.7"\n')
    files = ("--config", str(tmp_path / "zombie.toml"), "--inventory", str(tmp_path / "inventory.toml"))
    extras = extras_in_force(files, {}, tmp_path)
    arguments = parser("zombie", extras).parse_args(["wave", "run", WAVE, *files])
    arguments.extras = extras
    arguments.environ = {"ZOMBIE_STATE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    with ledger_in(tmp_path) as database:
        proposal = approved(Ledger(database), "one", "node-one", wave=WAVE)
        running(database, "one", proposal)
    claim = Claim("node-one", proposal.plan.remedy, "r1", Limits(at_once=9), {})
    with command._parts(arguments) as parts:
        steps = parts.acting.remediation.stepping.ledger
        with pytest.raises(CannotTell, match=r"\[extras\] on names may hold this step"):
            asyncio.run(steps.begin("one", 4, StepStarted(1, 1), "bot", claim))


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """The folder of a program of version 14, which left a wave in the middle."""
    state = tmp_path / "state"
    state.mkdir()
    with contextlib.closing(sqlite3.connect(state / "zombie.db")) as written:
        written.executescript(OLDER.read_text())
    (tmp_path / "zombie.toml").write_text('[extras]\noff = ["waves"]\n')
    return tmp_path


def test_record_with_a_wave_is_whole_and_shown_without_them(older: Path) -> None:
    verified = zombie(older, "audit", "verify")
    assert verified.returncode == 0, verified
    assert "whole but for 1 stream of an extra that is left out" in verified.stdout
    shown = zombie(older, "incidents", "--json")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "n0" in shown.stdout
    assert zombie(older, "wave").returncode == 2
    (older / "zombie.toml").write_text("")
    verified = zombie(older, "audit", "verify")
    assert (verified.returncode, "left out" in verified.stdout) == (0, False)
    forged = chained_entry("wave-0000000000", Head(), "2027-01-01T00:00:00.000Z", BrandNew(), "bot")
    with Database.open(f"sqlite:///{older / 'state' / 'zombie.db'}") as database, database.writing() as connection:
        insert_entry(connection, forged)
        connection.execute(text("INSERT INTO waves VALUES ('wave-0000000000', 'running', '', '[]', false)"))
    listed = zombie(older, "wave")
    assert "wave-eszgzd8a0q" in listed.stdout, "what a newer program wrote is named, and the others are listed"
    assert "wave-0000000000: " in listed.stderr


@dataclass(frozen=True, slots=True)
class BrandNew(OwnEvent):
    """An event of a newer program."""


def test_only_known_kinds_are_stepped_over(sqlite: Database, without: tuple[Extra, ...]) -> None:
    ledger = Ledger(sqlite)
    running(sqlite, "one", approved(ledger, "one", "node-one", wave=WAVE))
    found = audit(sqlite, (), seat_values(without, "follows"))
    assert (found.broken, found.unread, found.stepped_over) == ((), (), 1)
    with sqlite.writing() as connection:
        forged = chained_entry("wave-0000000000", Head(), "2027-01-01T00:00:00.000Z", BrandNew(), "bot")
        insert_entry(connection, forged)
    unread = audit(sqlite, (), seat_values(without, "follows")).unread
    assert [(each.stream, "kind 'BrandNew'" in each.says) for each in unread] == [("wave-0000000000", True)]


def test_plan_is_no_button_where_nothing_cures_many() -> None:
    class Desk:
        async def prepared(self, ask: FleetRequest) -> Any:
            return SimpleNamespace(nodes=(), sweep=SimpleNamespace(needs_window=False))

    nothing: Any = None
    desk: Any = Desk()
    cards = FleetCards(nothing, desk, nothing, nothing)
    plan = FleetRequest(("*",), ("leaked-memory-cgroups",), kind="wave")
    with pytest.raises(UsageError, match="does not know that button"):
        asyncio.run(cards.start(plan, "key", MessageTarget("C1"), ASKER))


def test_settings_of_waves_are_part_of_the_policy() -> None:
    assert isinstance(WaveSettings(), Rules)
