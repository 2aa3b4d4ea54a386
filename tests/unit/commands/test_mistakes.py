"""What goes wrong around a command is said in a sentence, with status 2: a crash would look like a verdict."""

from __future__ import annotations

import argparse
import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bot import __main__, commands
from bot.__main__ import CRASHED
from bot.domain.listen_address import host_and_port
from bot.domain.transitions import State
from bot.ledger import Database, Leases, Ledger
from tests.commandline import CommandLine
from tests.record.incidents import WAYS, by_whom

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def inventory(run: CommandLine) -> None:
    run.unreachable("node-1")


def told(*arguments: str, stdout: str = os.devnull, **environment: str) -> tuple[int, str]:
    """Run a command line as a program of its own, with a stdout that pytest does not stand in for."""
    with Path(stdout).open("w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "bot", *arguments],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    return done.returncode, done.stderr


@pytest.mark.parametrize("listen", [":", "1.2.3.4", "127.0.0.1:65536", "a b:80", "h:８０"])
def test_address_to_listen_on_that_is_none_is_a_sentence(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, listen: str
) -> None:
    monkeypatch.setenv("ZOMBIE_LISTEN", listen)
    status, _, says = run("serve")
    assert status == 2
    assert says.startswith("zombie: ZOMBIE_LISTEN is ")


WORDS = {  # of each command that needs any, the fewest that it takes
    **dict.fromkeys(("fleet", "check", "profile"), "node-1"),
    **dict.fromkeys(("replay", "why", "report", "remediate", "watch", "undo", "verify"), "x"),
    **{"diff": "node-1 --against node-2", "backtest": "x --playbooks x", "capture": "list", "lab": "inventory"},
    **{"release": "node-1", "brake": "status", "mark": "x right", "audit": "verify"},
    **{"route": "explain x", "completion": "bash"},
}


@pytest.mark.parametrize("module", commands.COMMANDS, ids=lambda module: module.__name__.rpartition(".")[2])
def test_wrong_address_to_listen_on_is_told_by_every_command(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, module: ModuleType
) -> None:
    monkeypatch.setenv("ZOMBIE_LISTEN", "foo")
    name = module.__name__.rpartition(".")[2]
    status, _, says = run(name, *WORDS.get(name, "").split())
    assert (status, says.splitlines()[0]) == (
        2,
        'zombie: ZOMBIE_LISTEN is "foo"; it should be an address to listen on, like 127.0.0.1:8080.',
    )


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "0.0.0.0:8080", "[::]:80", "localhost:65535", ":8080"])
def test_address_to_listen_on_is_taken_as_people_write_it(listen: str) -> None:
    assert str(host_and_port(listen)[1]) == listen.rpartition(":")[2]


@pytest.mark.parametrize("words", ["sudoers", "check --help"])
def test_output_that_cannot_be_written_is_no_verdict(words: str) -> None:
    status, says = told(*words.split(), stdout="/dev/full")
    assert (status, says) == (2, "zombie: The output cannot be written: No space left on device.\n")


def test_output_that_takes_no_letter_of_ours_is_no_verdict() -> None:
    status, says = told("settings", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert status == 2
    assert says.startswith("zombie: The output takes no '\\u")
    assert "PYTHONIOENCODING=utf-8" in says


@pytest.mark.parametrize(
    ("words", "status"),
    [("sudoers >&-", 0), ("route explain - <&- >&- 2>&-", 2)],
)
def test_closed_stream_is_no_verdict(tmp_path: Path, words: str, status: int) -> None:
    """Python has None for such a stream, and an exit status of 1 for what fails of it."""
    command = f'exec "$0" -P -m bot {words}'
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", command, sys.executable], cwd=tmp_path, env=environ, timeout=60, check=False)
    assert done.returncode == status


def test_help_that_the_output_does_not_take_is_no_verdict() -> None:
    assert told("profile", "--help", PYTHONIOENCODING="ascii", PYTHONUTF8="0")[0] == 2


def test_fault_of_ours_looks_like_no_verdict(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        @staticmethod
        def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
            def run(_: argparse.Namespace) -> int:
                raise ExceptionGroup("two at once", [ZeroDivisionError("a bug")])

            verbs.add_parser("break").set_defaults(run=run)

    monkeypatch.setattr(commands, "COMMANDS", (Broken,))
    status, _, says = run("break")
    assert status == CRASHED == __main__.CRASHED > 4
    assert "ZeroDivisionError" in says
    assert says.endswith("not a verdict: please report it.\n")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("chek node-1", "argument COMMAND: there is no “chek”. Did you mean check?"),
        ("check node-1 --jsn", "unrecognized arguments: --jsn. Did you mean --json"),
        ("check node-1 --fail-on=degrade", "argument --fail-on: there is no “degrade”. Did you mean degraded?"),
        ("growth gpu-1", "error: growth is gone: zombie check --json, cards and reports say how fast a leak grows.\n"),
        ("playbooks unmissed x", "error: playbooks unmissed is gone: zombie backtest CASES"),
        (
            "capture approve x --approve-as ann",
            "error: capture approve is gone: a capture needs no yes. Ask for it again",
        ),
        ("brake of", "there is no “of”. Did you mean off?"),
        ("check --zzzzzz", "unrecognized arguments: --zzzzzz\n"),
        ("--versoin", "unrecognized arguments: --versoin. Did you mean --version?"),
    ],
)
def test_wrong_word_on_the_command_line_brings_the_nearest_right_one(run: CommandLine, line: str, says: str) -> None:
    status, _, said = run(*line.split())
    assert status == 2
    assert says in said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--config x.toml nodes", "--config is an option of a command, and stands after it"),
        ("--json check node-1", "--json is an option of a command, and stands after it"),
        ("mark 7k3m", "the following arguments are required: right|wrong|back"),
        ("audit", "which verb? zombie audit --help lists them"),
        (
            "fleet --cause disk-full role=gpu",
            "the following arguments are required: NODE. Write that before --cause, which takes every word after it",
        ),
        ("check node-1 --samples five", "argument --samples: “five” is not a whole number"),
        ("profile --from x --between 1 b", "argument --between: “b” is not a number"),
    ],
)
def test_command_that_is_missing_or_comes_late_is_said(run: CommandLine, line: str, says: str) -> None:
    status, _, told = run(*line.split())
    assert status == 2
    assert told.endswith(f"error: {says}\n")


def test_inventory_without_a_node_is_no_healthy_fleet(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "inventory.toml").write_text("[nodes]\n")
    status, _, says = run("check", "--all")
    assert (status, says.splitlines()[0]) == (2, "zombie: The inventory names no node, so there is nothing to check.")
    assert run("nodes") == (0, "", "zombie: The inventory names no node.\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check"], "Which node?"),
        (["check", "node-1x"], "node-1"),
        (["check", "$(touch pwned)"], "does not say which nodes"),
        (["check", "node-1", "-p", "node-helth"], "node-health"),
        (["check", "node-1", "--no-readings"], "Add --json."),
        (["check", "--local", "node-1"], "--local"),
        (["check", "--local", "--samples", "5", "--deadline", "5"], "for 5 s, but its deadline is 5 s.\n"),
        (["doctor", "--nodes", "0"], "0 is not above zero"),
        (["doctor", "--inventory", "gone.toml"], "gone.toml"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(run: CommandLine, words: list[str], says: str) -> None:
    status, out, said = run(*words)
    assert (status, out, says in said) == (2, "", True)
    assert not Path("pwned").exists()


NODE = "--node=node-1=10.0.0.7"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--node NAME=HOST"),
        ([NODE, "--user=first.last"], "'first.last' is not a login name"),
        ([NODE, "--chat=teams", "--approver=U012AB"], "names nobody who could approve"),
        ([NODE, "--chat=teams", "--alerts-channel=C012AB"], "is not the ID of a channel"),
        ([NODE, "--chat=none", "--approver=U012AB"], "people approve in the terminal"),
        (["--ssh-config=config"], "There are no nodes"),
        (["--kubernetes=prod"], "prod"),
    ],
)
def test_site_that_cannot_be_is_refused_before_anything_is_written(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str
) -> None:
    Path("config").write_text("Host *\n  User zombie\n")
    Path("kubeconfig").write_text("apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n")
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")
    Path("site").mkdir()
    status, _, said = run("init", "--directory", "site", *words)
    assert (status, list(Path("site").iterdir()), says in said) == (2, [], True)


def test_incident_is_found_by_the_beginning_of_its_id(run: CommandLine, record: Database) -> None:
    for stream in ("7k3m9x2qpv", "7k4aaaaaaa"):
        for seq, event in enumerate(WAYS[State.PROPOSED]):
            Ledger(record).append.now(stream, seq, event, by_whom(event))
    assert run("incidents", "show", "7k3")[0] == run("incidents", "show", "7k3m9x2qpv")[0] == 0
    status, _, says = run("incidents", "show", "7k")
    assert (status, says.splitlines()[0].split(":")[1]) == (2, " 2 incidents begin with 7k")
    for words in (("incidents", "show"), ("report",), ("watch",), ("incidents", "export")):
        status, _, says = run(*words, "8\udcff")
        assert (status, says.splitlines()[1]) == (2, "        zombie incidents lists them.")


def test_whoever_only_looks_at_captures_makes_no_ledger(run: CommandLine, tmp_path: Path) -> None:
    assert run("capture", "list")[::2] == (0, "")
    assert run("capture", "show", "7k3")[0] == 2
    assert not (tmp_path / "state").exists()


def test_ledger_that_cannot_be_opened_says_what_to_try(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "state" / "zombie.db").mkdir(parents=True)
    status, _, says = run("incidents")
    assert (status, "set ZOMBIE_STATE_DIR to the copy." in says) == (2, True)


def test_brake_that_nobody_may_release_says_so_when_it_is_pulled(run: CommandLine, record: Database) -> None:
    Leases(record, "serving").beat.now()
    status, _, says = run("brake", "on", "--reason", "a rollout")
    assert (status, "terminal_approvers" in says) == (0, True)
    (run.folder / "zombie.toml").write_text('[policy]\nterminal_approvers = ["alice"]\n')
    assert run("brake", "on", "--reason", "a rollout")[::2] == (0, "")


@pytest.mark.parametrize("words", ["on --reason burns", "status"])
def test_brake_of_a_ledger_that_was_not_there_says_so_last(run: CommandLine, tmp_path: Path, words: str) -> None:
    """Whoever names a wrong path must not believe that anything is stopped."""
    (tmp_path / "zombie.toml").write_text('[policy]\nterminal_approvers = ["alice"]\n')
    file = tmp_path / "state" / "zombie.db"
    status, _, says = run("brake", *words.split())
    assert status == 0
    assert says.splitlines()[-1].startswith(f"zombie: there was no ledger at {file}, so no bot uses it. A bot with")
    assert "ZOMBIE_DATABASE_URL" in says
    assert file.exists() == (words != "status"), "who only looks makes nothing"


@pytest.mark.parametrize("verb", ["on", "off", "status"])
def test_brake_makes_no_ledger_of_another_programs_database(run: CommandLine, tmp_path: Path, verb: str) -> None:
    file = tmp_path / "state" / "zombie.db"
    file.parent.mkdir()
    with contextlib.closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE theirs (what TEXT)")
    status, _, says = run("brake", verb)
    assert (status, f"{file} is a database without a ledger." in says) == (2, True)
    with contextlib.closing(sqlite3.connect(file)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


def test_brake_of_a_ledger_at_which_nobody_serves_says_where_that_is(run: CommandLine, record: Database) -> None:
    status, _, says = run("brake", "on", "--reason", "it burns")
    assert (status, Ledger(record).brake_pull.now() is not None) == (0, True)
    assert f"no bot serves at {run.folder / 'state' / 'zombie.db'} just now" in says
    Leases(record, "serving").beat.now()
    assert "serves" not in run("brake", "status").err


def test_commands_to_type_are_named_as_the_launcher_was_called(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (run.folder / "inventory.toml").unlink()
    for name, said in (("./zombie", "./zombie"), ("", "zombie")):
        monkeypatch.setenv("ZOMBIE_COMMAND", name)
        assert f"For this machine: {said} check --local" in run("check", "node-1").err
        shown = run("demo", "--help").out
        assert shown.startswith(f"usage: {said} demo")
        assert f"  {said} demo --slack-port " in shown
        opened = run("check", "--local", "--samples", "1", "-p", "zombie-cgroups", "--open")
        assert f": {said} incidents show " in opened.out


@pytest.mark.parametrize("command", ["replay", "why", "route explain"])
def test_file_of_a_stranger_draws_nothing_on_the_terminal(run: CommandLine, tmp_path: Path, command: str) -> None:
    file = tmp_path / "n\x1b[31m\x1b]0;x\x07.jsonl"
    file.write_text("{")
    status, _, says = run(*command.split(), str(file))
    assert (status, "\x1b" in says, "\\x1b[31m" in says) == (2, False, True)


def test_bug_shows_no_secret_and_draws_nothing(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> int:
        raise ValueError("\x1b[31m password=hunter2")

    monkeypatch.setattr("bot.commands.nodes.run", broken)
    status, _, says = run("nodes")
    assert (status, "\x1b" in says, "hunter2" in says, "That is a bug" in says) == (CRASHED, False, False, True)
