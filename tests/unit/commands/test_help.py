"""The list of commands: the five that one needs first, then five groups; old names go on, and are not shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.__main__ import main, parser
from bot.commands.completion import every_parser, script
from bot.commands.manual import man_page
from bot.commands.parser import GROUPS

OLD = {"unmute": ("x", "node-1"), "verify": ("x.jsonl",)}
_TITLE, _ROW = re.compile(r"(\S.*):"), re.compile(r"  ([a-z]+)  +\S")


def groups(text: str) -> dict[str, list[str]]:
    """The commands of each group of a help, in its order."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if title := _TITLE.fullmatch(line):
            found[title[1]] = []
        elif (row := _ROW.match(line)) and found:
            next(reversed(found.values())).append(row[1])
    return {title: rows for title, rows in found.items() if rows}


@pytest.mark.parametrize("words", [(), ("--help",)])
def test_program_alone_and_its_help_have_the_five_first_and_then_five_groups(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == (0 if words else 2), "0 would say that all is well, where nothing was asked"
    said = capsys.readouterr()
    listed = groups(said.out)
    assert tuple(listed) == GROUPS == ("start here", "look", "act", "record", "rules", "run")
    assert listed["start here"] == ["demo", "init", "check", "doctor", "serve"]
    for title, some in (
        ("look", {"nodes", "fleet", "diff", "profile", "capture", "why"}),
        ("act", {"remediate", "undo", "wave", "release", "brake"}),
        ("record", {"incidents", "watch", "report", "mark", "audit", "prune"}),
        ("rules", {"playbooks", "mute", "route", "replay", "backtest"}),
        ("run", {"settings", "sudoers", "mcp", "worker", "lab", "completion", "manual"}),
    ):
        assert set(listed[title]) == some
    assert said.err == ""
    assert max(map(len, said.out.splitlines())) <= 80


def test_every_command_stands_in_one_group_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    line = parser()
    listed = [name for rows in groups(line.format_help()).values() for name in rows]
    shown = {below.prog.split()[1] for below in every_parser(line) if " " in below.prog}
    assert sorted(listed) == sorted(shown)
    assert line.format_help() == line.format_help(), "printing it changes nothing"
    text = line.format_help().partition("start here:")[2].partition("options:")[0]
    assert not re.search(r"^ {10,}\S", text, re.MULTILINE), "each has one line"


@pytest.mark.parametrize("old", OLD)
def test_old_name_goes_on_and_no_list_shows_it(old: str) -> None:
    line = parser()
    assert line.parse_args([old, *OLD[old]]).run is not None
    assert not re.search(rf"\b{old}\b", line.format_help().partition("start here:")[2].replace("verify that", ""))
    assert f"zombie {old}" not in man_page(parser())
    assert f"_zombie_{old}" not in script(parser(), "bash")


def test_audit_verify_takes_a_bundle_and_says_how() -> None:
    line = parser()
    assert line.parse_args(["audit", "verify", "x.jsonl"]).bundle == Path("x.jsonl")
    verify = next(below for below in every_parser(line) if below.prog == "zombie audit verify")
    assert "zombie incidents export ID -o incident.jsonl" in verify.format_help()
