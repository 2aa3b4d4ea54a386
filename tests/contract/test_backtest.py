"""A backtest lists the verdicts that a changed playbook would flip, no other, and says what flips them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bot.app.cases import replay, replayed
from bot.app.factories import library
from bot.domain.builtin_playbooks import SiteRows
from bot.domain.command import Completed
from bot.domain.verdict import outcome_parts
from bot.extras.cases import backtesting
from bot.extras.cases.backtesting import PlaybooksChange, compared, run_backtest
from bot.extras.cases.verdict_comparison import Pair
from bot.transport.case_file import load, write
from tests.commandline import CommandLine
from tests.contract.test_why import CAPTURES, CASES, FOUNDING

OURS = Path(__file__).parents[2] / "playbooks"
HEALTHY = CAPTURES / "nodes" / "debian-12--healthy.jsonl.gz"


def tuned(cause: str, words: str) -> str:
    """Our playbook, with these words for one of its causes, as YAML between braces."""
    head, listed, rest = re.split(
        r"(?<=^causes:\n)((?:  - .+\n)+)", (OURS / "node-health.yaml").read_text(), flags=re.M
    )
    names = re.findall("  - (.+)", listed)
    assert cause in names
    return head + "".join(f"  {name}: {words if name == cause else '{}'}\n" for name in names) + rest


def planted(folder: Path, many: int) -> Path:
    """Our playbook, with another threshold."""
    folder.mkdir(exist_ok=True)
    words = f"{{thresholds: {{dying_many: {{value: {many}, reason: planted}}}}}}"
    (folder / "node-health.yaml").write_text(tuned("leaked-memory-cgroups", words))
    return folder


async def test_every_verdict_is_that_of_a_replay() -> None:
    playbooks = library().playbooks
    usual = library().get("node-health")
    for path in CASES[:: len(CASES) - 1]:
        case = load(path)
        found = await compared(case, [Pair(usual, playbook) for playbook in playbooks])
        for playbook, comparison in zip(playbooks, found, strict=True):
            assert outcome_parts(comparison.before) == outcome_parts(await replayed(case, usual)), path
            assert outcome_parts(comparison.after) == outcome_parts(await replayed(case, playbook)), (
                path,
                playbook.name,
            )


def test_planted_threshold_flips_what_it_flips_and_nothing_else(run: CommandLine, tmp_path: Path) -> None:
    mine = planted(tmp_path / "mine", 60_000)
    before, after = library().get("node-health"), library([mine]).get("node-health")
    chosen = sorted({FOUNDING, *CASES[::6]})
    expected = {
        str(path)
        for path in chosen
        if outcome_parts(replay(load(path), before).verdict) != outcome_parts(replay(load(path), after).verdict)
    }
    assert expected
    assert expected != {str(path) for path in chosen}
    ran = run(
        "backtest", *map(str, chosen), "--playbooks", str(mine), "--json", "--junit", "o.xml", "--markdown", "o.md"
    )
    document = ran.json
    assert ran.status == 1
    flips = [cell for cell in document["results"] if cell["flips"]]
    assert (document["cases"], document["flips"]) == (len(chosen), len(expected))
    assert {cell["case"] for cell in flips} == expected
    assert {cell["playbook"] for cell in document["results"]} == {"node-health"}
    for cell in flips:
        assert cell["before"] != cell["after"]
        first = cell["because"][0]
        assert first.startswith("leaked-memory-cgroups: ")
        assert first.endswith("dying_many: 1,000 → 60,000")
    suite = ElementTree.parse("o.xml").getroot()
    failed = {test.get("name") for test in suite.iter("testcase") if test.find("failure") is not None}
    assert failed == expected
    assert (suite.get("tests"), suite.get("failures")) == (str(len(chosen)), str(len(expected)))
    summary = Path("o.md").read_text()
    assert f"{len(expected)} of {len(chosen)} verdicts flip" in summary
    assert summary.count("\n| /") == 2 * len(expected)


def test_terminal_says_before_after_and_why(run: CommandLine, tmp_path: Path) -> None:
    mine = planted(tmp_path / "mine", 10**7)
    out = " ".join(run("backtest", str(FOUNDING), str(HEALTHY), "--playbooks", str(mine)).out.split())
    for words in (
        "1 of 2 verdicts flip (2 cases, 1 playbook).",
        f"CASE node-health {FOUNDING} FLIPS",
        "before: critical, leaked-memory-cgroups (confirmed), disable ecs.service, then drain ip-10-0-0-7 prod",
        "after: degraded, crash-looping-unit (confirmed), disable ecs.service",
        "leaked-memory-cgroups: critical, confirmed (",
        "→ ruled out (68,440 dying memory cgroups beside 240 alive; 10,000,000 would be many)",
    ):
        assert words in out, words


def test_playbook_that_judges_as_before_flips_nothing(run: CommandLine, tmp_path: Path) -> None:
    nothing = "The playbooks judge as before: there is nothing to compare."
    for many, says in ((1000, nothing), (1001, "0 of 1 verdicts flip (1 case, 1 playbook).")):
        mine = str(planted(tmp_path / "mine", many))
        assert run("backtest", str(FOUNDING), "--playbooks", mine) == (0, f"{says}\n", "")


def test_change_that_a_cases_own_playbook_inherits_is_compared(run: CommandLine, tmp_path: Path) -> None:
    case = load(FOUNDING)
    write(tmp_path, replace(case, head=replace(case.head, playbook="zombie-cgroups")))
    mine = planted(tmp_path / "mine", 10**7)
    cells = run("backtest", str(tmp_path), "--playbooks", str(mine), "--json").json["results"]
    assert [(cell["playbook"], cell["flips"]) for cell in cells] == [("node-health", True), ("zombie-cgroups", True)]


def test_new_playbook_stands_against_the_cases_own(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "m.yaml").write_text(
        "name: stricter\nextends: node-health\ntitle: Mine\nversion: 1\nconditions:\n"
        "  - {name: any-dying, status: degraded, says: Some are dying., when: cgroups.dying > -1}\n"
    )
    (cell,) = run("backtest", str(HEALTHY), "--playbooks", "mine", "--json").json["results"]
    assert (cell["playbook"], cell["against"], cell["flips"]) == ("stricter", "node-health", True)
    assert cell["because"] == ["any-dying: not evaluated → holds, degraded (Some are dying.)"]


def test_what_a_new_playbook_leaves_out_is_told_only_where_it_was_found(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "m.yaml").write_text(
        "name: small\ntitle: Mine\nversion: 1\nprobes: [host]\n"
        "conditions:\n  - {name: is-up, status: degraded, says: It is up., when: host.uptime_seconds > 0}\n"
        "  - {name: is-old, says: It is old., when: host.uptime_seconds > 10 ** 12}\n"
    )
    (cell,) = run("backtest", str(FOUNDING), "--playbooks", "mine", "--json").json["results"]
    assert any(line.startswith("leaked-memory-cgroups: critical, confirmed (") for line in cell["because"])
    assert "is-up: not evaluated → holds, degraded (It is up.)" in cell["because"]
    assert [line for line in cell["because"] if "ruled out" in line or "does not hold" in line] == []


def test_remedy_and_must_read_that_changed_are_told(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "m.yaml").write_text(tuned("leaked-memory-cgroups", "{remedy: [disable_unit]}"))
    (cell,) = run("backtest", str(FOUNDING), "--playbooks", "mine", "--json").json["results"]
    assert cell["because"] == ["remedy of leaked-memory-cgroups: disable_unit, mask_unit, reboot → disable_unit"]


def test_probe_that_reads_another_thing_by_the_same_name_is_read_apart(run: CommandLine, tmp_path: Path) -> None:
    for folder, field in (("theirs", "^(\\S+)"), ("mine", "^\\S+ (\\S+)")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.yaml").write_text(
            "name: own\ntitle: Own\nversion: 1\nprobes: [host, load]\ndefine_probes:\n"
            "  - {name: load, title: Load, command: [cat, /proc/loadavg],"
            f" fields: {{x: {{regex: '{field}', type: number}}}}}}\n"
            "conditions: [{name: high, when: load.x > 5, says: It is., status: degraded}]\nmust_read: [load]\n"
        )
    case = load(HEALTHY)
    write(tmp_path, replace(case, runs=(*case.runs, Completed("load", "load", 0, "1.0 9.0 1.0 1/100 7\n"))))
    (cell,) = run("backtest", str(tmp_path), "--playbooks", "mine", "--against", "theirs", "--json").json["results"]
    assert (cell["before"]["status"], cell["after"]["status"]) == ("healthy", "degraded")
    assert cell["because"] == ["high: does not hold → holds, degraded (It is.)"]


def test_what_is_wrong_ends_with_two_and_writes_nothing(run: CommandLine, tmp_path: Path) -> None:
    mine = planted(tmp_path / "mine", 10)
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(FOUNDING.read_bytes()[:-50])
    for wrong in (
        [str(FOUNDING), str(cut), "--playbooks", str(mine)],
        [str(FOUNDING), "--playbooks", str(mine), "-p", "nothing-such"],
        [str(FOUNDING), "--playbooks", "nowhere"],
        [str(FOUNDING), "--playbooks", str(tmp_path)],  # a folder without a playbook
        ["nowhere", "--playbooks", str(mine)],
    ):
        status, out, err = run("backtest", *wrong, "--junit", "o.xml")
        assert (status, out, err[:8]) == (2, "", "zombie: ")
    assert not Path("o.xml").exists()


def test_many_cases_are_shared_out_and_keep_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many, files = 4, list[Path]()
    monkeypatch.setattr(backtesting, "WORTH_SHARING", many)
    for number in range(many):
        files.append(tmp_path / f"{number:04}.jsonl.gz")
        shutil.copy(HEALTHY if number % 2 else FOUNDING, files[-1])
    change = PlaybooksChange((planted(tmp_path / "mine", 10**7),), "node-health")
    shared = run_backtest(change, files, processes=2)
    assert [cell.case for cell in shared] == [str(path) for path in files]
    assert [cell.comparison.flips for cell in shared] == [not number % 2 for number in range(many)]


def test_case_from_a_stranger_draws_nothing(run: CommandLine, tmp_path: Path) -> None:
    case, mine = load(FOUNDING), planted(tmp_path / "mine", 10**7)
    units = "a\x1b[2J|<script>`x`\u202e@acme/all:https://evil.example.service"
    runs = tuple(replace(run, stdout=run.stdout.replace("ecs.service", units)) for run in case.runs)
    (tmp_path / "n\x1b[2J<b>.jsonl").write_text(replace(case, runs=runs).text())
    paths = [str(path) for path in tmp_path.glob("*.jsonl")]
    command = ("backtest", *paths, "--playbooks", str(mine), "--junit", "o.xml", "--markdown", "o.md")
    said = run(*command).out + run(*command, "--json").out + Path("o.xml").read_text() + Path("o.md").read_text()
    assert "FLIPS" in said
    for drawn in ("\x1b", "\u202e"):
        assert drawn not in said
    document = Path("o.md").read_text()
    assert "acme/all" in document
    for markup in ("<script>", "@acme", "https://"):  # a site looks for names and links behind a backslash, too
        assert markup not in document.replace("\\<", "")
    ElementTree.parse("o.xml")


WORN = """cause: worn
title: Worn
about: It is worn.
lasting_fix: Another.
evidence: [{name: full, when: cpu.cores > 1000, says: Some are left.}]
otherwise: [{ruled_out: none is}]
examples: [{then: undecided}]
"""


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        (folder / "causes").mkdir(parents=True)
        (folder / "causes" / "worn.yaml").write_text(WORN)
    before = SiteRows.taken()
    yield old, new
    SiteRows.put(before)


def test_cause_of_ones_own_that_was_changed_is_compared(run: CommandLine, folders: tuple[Path, Path]) -> None:
    old, new = folders
    command = ("backtest", str(HEALTHY), "--against", str(old), "--playbooks", str(new))
    assert run(*command)[:2] == (0, "The playbooks judge as before: there is nothing to compare.\n")
    (new / "causes" / "worn.yaml").write_text(WORN.replace("> 1000", "> 0"))
    ran = run(*command)
    assert (ran.status, "worn: ruled out (none is) → " in ran.out) == (1, True)


def test_what_a_table_of_ones_own_says_is_compared_too(run: CommandLine, folders: tuple[Path, Path]) -> None:
    _, new = folders
    (new / "tables").mkdir()
    (new / "tables" / "units.toml").write_text('[acme]\nis = ["protected"]\nnames = ["ecs"]\n')
    said = run("backtest", str(FOUNDING), "--playbooks", str(new)).out
    assert "before: critical, leaked-memory-cgroups (confirmed), disable ecs.service" in said
    assert "after:  critical, leaked-memory-cgroups (confirmed)\n    - what tables/ of the folders say differs" in said
