"""`zombie check --record` writes cases, and `zombie replay` judges them again, in a terminal."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.domain.case import NotReached, RecordedVerdict
from bot.transport.case_file import load, write

CAPTURES = Path(__file__).parents[2] / "captures"
FOUNDING = CAPTURES / "cases" / "form-2--leaked-memory-cgroups.jsonl.gz"
HEALTHY = CAPTURES / "nodes" / "debian-12--healthy.jsonl.gz"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without settings: a case needs none."""
    monkeypatch.chdir(tmp_path)


def own_playbook(folder: Path, many: int) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "mine.yaml").write_text(
        "name: node-health\nextends: node-health\ntitle: Mine\nversion: 2\n"
        "conditions:\n  - name: many-dying\n    status: degraded\n    says: Many are dying.\n"
        f"    when: cgroups.dying > {many}\n"
    )
    return folder


def test_local_machine_is_recorded_judged_and_replayed_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["check", "--local", "--samples", "1", "--record", "said", "--json"])
    out, err = capsys.readouterr()
    (path,) = (tmp_path / "said").iterdir()
    assert err.strip() == f"said/{path.name}"
    assert main(["replay", "said", "--json"]) == status
    again, remarks = capsys.readouterr()
    (live,), (replayed,) = json.loads(out)["nodes"], json.loads(again)["nodes"]
    assert replayed | {"took_seconds": 0} == live | {"took_seconds": 0}
    assert remarks == ""


def test_without_json_nothing_is_judged_and_the_case_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "known_hosts").touch()
    (tmp_path / "inventory.toml").write_text(
        '[ssh]\nknown_hosts = "known_hosts"\n[nodes.n1]\naddress = "127.0.0.1"\nport = 1\n'
    )
    assert main(["check", "n1", "--samples", "1", "--record", "said"]) == 4
    assert capsys.readouterr().out == "said/n1.jsonl\n"
    case = load(tmp_path / "said" / "n1.jsonl")
    assert (case.judged, case.head.unreachable is not None) == (None, True)
    assert main(["replay", "said/n1.jsonl"]) == 4
    assert "UNREACHABLE" in capsys.readouterr().out


def test_a_second_case_of_a_node_leaves_the_first_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "known_hosts").touch()
    (tmp_path / "inventory.toml").write_text(
        '[ssh]\nknown_hosts = "known_hosts"\n[nodes.n1]\naddress = "127.0.0.1"\nport = 1\n'
    )
    named = list[str]()
    for _ in range(3):
        assert main(["check", "n1", "--samples", "1", "--record", "said"]) == 4
        named.append(capsys.readouterr().out.strip())
    assert named[0] == "said/n1.jsonl"
    assert re.fullmatch(r"said/n1--\d{8}T\d{6}Z\.jsonl", named[1])
    first, *later = (load(tmp_path / name) for name in named)
    assert len(set(named)) == 3
    assert all(each.head.taken_at > first.head.taken_at for each in later)
    assert {str(path.relative_to(tmp_path)) for path in (tmp_path / "said").iterdir()} == set(named)
    assert main(["replay", "said"]) == 4
    assert capsys.readouterr().out.count("UNREACHABLE") == 3


def test_folder_that_cannot_be_made_is_said_before_a_node_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["check", "--local", "--samples", "60", "--record", "file/said"]) == 2
    assert "file/said cannot be made a folder: Not a directory." in capsys.readouterr().err


def test_several_cases_are_told_one_after_another(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(HEALTHY), str(FOUNDING), "--fail-on", "critical"]) == 1
    out = capsys.readouterr().out
    assert out.index("HEALTHY") < out.index("CRITICAL")
    assert f"{FOUNDING}: recorded 2026-11-22" in out
    assert f"content {load(FOUNDING).digest[:16]}…" in out
    assert out.endswith("2 of 2 nodes judged: 1 critical, 1 healthy\n")


def test_damaged_case_is_refused_by_name_before_any_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(FOUNDING.read_bytes()[:-100])
    assert main(["replay", str(HEALTHY), str(cut)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert str(cut) in err
    for missing in ("nowhere.jsonl", "."):
        assert main(["replay", missing]) == 2
        assert missing in capsys.readouterr().err


def test_changed_reading_changes_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(FOUNDING), "--with", "cgroups.dying=900", "--json"]) == 1
    out, err = capsys.readouterr()
    (node,) = json.loads(out)["nodes"]
    assert node["cause"] == "queue-starved"
    assert (node["readings"]["cgroups"]["dying"], node["readings"]["cgroups"]["dying_later"]) == (900, 900)
    assert "judged differently" not in err  # that is what was asked for


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("cgroups.dyng=900", "dying"),
        ("cgroups.dying=many", "it is a whole number"),
        ("cgrups.dying=1", "cgroups"),
        ("cgroups", "is not a change of a reading"),
        ("cgroups=900", "is not a change of a reading"),
        ("units.services[ecs.servic]=none", "ecs.service"),
        ("units.services=none", "cannot be set"),
    ],
)
def test_wrong_change_is_a_sentence(change: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(FOUNDING), "--with", change]) == 2
    assert says in capsys.readouterr().err


def test_own_playbook_judges_and_the_difference_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(HEALTHY, tmp_path / "n.jsonl.gz")
    mine = own_playbook(tmp_path / "mine", -1)
    assert main(["replay", "n.jsonl.gz", "--playbooks", str(mine), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["nodes"][0]["summary"] == "Many are dying."
    for command, status in (("replay", 1), ("why", 0)):
        assert main([command, str(FOUNDING), "--playbooks", str(own_playbook(mine, 10**9))]) == status
        assert "It was recorded with another node-health" in capsys.readouterr().err
    assert main(["replay", str(FOUNDING), "-p", "zombie-cgroups-no-reboot"]) == 1
    assert "It was judged differently when it was recorded, by zombie " in capsys.readouterr().err


def test_case_from_a_stranger_draws_nothing_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = load(FOUNDING)
    hostile = "zombie \x1b[2J\u202e"
    failed = NotReached("refused\x1b[2J", hostile, hostile)
    head = replace(
        case.head, program=hostile, playbook_digest=hostile, environment={hostile: hostile}, unreachable=failed
    )
    for runs in (case.runs, ()):
        path = write(tmp_path, replace(case, head=head, runs=runs, judged=RecordedVerdict(hostile, hostile)))
        main(["replay", str(path)])
        main(["why", str(path)])
        main(["replay", str(path), "--json"])
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "\u202e" not in out + err
    assert "\\x1b[2J" in out
    assert "\\x1b[2J" in err
    (tmp_path / "other.jsonl").write_text(replace(case, head=replace(head, playbook=hostile)).text())
    assert main(["replay", "other.jsonl"]) == 2
    assert "\x1b" not in capsys.readouterr().err
