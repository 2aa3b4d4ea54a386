"""`zombie mark`, and `zombie playbooks stats`, `looked-at`, `keep`: the same record as the buttons write."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.commands.login import terminal_user
from bot.domain.case import read_case
from bot.domain.events import Declined
from bot.domain.house_events import HOUSE, VerdictMarked
from bot.ledger import Database, KeptCases, Ledger
from bot.transport import expectations
from bot.transport.case_file import load
from tests.contract.test_backtest import planted
from tests.contract.test_why import FOUNDING
from tests.record.incidents import OPENING, PROPOSED, TRIAGED

ENDED, OPEN = "7k3m9x2qpv", "8k3m9x2qpv"
CAUSE = "leaked-memory-cgroups"


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A record with a closed incident, which keeps its case, and with one that is open."""
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", url)
    with Database.open(url) as database:
        ledger = Ledger(database)
        kept = KeptCases(database).keep(ENDED, load(FOUNDING))
        for stream in (ENDED, OPEN):
            triaged = replace(TRIAGED, case=kept if stream == ENDED else "")
            ledger.append_all(stream, 0, (OPENING, triaged, PROPOSED), "bot")
        ledger.append(ENDED, 3, Declined("no"), "terminal:ann")
    return url


def marked(url: str, right: int, wrong: int) -> None:
    with Database.open(url) as database:
        for number, said in enumerate([True] * right + [False] * wrong):
            Ledger(database).append(HOUSE, None, VerdictMarked(f"i{number}", CAUSE, said), f"slack:T0/U{number}")


def test_mark_is_on_record_and_counts(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mark", ENDED[:4], "wrong"]) == 0
    assert f"{CAUSE}: 0 of 1 right." in capsys.readouterr().out
    assert main(["mark", ENDED, "wrong"]) == 0
    assert "You said so already" in capsys.readouterr().out
    assert main(["playbooks", "stats", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["causes"]
    assert (told["cause"], told["right"], told["wrong"], told["precision"]) == (CAUSE, 0, 1, 0.0)
    with Database.open(record) as database:
        (entry,) = Ledger(database).marks()
    assert entry.by.startswith("terminal:")
    assert (entry.body["incident"], bool(entry.body["case"])) == (ENDED, True)


def test_login_that_the_policy_does_not_name_is_on_record_and_does_not_count(
    record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, login = Path("zombie.toml"), terminal_user(os.environ).removeprefix("terminal:")
    settings.write_text('[policy]\napprovers = ["U012AB"]\n')
    assert main(["mark", ENDED, "wrong"]) == 0
    out = capsys.readouterr().out
    assert "On record: the verdict on" in out
    assert f"It does not count: [policy] terminal_approvers does not name {login}." in out
    assert main(["playbooks", "stats"]) == 0
    assert capsys.readouterr().out.startswith("Not counted: 1 by logins")
    assert main(["playbooks", "stats", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["causes"], told["uncounted"]) == ([], 1)
    with Database.open(record) as database:
        Ledger(database).append(HOUSE, None, VerdictMarked(ENDED, CAUSE, right=True), "slack:T0/U012AB")
    settings.write_text(f'[policy]\nterminal_approvers = ["{login}=U012AB"]\n')
    assert main(["playbooks", "stats", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["right"], each["wrong"]) for each in told["causes"]] == [(1, 0)], "one person, one word"
    assert told["uncounted"] == 0


def test_what_cannot_be_marked_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mark", OPEN, "wrong"]) == 1
    assert "NothingToMark" in capsys.readouterr().err
    assert main(["mark", "nothing-such", "wrong"]) == 2
    with pytest.raises(SystemExit, match="2"):
        main(["mark", ENDED, "maybe"])


def test_cause_in_doubt_is_told_and_looked_at(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    login, names = terminal_user(os.environ).removeprefix("terminal:"), [f"U{number}" for number in range(10)]
    Path("zombie.toml").write_text(f"[policy]\napprovers = {json.dumps(names)}\n")
    marked(record, 7, 3)
    assert main(["playbooks", "stats"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"{CAUSE} 7 3 70 %" in out
    assert f"zombie playbooks looked-at {CAUSE} --reason TEXT" in out
    assert main(["playbooks", "looked-at", CAUSE]) == 2
    capsys.readouterr()
    assert main(["playbooks", "looked-at", CAUSE, "--reason", "I do not like it"]) == 1
    assert "NotAnApprover" in capsys.readouterr().err
    assert main(["playbooks", "stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["causes"][0]["in_doubt"], "who may not approve lifts nothing"
    settings = f'approvers = {json.dumps(names)}\nterminal_approvers = ["{login}=U0"]'
    Path("zombie.toml").write_text(f"[policy]\n{settings}\n")
    assert main(["playbooks", "looked-at", "io-stall", "--reason", "why not"]) == 1
    assert "NothingToMark" in capsys.readouterr().err
    assert main(["playbooks", "looked-at", CAUSE, "--reason", "the threshold is 5,000 now"]) == 0
    assert f"3 of 10 people who may approve said that {CAUSE} was wrong." in capsys.readouterr().out
    assert main(["playbooks", "stats", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["causes"]
    assert (told["right"], told["wrong"], told["in_doubt"], told["ever"]) == (0, 0, False, {"right": 7, "wrong": 3})
    assert told["looked_at"]


def test_nobody_has_said_anything_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", f"sqlite:///{tmp_path / 'none.db'}")
    assert main(["playbooks", "stats"]) == 0
    assert "Nobody has marked a verdict yet" in capsys.readouterr().out
    assert not (tmp_path / "none.db").exists()


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
