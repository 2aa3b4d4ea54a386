"""`zombie playbooks check`: a file, or every playbook of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.__main__ import main

BASE = "name: base\ntitle: Base\nversion: 1\nextends: zombie-cgroups\n"
UPON = "name: upon\ntitle: Upon it\nversion: 1\nextends: base\n"
BROKEN = "name: broken\ntitle: Broken\nversion: 1\nprobes: [hst]\n"


def checked(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    status = main(["playbooks", "check", str(path)])
    told = capsys.readouterr()
    return status, told.out.splitlines(), told.err


def test_every_playbook_of_a_folder_is_checked_with_those_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("base.yaml", BASE), ("upon.yml", UPON), ("notes.txt", "no playbook"), (".upon.yml", "a: [")):
        (tmp_path / name).write_text(text)
    status, out, err = checked(tmp_path, capsys)
    assert (status, len(out), err) == (0, 2, "")
    assert "upon.yml: upon is valid: 13 probes, 4 causes" in out[1]


def test_broken_playbook_of_a_folder_is_told_and_the_others_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text(BROKEN)
    (tmp_path / "base.yaml").write_text(BASE)
    status, out, err = checked(tmp_path, capsys)
    assert (status, len(out)) == (2, 1)
    assert "a.yaml:4: unknown probe" in err


def test_folder_without_playbooks_is_said_to_have_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = checked(tmp_path, capsys)
    assert status == 2
    assert "has no playbook" in err
