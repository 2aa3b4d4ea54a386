"""`zombie mute` as it is typed, and `zombie unmute`, the old name of `mute --end`."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.ledger import Database, Ledger, audit
from tests.commandline import CommandLine

INVENTORY = """
[nodes.gpu-1]
address = "10.0.0.1"
labels = { role = "gpu" }
[nodes.gpu-2]
address = "10.0.0.2"
labels = { role = "gpu" }
[nodes.web-1]
address = "10.0.0.3"
"""


MUTE = ("mute", "failed-units", "gpu-*", "--for", "7d", "--reason", "replaced")


@pytest.fixture(autouse=True)
def inventory(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "ann")
    (run.folder / "inventory.toml").write_text(INVENTORY)


def test_mute_is_on_record_with_who_and_why_and_says_how_many_nodes_it_means(run: CommandLine) -> None:
    status, said, _ = run(*MUTE)
    assert (status, said.startswith("failed-units is muted on gpu-* until ")) == (0, True)
    assert said.endswith(", which matches 2 of 3 nodes now.\n")
    with Database.open(run.ledger()) as database:
        (entry,) = Ledger(database).mutes.now()
        assert (entry.kind, entry.by, entry.body["reason"]) == ("CauseMuted", "terminal:ann", "replaced")
        assert audit(database).broken == ()
    (told,) = run("mute", "--json").json["mutes"]
    assert (told["cause"], told["selector"], told["by"]) == ("failed-units", "gpu-*", "terminal:ann")
    assert "failed-units on gpu-* until " in run("mute").out


@pytest.mark.parametrize("words", [("unmute",), ("mute", "--end")])
def test_unmuted_is_muted_no_more(run: CommandLine, words: tuple[str, ...]) -> None:
    run(*MUTE)
    said = run(*words, "failed-units", "gpu-*", "--reason", "it was replaced")
    assert said == (0, "failed-units is no longer muted on gpu-*.\n", "")
    with Database.open(run.ledger()) as database:
        ended = Ledger(database).mutes.now()[-1]
        assert (ended.kind, ended.by, ended.body["reason"]) == ("CauseUnmuted", "terminal:ann", "it was replaced")
    assert run("mute", "--json").json["mutes"] == []
    again = run(*words, "failed-units", "gpu-*")
    assert (again.status, "failed-units is not muted on gpu-*." in again.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["failed-unit", "gpu-1", "--for", "7d", "--reason", "x"], "Did you mean failed-units"),
        (["failed-units", "db-*", "--for", "7d", "--reason", "x"], "db-* matches no node of"),
        (["failed-units", "$(reboot)", "--for", "7d", "--reason", "x"], "does not say which nodes"),
        (["failed-units", "gpu-1", "--for", "7d", "--reason", "  "], "A mute needs --reason."),
        (["failed-units", "gpu-1", "--for", "5s", "--reason", "x"], "at least a minute"),
        (["failed-units"], "A mute needs SELECTOR and --for and --reason."),
        (["--for", "7d"], "Which cause, and on which nodes?"),
        (["--end"], "A mute that ends needs CAUSE and SELECTOR"),
        (["--end", "failed-units", "gpu-1", "--for", "7d"], "and no time"),
    ],
)
def test_what_would_mute_nothing_or_nobody_knows_what_is_refused_and_not_on_record(
    run: CommandLine, words: list[str], says: str
) -> None:
    status, _, said = run("mute", *words)
    assert (status, says in said) == (2, True), said
    assert not Path("state").exists()


def test_nothing_is_muted_where_there_is_no_record(run: CommandLine) -> None:
    assert run("mute")[:2] == (0, "Nothing is muted.\n")
    assert run("unmute", "failed-units", "gpu-1").status == 2
