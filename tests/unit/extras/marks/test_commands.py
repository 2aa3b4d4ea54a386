"""`zombie mark`, and `zombie playbooks stats`, `looked-at`: the same record as the buttons write."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bot.commands.terminal_login import terminal_user
from bot.extras.marks.marks import VerdictMarked
from bot.extras.marks.store import MarkStore
from bot.ledger import Database
from tests.commandline import CommandLine
from tests.unit.commands.test_keep import ENDED, OPEN, recorded

CAUSE = "leaked-memory-cgroups"


@pytest.fixture(autouse=True)
def marks(record: Database) -> MarkStore:
    """What is said of verdicts, on a record with a closed incident and one that is open."""
    recorded(record)
    return MarkStore(record)


def told(run: CommandLine) -> Any:
    """What is said of causes, for programs."""
    return run("playbooks", "stats", "--json").json


def marked(marks: MarkStore, right: int, wrong: int) -> None:
    for number, said in enumerate([True] * right + [False] * wrong):
        marks.append.now(VerdictMarked(f"i{number}", CAUSE, said), f"slack:T0/U{number}")


def test_mark_is_on_record_and_counts(run: CommandLine, marks: MarkStore) -> None:
    assert f"{CAUSE}: 0 of 1 right." in run("mark", ENDED[:4], "wrong").out
    again = run("mark", ENDED, "wrong")
    assert (again.status, "0 of 1 right" in again.out) == (0, True), "one person has one word of it"
    (cause,) = told(run)["causes"]
    assert (cause["cause"], cause["right"], cause["wrong"], cause["precision"]) == (CAUSE, 0, 1, 0.0)
    entry = marks.read.now()[-1]
    assert entry.by.startswith("terminal:")
    assert (entry.body["incident"], bool(entry.body["case"])) == (ENDED, True)


def test_mark_says_what_it_was_and_is_taken_back(run: CommandLine, marks: MarkStore) -> None:
    assert run("mark", ENDED, "wrong", "--was", "io-stall").status == 0
    assert f"no longer counts. {CAUSE}: 0 of 0 right." in run("mark", ENDED, "back").out
    wrong, back = marks.read.now()
    assert (wrong.body["was"], back.body["taken_back"]) == ("io-stall", True)


def test_login_that_the_policy_does_not_name_is_on_record_and_does_not_count(
    run: CommandLine, marks: MarkStore
) -> None:
    settings, login = Path("zombie.toml"), terminal_user(os.environ).removeprefix("terminal:")
    settings.write_text('[policy]\napprovers = ["U012AB"]\n')
    out = run("mark", ENDED, "wrong").out
    assert f"On record: the verdict {CAUSE} on" in out
    assert f"It does not count: [policy] terminal_approvers does not name {login}." in out
    assert run("playbooks", "stats").out.startswith("Not counted: 1 by logins")
    assert (told(run)["causes"], told(run)["uncounted"]) == ([], 1)
    marks.append.now(VerdictMarked(ENDED, CAUSE, right=True), "slack:T0/U012AB")
    settings.write_text(f'[policy]\nterminal_approvers = ["{login}=U012AB"]\n')
    assert [(each["right"], each["wrong"]) for each in told(run)["causes"]] == [(1, 0)], "one person, one word"
    assert told(run)["uncounted"] == 0


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ((OPEN, "wrong"), 1, "zombie: NothingToMark: "),
        (("nothing-such", "wrong"), 2, "zombie: There is no incident"),
        ((ENDED, "maybe"), 2, "there is no “maybe”"),
    ],
)
def test_what_cannot_be_marked_is_refused_by_name(
    run: CommandLine, words: tuple[str, ...], status: int, says: str
) -> None:
    ended = run("mark", *words)
    assert (ended.status, says in ended.err) == (status, True)


def test_cause_in_doubt_is_told_and_looked_at(run: CommandLine, marks: MarkStore) -> None:
    login, names = terminal_user(os.environ).removeprefix("terminal:"), [f"U{number}" for number in range(10)]
    Path("zombie.toml").write_text(f"[policy]\napprovers = {json.dumps(names)}\n")
    marked(marks, 7, 3)
    out = " ".join(run("playbooks", "stats").out.split())
    assert f"{CAUSE} 7 3 70 %" in out
    assert f"(/zombie looked-at {CAUSE} REASON, or zombie playbooks looked-at {CAUSE} --reason TEXT)" in out
    assert run("playbooks", "looked-at", CAUSE).status == 2
    no = run("playbooks", "looked-at", CAUSE, "--reason", "I do not like it")
    assert (no.status, "NotAnApprover" in no.err) == (1, True)
    assert told(run)["causes"][0]["in_doubt"], "who may not approve lifts nothing"
    settings = f'approvers = {json.dumps(names)}\nterminal_approvers = ["{login}=U0"]'
    Path("zombie.toml").write_text(f"[policy]\n{settings}\n")
    no = run("playbooks", "looked-at", "io-stall", "--reason", "why not")
    assert (no.status, "NothingToMark" in no.err, "it takes 3" in no.err) == (1, True, True)
    looked = run("playbooks", "looked-at", CAUSE, "--reason", "the threshold is 5,000 now")
    assert f"3 of 10 people who may approve said that {CAUSE} was wrong." in looked.out
    (cause,) = told(run)["causes"]
    assert (cause["right"], cause["wrong"], cause["in_doubt"], cause["ever"]) == (0, 0, False, {"right": 7, "wrong": 3})
    assert cause["looked_at"]


def test_nobody_has_said_anything_is_a_sentence(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOMBIE_STATE_DIR", str(run.folder / "none"))
    assert "Nobody has marked a verdict yet" in run("playbooks", "stats").out
    assert not Path("none").exists()
