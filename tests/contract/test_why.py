"""What `zombie why` says is so: each change, made by `zombie replay --with`, has the outcome that was told."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app.cases import replay
from bot.app.factories import library
from bot.domain.verdict import outcome_parts
from bot.extras.cases.explaining import find_changes
from bot.transport.case_file import load
from tests.commandline import CommandLine

CAPTURES = Path(__file__).parents[1] / "captures"
CASES = sorted([*(CAPTURES / "nodes").glob("*.jsonl.gz"), *(CAPTURES / "cases").glob("*.jsonl.gz")])
NAMES = {path: path.name.split(".")[0] for path in CASES}
LIBRARY = library()
FOUNDING = CAPTURES / "cases" / "form-2--leaked-memory-cgroups.jsonl.gz"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=NAMES[path], marks=[pytest.mark.long] if at % 9 != 4 else [])
        for at, path in enumerate(CASES)
    ],
)
def test_every_change_that_is_told_has_the_outcome_that_is_told(path: Path) -> None:
    case, playbook = load(path), LIBRARY.get("node-health")
    told = find_changes(case, playbook)
    assert told.changes
    for each in told.changes:
        again = replay(case, playbook, [each.change]).verdict
        assert outcome_parts(again) == outcome_parts(each.verdict) != outcome_parts(told.verdict), str(each.change)
    for each in [each for each in told.changes if each.still is not None][:2]:
        nearby = replace(each.change, value=each.still or "")
        assert outcome_parts(replay(case, playbook, [nearby]).verdict) == outcome_parts(told.verdict), str(nearby)
    assert [each.size for each in told.changes] == sorted(each.size for each in told.changes)


def test_terminal_tells_the_changes_as_replay_takes_them(run: CommandLine) -> None:
    document = run("why", str(FOUNDING), "--json").json
    assert (document["node"], document["verdict"]["status"]) == ("ray-gpu-1a-0417", "critical")
    for change in (document["changes"][0], document["changes"][-1]):
        changed = (word for text in change["with"] for word in ("--with", text))
        (node,) = run("replay", str(FOUNDING), "--json", *changed).json["nodes"]
        assert {name: node[name] for name in ("status", "cause", "confidence", "plan")} == {
            name: change[name] for name in ("status", "cause", "confidence", "plan")
        }
    says = " ".join(change["says"] for change in document["changes"])
    assert "If cgroups had not been read: unknown, and no plan would be offered." in says
    assert "and drain ip-10-0-0-7 prod, reboot and uncordon ip-10-0-0-7 prod would not be offered" in says
    status, out, _ = run("why", str(FOUNDING))
    assert status == 0
    assert out.startswith("ray-gpu-1a-0417  CRITICAL  leaked-memory-cgroups (confirmed)\n")
    assert f"zombie replay {FOUNDING} --with {document['changes'][0]['with'][0]}" in out


def test_node_that_nobody_reached_has_no_reading_to_change(run: CommandLine) -> None:
    run.unreachable("n1")
    assert run("check", "n1", "--samples", "1", "--record", "said").status == 4
    status, out, _ = run("why", "said")
    assert (status, "UNREACHABLE" in out, "no reading would change this" in out) == (0, True, True)


def test_folder_with_several_cases_is_not_explained(run: CommandLine, tmp_path: Path) -> None:
    for name in "ba":
        shutil.copy(FOUNDING, tmp_path / f"{name}.jsonl")
    status, _, err = run("why", str(tmp_path))
    assert status == 2
    assert f"has 2 cases in it.\n        Name a case, such as {tmp_path / 'a.jsonl'}\n" in err


def test_what_is_no_case_is_said_with_how_to_make_one(run: CommandLine) -> None:
    for case in ("0123456789", "."):
        status, _, err = run("why", case)
        assert (status, "zombie check NODE --record DIR" in err) == (2, True)
