"""`zombie playbooks keep`: a case becomes a test of somebody's playbooks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.case import read_case
from bot.domain.events import Declined
from bot.ledger import CaseStore, Database, Ledger
from bot.transport import expectations
from bot.transport.case_file import load
from tests.commandline import CommandLine
from tests.contract.test_backtest import planted
from tests.contract.test_why import FOUNDING
from tests.record.incidents import OPENING, PROPOSED, TRIAGED

ENDED, OPEN = "7k3m9x2qpv", "8k3m9x2qpv"


def recorded(record: Database) -> None:
    """Put a closed incident, which keeps its case, on record, and one that is open."""
    ledger = Ledger(record)
    kept = CaseStore(record).keep.now(ENDED, load(FOUNDING))
    for stream in (ENDED, OPEN):
        triaged = replace(TRIAGED, case=kept if stream == ENDED else "")
        ledger.append_all.now(stream, 0, (OPENING, triaged, PROPOSED), "bot")
    ledger.append.now(ENDED, 3, Declined("no"), "terminal:ann")


@pytest.fixture(autouse=True)
def _recorded(record: Database) -> None:
    recorded(record)


def test_wrong_verdict_becomes_a_test_that_a_backtest_reads(run: CommandLine) -> None:
    assert run("playbooks", "keep", ENDED, "--dir", "cases", "--expect", "crash-looping-unit").status == 0
    (path,) = Path("cases").glob("*.jsonl")
    assert path.name == f"{ENDED}--{load(FOUNDING).head.node}.jsonl"
    assert read_case(path.read_text(), "x", "y") == load(FOUNDING)
    same, fixed = planted(Path("same"), 1000), planted(Path("fixed"), 10**7)
    ran = run("backtest", "cases", "--playbooks", str(same), "--json", "--junit", "o.xml")
    (cell,) = ran.json["results"]
    assert ran.status == 1, "wrong as before"
    assert (cell["flips"], cell["expected"], cell["as_expected"]) == (False, "crash-looping-unit", False)
    assert "expected: crash-looping-unit" in Path("o.xml").read_text()
    ran = run("backtest", "cases", "--playbooks", str(same))
    assert (ran.status, "NOT AS EXPECTED" in ran.out) == (1, True)
    ran = run("backtest", "cases", "--playbooks", str(fixed), "--json")
    (cell,) = ran.json["results"]
    assert (ran.status, cell["flips"], cell["as_expected"]) == (0, True, True), "a flip that was wanted"
    assert run("playbooks", "keep", str(path), "--dir", "cases", "--expect", "none").status == 0
    assert len(expectations.expected(Path("cases"))) == 2
    assert run("backtest", "cases", "--playbooks", str(fixed)).status == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ["keep", ENDED, "--dir", "cases", "--expect", "no-such-cause"],
        ["keep", OPEN, "--dir", "cases", "--expect", "none"],
        ["keep", "nothing-such", "--dir", "cases", "--expect", "none"],
        ["keep", "../../etc/passwd", "--dir", "cases", "--expect", "none"],
    ],
)
def test_what_cannot_be_kept_writes_nothing(run: CommandLine, wrong: list[str]) -> None:
    status, _, err = run("playbooks", *wrong)
    assert (status, err[:8]) == (2, "zombie: ")
    assert not Path("cases").exists()


@pytest.mark.parametrize(
    "text",
    [
        "[",
        '["../case.jsonl"]\ncause = "none"',
        '["case.jsonl"]\ncause = 1',
        "a = " + "[" * 5000,
        "#" * (expectations.MOST_BYTES + 1),
    ],
)
def test_expectations_of_another_form_end_a_backtest_with_two(run: CommandLine, text: str) -> None:
    Path("cases").mkdir()
    Path("cases/case.jsonl").write_text(load(FOUNDING).text())
    Path("cases/expected.toml").write_text(text)
    status, out, err = run("backtest", "cases", "--playbooks", str(planted(Path("mine"), 10**7)))
    assert (status, out, "expected.toml" in err) == (2, "", True)
