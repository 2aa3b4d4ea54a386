"""Every row of the kernel log's table: what it has seen, the node sends and the row tells; what it never takes."""

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bot
from bot.domain.builtin_playbooks import builtin_playbooks
from bot.probes.formats.kernel_filter import FILTER
from bot.probes.formats.kernel_line import KernelEvent, KernelLine
from bot.probes.formats.kernel_story import combine_lines
from bot.probes.formats.kernel_table import PARTS_OF_A_STORY, Found, KernelLogRow, own_table, plain_line
from bot.probes.kernel_log import KernelLogReading
from tests.readings.node_tools import Way, every_awk, filtered
from tests.unit.probes.spelled import GAP, ways

DOCUMENT: dict[str, Any] = tomllib.loads((builtin_playbooks() / "tables" / "kernel-log.toml").read_text("utf-8"))
ROWS: dict[str, dict[str, Any]] = {
    f"{ring}.{name}": {"kind": ring, **row}
    for ring, rows in DOCUMENT.items()
    if isinstance(rows, dict) and ring != "parts"
    for name, row in rows.items()
}
SEEN = [(name, seen) for name, row in ROWS.items() for seen in row["seen"]]
NEVER = [(name, never) for name, row in ROWS.items() for never in row.get("never", ())]

KEYS = "kind lines has node run harmless_once fails from seen never"


def told(event: KernelEvent) -> dict[str, str]:
    """Return what an event names."""
    named = {"device": event.device, "core": event.core, "queue": event.queue, "process": event.process.strip()}
    return {"kind": event.kind} | {name: str(value) for name, value in named.items() if value not in ("", None)}


def found(says: str) -> Found | None:
    return own_table().find(KernelLine(says, says))


@pytest.mark.parametrize(("name", "seen"), SEEN)
def test_row_knows_what_it_has_seen_and_what_that_names(name: str, seen: str) -> None:
    line, marks = plain_line(seen)
    if ROWS[name]["kind"] == "driver":
        assert own_table().ena_version(KernelLine(line, "")) == "2.11.0"
        return
    known = found(line)
    assert known is not None
    assert (known.row.name, told(known.event)) == (name, {"kind": ROWS[name]["kind"]} | marks)


@every_awk
def test_node_sends_what_its_rows_have_seen(awk: Way) -> None:
    lines = [f"[{number:12.6f}] node kernel: {plain_line(seen)[0]}" for number, (_, seen) in enumerate(SEEN, start=100)]
    kept = {name for name, count in _per_ring().items() if count > 80}
    assert not kept, "a ring holds eighty lines: this test would not see the oldest"
    text = "".join(f"{line}\n[   99.000000] node kernel: it runs\n" for line in lines) + "-- whole --\n"
    sent = filtered(FILTER, text, awk, o="journal").splitlines()
    assert [line for line in lines if line not in sent] == []


def _per_ring() -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, _ in SEEN:
        counts[name.split(".")[0]] = counts.get(name.split(".")[0], 0) + 1
    return counts


def test_program_is_the_same_in_every_process() -> None:
    """Else no process would know another's answers by what was asked."""
    code = "from bot.probes.formats.kernel_filter import FILTER; print(FILTER)"
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        argv = [sys.executable, "-c", code]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout == f"{FILTER}\n"


@pytest.mark.parametrize(("name", "never"), NEVER)
def test_row_never_takes_what_only_looks_like_it(name: str, never: str) -> None:
    known = found(never)
    assert known is None or known.row.name != name
    assert known is None or known.row.kind != ROWS[name]["kind"]


@pytest.mark.parametrize("line", DOCUMENT["nothing"])
def test_frightening_line_tells_nothing(line: str) -> None:
    assert combine_lines([KernelLine(line, line)]) == ()


def _patterns() -> Iterator[tuple[KernelLogRow, str]]:
    for row in own_table().rows:
        for line in row.lines if row.has else ():
            assert isinstance(line, str)
            yield row, line


@pytest.mark.parametrize(("row", "line"), list(_patterns()), ids=str)
def test_no_line_of_a_row_is_without_its_literals(row: KernelLogRow, line: str) -> None:
    """Else the node would not send it, and the row would not be tried."""
    without = [way.replace(GAP, "…") for way in ways(line) if not row.may_know(way)]
    assert without == []


def test_ways_through_a_pattern_are_those_that_its_texts_take() -> None:
    assert set(ways("a[xy]?(?:b|c.)+")) >= {"ab", "axb", f"ac{GAP}", f"aybGc{GAP}".replace("G", GAP)}
    assert not any("no" in way for way in ways("a(?!no).*"))


def test_each_row_says_what_it_needs_and_no_other() -> None:
    for name, row in ROWS.items():
        assert row.keys() <= set(KEYS.split()), name
        assert row["lines"], name
        assert row["seen"], name
        assert row["from"], name
        assert bool(row.get("has")) != bool(row.get("node")), f"{name}: literals, or a form"
        assert all(len(has.replace("*", "")) >= 4 for has in row.get("has", ())), name


def _asked_kinds() -> Iterator[tuple[str, str]]:
    """Yield what the program compares an event's kind with, and where: no type says that there is such a kind."""
    for path in sorted(Path(bot.__file__).parent.rglob("*.py")):
        text = path.read_text("utf-8")
        if not any(module in text for module in ("kernel_line", "kernel_log", "kernel_table", "_recent")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "kind":
                for each in (each for right in node.comparators for each in ast.walk(right)):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield path.name, each.value


def test_kinds_that_the_program_asks_for_are_told_by_rows() -> None:
    """`KernelLogReading.of` refuses an unknown kind by itself; a comparison would only never be true."""
    asked = {kind for name, kind in _asked_kinds() if name != "_reboot_risks.py"}  # its kinds are of unfinished work
    assert len(asked) > 10
    assert asked - own_table().kinds - set(PARTS_OF_A_STORY) == set()
    with pytest.raises(ValueError, match="no row of the kernel log tells soft-lokup"):
        KernelLogReading("journal", 1).of("soft-lokup")
