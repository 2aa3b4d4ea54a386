"""`zombie mark`, and `zombie playbooks stats`, `looked-at`: the same record as the buttons write."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.commands.terminal_login import terminal_user
from bot.extras.marks.marks import VerdictMarked
from bot.extras.marks.store import MarkStore
from bot.ledger import Database
from tests.unit.commands.test_keep import ENDED, OPEN, recorded

CAUSE = "leaked-memory-cgroups"


@pytest.fixture(autouse=True)
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return recorded(tmp_path, monkeypatch)


def marked(url: str, right: int, wrong: int) -> None:
    with Database.open(url) as database:
        for number, said in enumerate([True] * right + [False] * wrong):
            MarkStore(database).append.now(VerdictMarked(f"i{number}", CAUSE, said), f"slack:T0/U{number}")


def test_mark_is_on_record_and_counts(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mark", ENDED[:4], "wrong"]) == 0
    assert f"{CAUSE}: 0 of 1 right." in capsys.readouterr().out
    assert main(["mark", ENDED, "wrong"]) == 0
    assert "You said so already" in capsys.readouterr().out
    assert main(["playbooks", "stats", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["causes"]
    assert (told["cause"], told["right"], told["wrong"], told["precision"]) == (CAUSE, 0, 1, 0.0)
    with Database.open(record) as database:
        (entry,) = MarkStore(database).read.now()
    assert entry.by.startswith("terminal:")
    assert (entry.body["incident"], bool(entry.body["case"])) == (ENDED, True)


def test_mark_says_what_it_was_and_is_taken_back(record: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mark", ENDED, "wrong", "--was", "io-stall"]) == 0
    assert main(["mark", ENDED, "back"]) == 0
    assert f"no longer counts. {CAUSE}: 0 of 0 right." in capsys.readouterr().out
    with Database.open(record) as database:
        wrong, back = MarkStore(database).read.now()
    assert (wrong.body["was"], back.body["taken_back"]) == ("io-stall", True)


def test_login_that_the_policy_does_not_name_is_on_record_and_does_not_count(
    record: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, login = Path("zombie.toml"), terminal_user(os.environ).removeprefix("terminal:")
    settings.write_text('[policy]\napprovers = ["U012AB"]\n')
    assert main(["mark", ENDED, "wrong"]) == 0
    out = capsys.readouterr().out
    assert f"On record: the verdict {CAUSE} on" in out
    assert f"It does not count: [policy] terminal_approvers does not name {login}." in out
    assert main(["playbooks", "stats"]) == 0
    assert capsys.readouterr().out.startswith("Not counted: 1 by logins")
    assert main(["playbooks", "stats", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["causes"], told["uncounted"]) == ([], 1)
    with Database.open(record) as database:
        MarkStore(database).append.now(VerdictMarked(ENDED, CAUSE, right=True), "slack:T0/U012AB")
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
