"""`zombie playbooks check`: a file, or every playbook of a folder."""

from __future__ import annotations

from tests.commandline import CommandLine

BASE = "name: base\ntitle: Base\nversion: 1\nextends: zombie-cgroups\n"
UPON = "name: upon\ntitle: Upon it\nversion: 1\nextends: base\n"
BROKEN = "name: broken\ntitle: Broken\nversion: 1\nprobes: [hst]\n"


def test_every_playbook_of_a_folder_is_checked_with_those_beside_it(run: CommandLine) -> None:
    for name, text in (("base.yaml", BASE), ("upon.yml", UPON), ("notes.txt", "no playbook"), (".upon.yml", "a: [")):
        (run.folder / name).write_text(text)
    status, out, err = run("playbooks", "check", ".")
    assert (status, out.count("\n"), err) == (0, 2, "")
    assert "upon.yml: upon is valid: 13 probes, 4 causes\n" in out


def test_broken_playbook_of_a_folder_is_told_and_the_others_are_checked(run: CommandLine) -> None:
    (run.folder / "a.yaml").write_text(BROKEN)
    (run.folder / "base.yaml").write_text(BASE)
    status, out, err = run("playbooks", "check", ".")
    assert (status, out.count("\n"), "a.yaml:4: unknown probe" in err) == (2, 1, True)


def test_folder_without_playbooks_is_said_to_have_none(run: CommandLine) -> None:
    status, _, err = run("playbooks", "check", ".")
    assert (status, "has no playbook" in err) == (2, True)
