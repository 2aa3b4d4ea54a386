"""`zombie check --record` writes cases, and `zombie replay` judges them again, in a terminal."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bot.domain.case import NotReached, RecordedVerdict
from bot.transport.case_file import load, write
from tests.commandline import CommandLine

CAPTURES = Path(__file__).parents[2] / "captures"
FOUNDING = CAPTURES / "cases" / "form-2--leaked-memory-cgroups.jsonl.gz"
HEALTHY = CAPTURES / "nodes" / "debian-12--healthy.jsonl.gz"


def own_playbook(folder: Path, many: int) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "mine.yaml").write_text(
        "name: node-health\nextends: node-health\ntitle: Mine\nversion: 2\n"
        "conditions:\n  - name: many-dying\n    status: degraded\n    says: Many are dying.\n"
        f"    when: cgroups.dying > {many}\n"
    )
    return folder


def test_local_machine_is_recorded_judged_and_replayed_alike(run: CommandLine) -> None:
    first, again = (
        run("check", "--local", "--samples", "1", "--record", "said", "--json"),
        run("replay", "said", "--json"),
    )
    (path,), (live,), (replayed,) = Path("said").iterdir(), first.json["nodes"], again.json["nodes"]
    assert (first.err.strip(), again.err, again.status) == (str(path), "", first.status)
    assert replayed | {"took_seconds": 0} == live | {"took_seconds": 0}


def test_without_json_nothing_is_judged_and_the_case_is_named(run: CommandLine) -> None:
    run.unreachable("n1")
    assert run("check", "n1", "--samples", "1", "--record", "said")[:2] == (4, "said/n1.jsonl\n")
    case = load(Path("said/n1.jsonl"))
    assert (case.judged, case.head.unreachable is not None) == (None, True)
    again = run("replay", "said/n1.jsonl")
    assert (again.status, "UNREACHABLE" in again.out) == (4, True)


def test_a_second_case_of_a_node_leaves_the_first_as_it_is(run: CommandLine) -> None:
    run.unreachable("n1")
    ran = [run("check", "n1", "--samples", "1", "--record", "said") for _ in range(3)]
    named = [each.out.strip() for each in ran]
    assert {each.status for each in ran} == {4}
    assert named[0] == "said/n1.jsonl"
    assert re.fullmatch(r"said/n1--\d{8}T\d{6}Z\.jsonl", named[1])
    first, *later = (load(Path(name)) for name in named)
    assert len(set(named)) == 3
    assert all(each.head.taken_at > first.head.taken_at for each in later)
    assert set(map(str, Path("said").iterdir())) == set(named)
    again = run("replay", "said")
    assert (again.status, again.out.count("UNREACHABLE")) == (4, 3)


def test_folder_that_cannot_be_made_is_said_before_a_node_is_read(run: CommandLine) -> None:
    Path("file").touch()
    status, _, err = run("check", "--local", "--samples", "60", "--record", "file/said")
    assert (status, "file/said cannot be made a folder: Not a directory." in err) == (2, True)


def test_several_cases_are_told_one_after_another(run: CommandLine) -> None:
    status, out, _ = run("replay", str(HEALTHY), str(FOUNDING), "--fail-on", "critical")
    assert status == 1
    assert out.index("HEALTHY") < out.index("CRITICAL")
    assert f"{FOUNDING}: recorded 2026-11-22" in out
    assert f"content {load(FOUNDING).digest[:16]}…" in out
    assert out.endswith("2 of 2 nodes judged: 1 critical, 1 healthy\n")


@pytest.mark.parametrize("wrong", ["cases/cut.jsonl.gz", "nowhere.jsonl", "."])
def test_damaged_case_is_refused_by_name_before_any_is_judged(run: CommandLine, wrong: str) -> None:
    Path("cases").mkdir()
    Path("cases/cut.jsonl.gz").write_bytes(FOUNDING.read_bytes()[:-100])
    status, out, err = run("replay", str(HEALTHY), wrong)
    assert (status, out, wrong in err) == (2, "", True)


def test_changed_reading_changes_the_verdict(run: CommandLine) -> None:
    ran = run("replay", str(FOUNDING), "--with", "cgroups.dying=900", "--json")
    (node,) = ran.json["nodes"]
    assert ran.status == 1
    assert node["cause"] == "queue-starved"
    assert (node["readings"]["cgroups"]["dying"], node["readings"]["cgroups"]["dying_later"]) == (900, 900)
    assert "judged differently" not in ran.err  # that is what was asked for


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("cgroups.dyng=900", "dying"),
        ("cgroups.dying=many", "it is a whole number"),
        ("cgrups.dying=1", "cgroups"),
        ("cgroups=900", "is not a change of a reading"),
        ("units.services[ecs.servic]=none", "ecs.service"),
        ("units.services=none", "cannot be set"),
    ],
)
def test_wrong_change_is_a_sentence(run: CommandLine, change: str, says: str) -> None:
    status, _, err = run("replay", str(FOUNDING), "--with", change)
    assert (status, says in err) == (2, True)


def test_own_playbook_judges_and_the_difference_is_told(run: CommandLine) -> None:
    shutil.copy(HEALTHY, "n.jsonl.gz")
    mine = own_playbook(run.folder / "mine", -1)
    ran = run("replay", "n.jsonl.gz", "--playbooks", str(mine), "--json")
    assert (ran.status, ran.json["nodes"][0]["summary"]) == (1, "Many are dying.")
    for command, status in (("replay", 1), ("why", 0)):
        ran = run(command, str(FOUNDING), "--playbooks", str(own_playbook(mine, 10**9)))
        assert (ran.status, "It was recorded with another node-health" in ran.err) == (status, True)
    ran = run("replay", str(FOUNDING), "-p", "zombie-cgroups-no-reboot")
    assert (ran.status, "It was judged differently when it was recorded, by zombie " in ran.err) == (1, True)


def test_case_from_a_stranger_draws_nothing_on_the_terminal(run: CommandLine) -> None:
    case = load(HEALTHY)
    hostile = "zombie \x1b[2J\u202e"
    failed = NotReached("refused\x1b[2J", hostile, hostile)
    head = replace(
        case.head, program=hostile, playbook_digest=hostile, environment={hostile: hostile}, unreachable=failed
    )
    for runs in (case.runs, ()):
        path = str(write(run.folder, replace(case, head=head, runs=runs, judged=RecordedVerdict(hostile, hostile))))
        said = [run("replay", path), run("why", path), run("replay", path, "--json")]
        out, err = ("".join(texts) for texts in list(zip(*said, strict=True))[1:])
        assert not {"\x1b", "\u202e"} & {*out, *err}
        assert ("\\x1b[2J" in out, "\\x1b[2J" in err) == (True, True)
    (run.folder / "other.jsonl").write_text(replace(case, head=replace(head, playbook=hostile)).text())
    ran = run("replay", "other.jsonl")
    assert (ran.status, "\x1b" in ran.err) == (2, False)
