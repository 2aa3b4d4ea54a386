"""`zombie mute` as it is typed, and `zombie unmute`, the old name of `mute --end`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.ledger import Database, Ledger, audit

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


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'zombie.db'}"
    monkeypatch.setenv("ZOMBIE_DATABASE_URL", url)
    for name in ("ZOMBIE_CONFIG", "ZOMBIE_INVENTORY", "ZOMBIE_PLAYBOOKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SUDO_USER", "ann")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inventory.toml").write_text(INVENTORY)
    return url


def mute(cause: str = "failed-units", selector: str = "gpu-*", lasts: str = "7d", reason: str = "replaced") -> int:
    return main(["mute", cause, selector, "--for", lasts, "--reason", reason])


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    capsys.readouterr()
    assert main(["mute", "--json"]) == 0
    told: list[dict[str, str]] = json.loads(capsys.readouterr().out)["mutes"]
    return told


def test_mute_is_on_record_with_who_and_why_and_says_how_many_nodes_it_means(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mute() == 0
    said = capsys.readouterr().out
    assert said.startswith("failed-units is muted on gpu-* until ")
    assert said.endswith(", which matches 2 of 3 nodes now.\n")
    with Database.open(url) as database:
        (entry,) = Ledger(database).mutes.now()
        assert (entry.kind, entry.by, entry.body["reason"]) == ("CauseMuted", "terminal:ann", "replaced")
        assert audit(database).broken == ()
    (told,) = listed(capsys)
    assert (told["cause"], told["selector"], told["by"]) == ("failed-units", "gpu-*", "terminal:ann")
    assert main(["mute"]) == 0
    assert "failed-units on gpu-* until " in capsys.readouterr().out


@pytest.mark.parametrize("words", [("unmute",), ("mute", "--end")])
def test_unmuted_is_muted_no_more(url: str, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    mute()
    assert main([*words, "failed-units", "gpu-*", "--reason", "it was replaced"]) == 0
    assert capsys.readouterr().out.endswith("failed-units is no longer muted on gpu-*.\n")
    with Database.open(url) as database:
        ended = Ledger(database).mutes.now()[-1]
        assert (ended.kind, ended.by, ended.body["reason"]) == ("CauseUnmuted", "terminal:ann", "it was replaced")
    assert listed(capsys) == []
    assert main([*words, "failed-units", "gpu-*"]) == 2
    assert "failed-units is not muted on gpu-*." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["failed-unit", "gpu-1", "--for", "7d", "--reason", "x"], "Did you mean failed-units"),
        (["failed-units", "db-*", "--for", "7d", "--reason", "x"], "db-* matches no node of"),
        (["failed-units", "$(reboot)", "--for", "7d", "--reason", "x"], "does not say which nodes"),
        (["failed-units", "gpu-1", "--for", "7d"], "A mute needs --reason."),
        (["failed-units", "gpu-1", "--for", "7d", "--reason", "  "], "A mute needs --reason."),
        (["failed-units", "gpu-1", "--reason", "x"], "A mute needs --for."),
        (["failed-units", "gpu-1", "--for", "0s", "--reason", "x"], "A mute lasts at least a minute."),
        (["failed-units", "gpu-1", "--for", "5s", "--reason", "x"], "at least a minute"),
        (["failed-units"], "A mute needs SELECTOR and --for and --reason."),
        (["--for", "7d"], "Which cause, and on which nodes?"),
        (["--end"], "A mute that ends needs CAUSE and SELECTOR"),
        (["--end", "failed-units"], "A mute that ends needs CAUSE and SELECTOR"),
        (["--end", "failed-units", "gpu-1", "--for", "7d"], "and no time"),
    ],
)
def test_what_would_mute_nothing_or_nobody_knows_what_is_refused_and_not_on_record(
    url: str, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert main(["mute", *words]) == 2
    assert says in capsys.readouterr().err
    assert not Path(url.removeprefix("sqlite:///")).exists()


def test_nothing_is_muted_where_there_is_no_record(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mute"]) == 0
    assert capsys.readouterr().out == "Nothing is muted.\n"
    assert main(["unmute", "failed-units", "gpu-1"]) == 2
