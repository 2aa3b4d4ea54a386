"""`zombie playbooks keep`: a case becomes a test of somebody's playbooks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.domain.case import read_case
from bot.domain.events import Declined
from bot.ledger import CaseStore, Database, Ledger
from bot.transport import expectations
from bot.transport.case_file import load
from tests.contract.test_backtest import planted
from tests.contract.test_why import FOUNDING
from tests.record.incidents import OPENING, PROPOSED, TRIAGED
from tests.record.ledgers import ledger_url

ENDED, OPEN = "7k3m9x2qpv", "8k3m9x2qpv"


def recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A record with a closed incident, which keeps its case, and with one that is open."""
    url = ledger_url(folder / "zombie.db")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", url)
    with Database.open(url) as database:
        ledger = Ledger(database)
        kept = CaseStore(database).keep.now(ENDED, load(FOUNDING))
        for stream in (ENDED, OPEN):
            triaged = replace(TRIAGED, case=kept if stream == ENDED else "")
            ledger.append_all.now(stream, 0, (OPENING, triaged, PROPOSED), "bot")
        ledger.append.now(ENDED, 3, Declined("no"), "terminal:ann")
    return url


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return recorded(tmp_path, monkeypatch)


def test_wrong_verdict_becomes_a_test_that_a_backtest_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playbooks", "keep", ENDED, "--dir", "cases", "--expect", "crash-looping-unit"]) == 0
    (path,) = Path("cases").glob("*.jsonl")
    assert path.name == f"{ENDED}--{load(FOUNDING).head.node}.jsonl"
    assert read_case(path.read_text(), "x", "y") == load(FOUNDING)
    same, fixed = planted(Path("same"), 1000), planted(Path("fixed"), 10**7)
    capsys.readouterr()
    assert main(["backtest", "cases", "--playbooks", str(same), "--json", "--junit", "o.xml"]) == 1, "wrong as before"
    (cell,) = json.loads(capsys.readouterr().out)["results"]
    assert (cell["flips"], cell["expected"], cell["as_expected"]) == (False, "crash-looping-unit", False)
    assert "expected: crash-looping-unit" in Path("o.xml").read_text()
    assert main(["backtest", "cases", "--playbooks", str(same)]) == 1
    assert "NOT AS EXPECTED" in capsys.readouterr().out
    assert main(["backtest", "cases", "--playbooks", str(fixed), "--json"]) == 0, "a flip that was wanted"
    (cell,) = json.loads(capsys.readouterr().out)["results"]
    assert (cell["flips"], cell["as_expected"]) == (True, True)
    assert main(["playbooks", "keep", str(path), "--dir", "cases", "--expect", "none"]) == 0
    assert len(expectations.expected(Path("cases"))) == 2
    assert main(["backtest", "cases", "--playbooks", str(fixed)]) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        ["keep", ENDED, "--dir", "cases", "--expect", "no-such-cause"],
        ["keep", OPEN, "--dir", "cases", "--expect", "none"],
        ["keep", "nothing-such", "--dir", "cases", "--expect", "none"],
        ["keep", "../../etc/passwd", "--dir", "cases", "--expect", "none"],
    ],
)
def test_what_cannot_be_kept_writes_nothing(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["playbooks", *wrong]) == 2
    assert capsys.readouterr().err.startswith("zombie: ")
    assert not Path("cases").exists()


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "a = 1",
        '["../case.jsonl"]\ncause = "none"',
        '["/etc/passwd"]\ncause = "none"',
        '["gone.jsonl"]\ncause = "none"',
        '["case.jsonl"]\ncause = 1',
        '["case.jsonl"]\ncause = "none"\nrun = "rm"',
        "a = " + "[" * 5000,
        "#" * (expectations.MOST_BYTES + 1),
    ],
)
def test_expectations_of_another_form_end_a_backtest_with_two(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("cases").mkdir()
    Path("cases/case.jsonl").write_text(load(FOUNDING).text())
    Path("cases/expected.toml").write_text(text)
    assert main(["backtest", "cases", "--playbooks", str(planted(Path("mine"), 10**7))]) == 2
    out, err = capsys.readouterr()
    assert (out, "expected.toml" in err) == ("", True)
