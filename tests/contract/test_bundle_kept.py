"""What a node said last before a step travels with its incident, and is what the entry names by its hash."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.case import Case, CaseHeader, read_case
from bot.domain.command import Completed
from bot.domain.errors import BundleError
from bot.domain.events import Approved, StepStarted
from bot.domain.fold import fold
from bot.extras.bundles.bundle import FORM, PLAIN_FORM, Bundle
from bot.ledger import CaseStore, Ledger
from tests.record.exporting import (
    END,
    NODE,
    SECRET,
    bundle_in,
    bundle_of,
    damage,
    judged,
    looked_at,
    raw_of,
)
from tests.record.incidents import BEGAN_AT, BOOT
from tests.record.keeping import keep
from tests.record.ledgers import ledger_in


def broken(bundle: Bundle) -> list[str]:
    return looked_at(bundle).broken


def with_readings_before_a_step(folder: Path) -> tuple[Bundle, str]:
    """The bundle of an incident whose node said something just before a step, and the hash of that."""
    with ledger_in(folder) as database:
        incident_id = judged(database)
        ledger = Ledger(database)
        proposal = fold(ledger.read.now(incident_id)).proposal
        assert proposal is not None
        said = Case(
            CaseHeader(NODE.name, BEGAN_AT), (Completed("kernel log", "log", 0, f"napi starved\ntoken={SECRET}\n"),)
        )
        digest = CaseStore(database).keep.now(incident_id, said)
        step = StepStarted(1, 1, BOOT, kept=digest, kept_says="kernel log, 1 kB in 0.1 s")
        keep(ledger, incident_id, (Approved(proposal.digest, "it is drained"), step, END))
        return bundle_of(database, incident_id), digest


def test_readings_before_a_step_are_in_it_and_are_those_that_the_entry_names(tmp_path: Path) -> None:
    bundle, digest = with_readings_before_a_step(tmp_path)
    raw = raw_of(bundle)
    assert (bundle.form, len(tuple(bundle.kept))) == (FORM, 1)
    assert raw_of(bundle_in(raw)) == raw
    assert "napi starved" in raw_of(bundle).decode()
    assert SECRET not in raw_of(bundle).decode()
    found = looked_at(raw)
    assert (found.broken, found.unproven) == ([], [])
    assert any("said before step 1" in each and digest[:16] in each for each in found.holds)
    (named,) = damage(raw.replace(b"napi starved", b"napi healthy"))
    assert re.fullmatch(r"what was kept \(line \d+\): was changed", named)
    case = read_case(next(iter(bundle.kept)), "here", "n")
    other = replace(case, runs=(replace(case.runs[0], stdout="all was well"),)).text()
    assert any("no entry names" in each for each in broken(replace(bundle, kept=(other,))))
    assert any(each.startswith("what was kept: ") for each in broken(replace(bundle, kept=("{}",))))
    gone = looked_at(replace(bundle, kept=()))
    assert (gone.broken, len(gone.unproven)) == ([], 1)


def test_bundle_of_before_is_not_called_whole_without_them(tmp_path: Path) -> None:
    bundle, _ = with_readings_before_a_step(tmp_path)
    old = replace(bundle, kept=(), form=PLAIN_FORM)
    found = looked_at(old)
    assert found.broken == []
    assert found.unproven == ["what the node said before step 1 is not in it: form 1 has no place for it"]
    lines = raw_of(bundle).decode().replace('"bundle":2', '"bundle":1', 1)
    with pytest.raises(BundleError, match="form 1"):
        bundle_in(lines.encode())
