"""A library holds playbooks that are right as a whole, or says by file and line what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.domain.cause import Threshold
from bot.domain.errors import PlaybookError, UnknownPlaybook
from bot.domain.verdict import Confidence, Status
from bot.library import Library
from bot.probes.cgroups import CgroupsReading
from tests.unit.library.tables import CAUSES, EXTENDING, PROBES, WHOLE, load, refusal, snapshot

ROOT = Path(__file__).parents[3]
LEAK = "leaked-memory-cgroups"


def test_playbook_is_what_its_file_says(tmp_path: Path) -> None:
    book = load(tmp_path, node_health=WHOLE).get("node-health")
    assert (book.name, book.title, book.version, book.description) == (
        "node-health",
        "Everything there is",
        3,
        "For any node.",
    )
    assert [probe.name for probe in book.probes] == ["host", "cpu", "cgroups", "kernel_log", "reclaim"]
    assert book.probes[1] is PROBES["cpu"]
    assert book.must_read == ("cpu", "cgroups")
    assert book.origin == str(tmp_path / "node-health.yaml")
    leak, lockup = book.causes
    assert leak.cause is CAUSES[LEAK]
    assert leak.thresholds["many"] == Threshold(1000, "a fresh boot has about 17")
    assert str(leak.thresholds["many"].value) == "1000"
    assert leak.tuning["held"] == 92.5
    assert (leak.remedy, leak.lasting_fix) == (("disable_unit", "reboot"), "Take the agent out of the image.")
    assert (lockup.remedy, lockup.lasting_fix) == (("reboot",), "")


def test_condition_is_compiled_and_holds(tmp_path: Path) -> None:
    text = WHOLE + "  - {name: many, when: cgroups.dying > 5, says: Many., cause: my-own, status: critical}\n"
    short, many = load(tmp_path, node_health=text).get("node-health").conditions
    assert (short.status, short.confidence, short.cause) == (Status.DEGRADED, Confidence.LIKELY, None)
    assert short.probes == ("reclaim", "cpu")
    assert (many.status, many.cause) == (Status.CRITICAL, "my-own")
    assert many.holds(snapshot({"cgroups": CgroupsReading("v1", 6, 1, "x")})) is True
    assert many.holds(snapshot({"cgroups": CgroupsReading("v1", 5, 1, "x")})) is False


def test_unknown_name_lists_near_ones(tmp_path: Path) -> None:
    library = load(tmp_path, node_health=WHOLE)
    with pytest.raises(UnknownPlaybook, match="Did you mean node-health"):
        library.get("node-helth")
    with pytest.raises(UnknownPlaybook, match=r"\\x1b\[31m"):
        library.get("\x1b[31m")


MANY, SHORT = f"{LEAK}.thresholds.many", "18: when of memory-short"


def edited(*changes: tuple[str, str]) -> str:
    text = WHOLE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("title:", "titel:"), '2: unknown key "titel". Did you mean title?'),
        (("version: 3\n", ""), '1: the playbook lacks "version"'),
        (("version: 3", "version: '3'"), "3: version should be a whole number"),
        (("name: node-health", "name: Node Health"), '1: name is "Node Health"; it should be lower-case letters'),
        (("cpu, cgroups, kernel", "cpu, cgroup, kernel"), '5: unknown probe "cgroup" in probes. Did you mean cgroups?'),
        (("[host, cpu,", "[host, cpu, cpu,"), "5: cpu is named twice"),
        (("[cpu, cgroups]", "[cpu, units]"), '6: unknown probe "units" in must_read (it has to be among probes).'),
        (("  lockup:\n", "  lokup:\n"), '14: unknown cause "lokup" in causes. Did you mean lockup?'),
        (("kernel_log, reclaim", "reclaim"), "14: lockup needs kernel_log: add it to probes, or leave the cause out"),
        (("      held: {value: 92.5", "      hold: {value: 92.5"), f'13: unknown threshold "hold" in {LEAK}. '),
        ((", reason: a fresh boot has about 17", ""), f'12: causes.{MANY} lacks "reason": why this number'),
        (
            ("{value: 1000, reason: a fresh boot has about 17}", "1000"),
            f"12: causes.{MANY} should be a table: {{value: ",
        ),
        (("value: 1000", "value: true"), f"12: causes.{MANY}.value should be a number"),
        (("value: 1000", "value: many"), f"12: causes.{MANY}.value should be a number"),
        (("value: 1000", "value: .nan"), f"12: causes.{MANY}.value should be a number"),
        (("value: 1000", 'value: "1000"'), f"12: causes.{MANY}.value should be a number, without quotes: 1000"),
        (("value: 1000", "value: 30m"), f'12: causes.{MANY}.value should be a number alone, not "30m"; its name'),
        (("value: 1000", "value: -1"), f"12: many of {LEAK} is -1; no threshold is below 0"),
        (("version: 3", "version: 3.0"), "3: version should be a whole number: 3"),
        (("says: Memory is short.", "<<: {a: b}"), "19: merge keys (<<) are not supported"),
        (("    remedy: [reboot]\n", "    remedy: reboot\n"), "15: causes.lockup.remedy should be a list: [reboot]"),
        (("reclaim.memory", "reclaim.memry"), f'{SHORT}: reclaim has no field "memry_full_avg10". Did'),
        (("when: reclaim.memory_full_avg10", "when: units.failed_count"), f"{SHORT}: units is not read"),
        (("> 10 and", "> 10 &&"), f"{SHORT}: not an expression at character 33: invalid syntax; write and"),
        (("status: degraded", "status: degrated"), '20: conditions[0].status is "degrated". Did you mean degraded?'),
        (("status: degraded", "cause: my-own"), "20: memory-short has a cause and no status; add status: degraded"),
        (("status: degraded", "confidence: likely"), "20: memory-short has a confidence and no status"),
        (
            ("status: degraded", "status: degraded\n  - {name: memory-short, when: cpu.cores > 1, says: x}"),
            "21: a condition",
        ),
        (("version: 3", "version: 3\nversion: 4"), '4: "version" is given twice; the first time in line 3'),
        (("version: 3", "version: 3\nextends: node-helth"), '4: unknown playbook "node-helth" in extends.'),
        (
            ("    remedy: [reboot]\n", "    remedy: [reboot]\n    allow: [x.service]\n"),
            "16: lockup takes no list of what is allowed: leave allow out",
        ),
        (("version: 3", "version: 3\nextends: node-health"), '4: unknown playbook "node-health" in extends.'),
        (("probes: [host", "probes: &p [host"), "5: anchors (&name) are not supported"),
        (("probes: [host, cpu, cgroups, kernel_log, reclaim]", "probes: cpu"), "5: probes should be a list"),
        (("says: Memory is short.", "says: ''"), "19: conditions[0].says is empty"),
        (("says: Memory is short.", "says: 5"), '19: conditions[0].says should be text; put it in quotes: "5"'),
        (("description: For any node.", "description: [x]"), "4: description should be text"),
    ],
)
def test_fault_is_told_with_its_line_and_what_would_be_right(
    tmp_path: Path, change: tuple[str, str], says: str
) -> None:
    said = refusal(tmp_path, edited(change)).splitlines()
    assert any(line.startswith(f"book.yaml:{says}") for line in said), said


@pytest.mark.parametrize(
    ("remedy", "says"),
    [
        ("disable_units, reboot", '"disable_units" is not an action. Did you mean'),
        ("reboot, disable_unit", "disable_unit comes before reboot"),
        ("reboot", "a reboot needs disable_unit or mask_unit"),
        ("drop_caches, reboot", "a reboot needs"),
        ("disable_unit, reboot, reboot", "an action is named"),
        ("disable_unit, reboot, drain", "drain comes before"),
        ("uncordon, disable_unit", "uncordon comes last"),
    ],
)
def test_remedy_that_could_not_help_is_told(tmp_path: Path, remedy: str, says: str) -> None:
    said = refusal(tmp_path, edited(("[disable_unit, reboot]", f"[{remedy}]"))).splitlines()
    assert any(line.startswith(f"book.yaml:9: remedy of {LEAK}: {says}") for line in said), said


def test_every_fault_of_a_file_is_told_at_once(tmp_path: Path) -> None:
    said = refusal(tmp_path, edited(("version: 3", "version: x"), ("reason:", "reson:"))).splitlines()
    assert [line.split(":")[1] for line in said] == ["3", "12", "12", "13", "13"]


def test_every_broken_file_is_told_at_once(tmp_path: Path) -> None:
    said = refusal(tmp_path, "a: [", other="name: x\n")
    assert "book.yaml:1: not YAML" in said
    assert 'other.yaml:1: the playbook lacks "title"' in said


def test_playbook_that_extends_a_broken_one_is_not_blamed(tmp_path: Path) -> None:
    said = refusal(
        tmp_path, "name: book\ntitle: x\nversion: 1\nextends: node-health\n", other=edited(("[cpu, cgroups]", "[x]"))
    )
    assert [line.split(". ")[0] for line in said.splitlines()] == [
        'other.yaml:6: unknown probe "x" in must_read (it has to be among probes)'
    ]


def test_huge_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, WHOLE + "#" * 300_000).startswith("book.yaml: the file is larger than 256 kB")


def test_file_that_is_no_text_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"name: x\ntitle: caf\xe9\n")
    with pytest.raises(PlaybookError, match=r"a\.yaml:2: the byte 0xe9 is not UTF-8"):
        Library.load([tmp_path], PROBES, CAUSES, ACTIONS)


def test_empty_file_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, "# nothing yet\n").startswith("book.yaml: the file is empty; a playbook has at least")


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlaybookError, match="gone: the folder of playbooks cannot be read: No such file"):
        Library.load([tmp_path / "gone"], PROBES, CAUSES, ACTIONS)


def test_only_yaml_files_are_playbooks(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("not YAML: [")
    (tmp_path / ".book.yaml.swp").write_text("not YAML: [")
    (tmp_path / ".hidden.yaml").write_text("not YAML: [")
    (tmp_path / "other.yml").write_text(WHOLE)
    assert load(tmp_path).names == ("node-health",)


# --- checking one file


def test_file_is_checked_as_the_library_would_take_it_in(tmp_path: Path) -> None:
    library = load(tmp_path / "books", node_health=WHOLE)
    file = tmp_path / "mine.yaml"
    file.write_text(EXTENDING)
    assert library.check_file(file).causes == library.get("node-health").causes
    file.write_text(EXTENDING + "probes: [cpu, nope]\n")
    with pytest.raises(PlaybookError, match=r'mine\.yaml:5: unknown probe "nope"'):
        library.check_file(file)
    assert library.names == ("node-health",)


def test_file_of_the_library_is_checked_in_its_own_place(tmp_path: Path) -> None:
    library = load(tmp_path, node_health=WHOLE)
    file = tmp_path / "node-health.yaml"
    assert library.check_file(file).causes == library.get("node-health").causes
    file.write_text(WHOLE.replace("version: 3", "version: 3\nextends: node-health"))
    with pytest.raises(PlaybookError, match=r'node-health\.yaml:4: unknown playbook "node-health" in extends'):
        library.check_file(file)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlaybookError, match=r"gone\.yaml: the playbook cannot be read: No such file"):
        load(tmp_path, node_health=WHOLE).check_file(tmp_path / "gone.yaml")


# --- speed


def test_loading_waits_for_nothing_that_only_editors_need(tmp_path: Path) -> None:
    load(tmp_path, node_health=WHOLE)
    program = (
        "import sys; from pathlib import Path; from bot.library import Library; "
        "from tests.unit.library.tables import PROBES, CAUSES, ACTIONS; "
        f"Library.load([Path({str(tmp_path)!r})], PROBES, CAUSES, ACTIONS); "
        "print(*sorted({'pydantic', 're2', 'asyncssh', 'jsonschema'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []
