"""Where marks are left out nothing of them is there, and no cause is in doubt; one that cannot be loaded doubts all."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.app.extras import cause_doubters, extras_in_force, shipped
from bot.domain.claim import Doubts
from bot.domain.entry import OwnEvent, event_of
from bot.domain.errors import CauseInDoubt
from bot.domain.house_events import HOUSE
from bot.domain.policy import Policy
from bot.extras.marks.marks import KINDS, CauseLookedAt, VerdictMarked
from bot.extras.marks.store import MarkStore
from bot.extras.waves.events import WaveProposed
from bot.ledger import Database, Ledger, audit
from bot.ledger.entries import append_entry, read_stream
from bot.response.decision.guards import check_causes_trusted
from bot.seats import Extra
from tests.commandline import CommandLine
from tests.record.incidents import MARK_EVENTS, PLAN, WAVE_EVENTS
from tests.unit.commands.test_keep import ENDED, recorded

CAUSE = "io-stall"
POLICY = Policy(approvers=frozenset(f"slack:U{number}" for number in range(3)), acting=True)


@pytest.fixture
def without(tmp_path: Path) -> tuple[Extra, ...]:
    """The extras with marks off."""
    (tmp_path / "zombie.toml").write_text('[extras]\noff = ["marks"]\n')
    found = extras_in_force((), {}, tmp_path)
    assert "marks" in found.left_out
    return found.serving


def doubted(sqlite: Database) -> None:
    for number in range(3):
        MarkStore(sqlite).append.now(VerdictMarked(f"i{number}", CAUSE, right=False), f"slack:T0/U{number}")


def doubts(sqlite: Database, extras: tuple[Extra, ...]) -> Doubts:
    return Ledger(sqlite, doubters=cause_doubters(extras)).proposal_record.now(PLAN, "", "", timedelta(days=1)).doubts


def test_cause_in_doubt_is_not_trusted_until_somebody_looks_and_not_doubted_without_marks(
    sqlite: Database, without: tuple[Extra, ...]
) -> None:
    ledger = Ledger(sqlite, doubters=cause_doubters(shipped().serving))
    check_causes_trusted(POLICY, (CAUSE,), ledger.doubts.now())
    doubted(sqlite)
    with pytest.raises(CauseInDoubt, match="3 of 3 people who may approve"):
        check_causes_trusted(POLICY, ("lockup", CAUSE), ledger.doubts.now())
    assert doubts(sqlite, shipped().serving)(POLICY, CAUSE)
    assert ledger.card.now("one", "card").doubts(POLICY, CAUSE)
    assert doubts(sqlite, without)(POLICY, CAUSE) == ""
    MarkStore(sqlite).append.now(CauseLookedAt(CAUSE, "the threshold was too low"), "slack:T0/U1")
    check_causes_trusted(POLICY, (CAUSE,), ledger.doubts.now())


def test_extra_that_cannot_be_loaded_doubts_every_cause(sqlite: Database) -> None:
    wrecked = Extra("tides", "tides", doubts="bot.no_such_module:doubts")
    with pytest.raises(CauseInDoubt, match="for the extra tides to say, which does not: it cannot be loaded"):
        check_causes_trusted(POLICY, (CAUSE,), doubts(sqlite, (*shipped().serving, wrecked)))


def test_record_with_marks_is_whole_and_one_with_another_extras_entry_in_house_is_not(sqlite: Database) -> None:
    doubted(sqlite)
    assert (audit(sqlite).broken, audit(sqlite).unread) == ((), ())
    assert {type(event_of(kind, {"form": 1})) for kind in KINDS} == {OwnEvent}, "the core only steps over them"
    proposed = next(event for event in WAVE_EVENTS if isinstance(event, WaveProposed))
    with sqlite.writing() as connection:
        append_entry(connection, HOUSE, None, proposed, "bot", "2027-01-01T00:00:00.000Z")
    assert [each.says for each in audit(sqlite).broken] == ["holds WaveProposed, which belongs to an incident"]


def test_mark_in_the_stream_of_a_wave_is_broken_also_where_waves_are_left_out(sqlite: Database) -> None:
    with sqlite.writing() as connection:
        append_entry(connection, "wave-0000000000", 0, MARK_EVENTS[0], "bot", "2027-01-01T00:00:00.000Z")
        assert len(read_stream(connection, "wave-0000000000")) == 1
    says = [each.says for each in audit(sqlite).broken if each.stream != HOUSE]
    assert says == ["is not a valid wave: VerdictMarked is not an entry of a wave."]


def test_commands_and_verbs_are_gone_and_keep_stays(
    run: CommandLine, record: Database, without: tuple[Extra, ...]
) -> None:
    recorded(record)
    for words in (["mark", ENDED, "wrong"], ["playbooks", "stats"], ["playbooks", "looked-at", CAUSE]):
        assert run(*words).status == 2
    assert "marks" not in {extra.name for extra in without}
    kept = run("playbooks", "keep", ENDED, "--dir", "cases", "--expect", "none")
    assert (kept.status, "backtest" in kept.out) == (0, True)
