"""docs/extending.md is true: its files, as they stand there and with one line each, are all that a copy needs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text()
FILES = dict(re.findall(r"^`((?:bot|playbooks)/\S+)`:\n\n```\w+\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
# What the page says in words, an import and an entry: what stands there, and what stands there then.
LINES = {
    "bot/probes/__init__.py": (
        ("    ebs,\n", "    ebs,\n    entropy,\n"),
        ("        ebs.PROBE,\n", "        ebs.PROBE,\n        entropy.PROBE,\n"),
    ),
    "bot/sources/__init__.py": (
        ("grafana, pagerduty\n", "grafana, klaxon, pagerduty\n"),
        ("SOURCES: tuple[Source, ...] = (", "SOURCES: tuple[Source, ...] = (klaxon.SOURCE, "),
    ),
}
OF_THE_PROGRAM = ("bot", "playbooks")
OF_A_CHECKOUT = (*OF_THE_PROGRAM, "docs", "tests", "deploy", "pyproject.toml", "README.md", "mkdocs.yml")
# The tests that go through every member of a room, and of each only what is about these three, or about all at once.
THROUGH_MEMBERS = (
    *(f"tests/contract/test_{name}.py" for name in ("tables", "readme", "floors", "sources", "playbook_guide")),
    *("tests/contract/test_probes.py", "tests/contract/test_simulated_nodes.py", "tests/unit/causes/test_promises.py"),
    *("tests/unit/causes/test_verdicts.py", "tests/unit/causes/test_builders.py", "tests/unit/library"),
)
ABOUT_THEM = (
    "entropy or klaxon or test_tables or reference or setting or field or every_probe or node_health or cause_asks_for"
)


def grown(folder: Path, *parts: str) -> Path:
    """A copy of these parts of the program with the page's files and their lines; nothing else is changed."""
    for part in parts:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part)
        else:
            shutil.copy(ROOT / part, folder / part)
    for path, text in FILES.items():
        assert not (folder / path).exists(), f"{path} is part of the program by now: the page needs another example"
        (folder / path).write_text(text)
    for path, changes in LINES.items():
        text = (folder / path).read_text()
        for before, after in changes:
            assert text.count(before) == 1, f"{path} has no single {before!r}"
            text = text.replace(before, after)
        (folder / path).write_text(text)
    return folder


# One process runs them all: each is a module and its arguments, and prints JSON.
RUNS = """
import contextlib, io, json, runpy, sys
said = []
for module, *arguments in json.load(sys.stdin):
    sys.argv = [module, *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        runpy.run_module(module, run_name="__main__")
    said.append(json.loads(out.getvalue()))
print(json.dumps(said))
"""


def run(folder: Path, *commands: tuple[str, ...], beside: Path | None = None, **environment: str) -> Any:
    """Run modules of the copy, or of `beside` where the copy has none, and return the JSON that each prints."""
    path = os.pathsep.join([str(folder), *([str(beside)] if beside else [])])
    own = {"PYTHONPATH": path, "ZOMBIE_STATE_DIR": str(folder / "state"), "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", RUNS],
        cwd=folder,
        env={**os.environ, **own, **environment},
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return json.loads(done.stdout)
    except ValueError:
        pytest.fail(f"{commands}: {done.returncode} {done.stdout[-2000:]} {done.stderr[-2000:]}")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return grown(tmp_path_factory.mktemp("grown"), *OF_THE_PROGRAM)


def test_the_page_has_a_file_of_each_kind() -> None:
    assert list(FILES) == ["bot/probes/entropy.py", "playbooks/causes/entropy-starved.yaml", "bot/sources/klaxon.py"]
    for room in LINES:
        assert f"Its line in `{room}`" in PAGE


def test_check_card_note_routes_and_doctor_know_them(program: Path) -> None:
    (program / "inventory.toml").write_text('[nodes.node-1]\naddress = "127.0.0.1"\n')
    (program / "alert.json").write_text('{"klaxon": "node-1", "id": "W1"}')
    check, replay, told, checks, said = run(
        program,
        ("bot", "check", "--local", "--samples", "1", "--record", "said", "--json"),
        ("bot", "replay", "said", "--with", "entropy.bits=40", "--json"),
        ("bot", "route", "explain", "alert.json", "--json"),
        ("bot", "doctor", "--json"),
        ("tests.contract.grown",),
        beside=ROOT,
        KLAXON_TOKEN="the klaxon's own",
        ZOMBIE_LISTEN="127.0.0.1:1",
    )
    (node,) = check["nodes"]
    assert set(node["readings"]["entropy"]) == {"bits", "is_enough"}
    causes = {out["cause"] for out in (*node["ruled_out"], *node["undecided"])} | {node["cause"]}
    assert "entropy-starved" in causes
    assert (told["alert"]["source"], told["nodes"]) == ("klaxon", ["node-1"])
    assert "/klaxon is served, for callers with KLAXON_TOKEN" in json.dumps(checks)
    assert said["left_out"] == []
    assert said["healthy"] == "healthy"
    assert said["simulated"] == [256], "on every simulated node"
    assert said["unread"] == ["unknown", "Cannot tell: entropy was not read (permission denied)"]
    assert said["card"].startswith("node-1: CRITICAL, entropy-starved (confirmed)")
    assert "entropy: 40 bits of chance are left" in said["note"]
    assert "Give the machine a source of chance" in said["note"]
    assert "40 bits of chance are left" in [seen["says"] for seen in replay["nodes"][0]["evidence"]]


@pytest.mark.long
def test_every_promise_is_tried_on_them_and_kept(tmp_path: Path) -> None:
    """One command writes the pages; then no test that goes through the members asks for anything more."""
    folder = grown(tmp_path, *OF_A_CHECKOUT)

    def python(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", *arguments]
        own = {**os.environ, "PYTHONPATH": str(folder)}
        return subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)

    of_python = [path for path in (*FILES, *LINES) if path.endswith(".py")]
    assert python("ruff", "check", "--no-cache", "--ignore", "I", *of_python).stdout == "All checks passed!\n"
    assert python("ruff", "format", "--no-cache", "--check", *of_python).returncode == 0
    assert python("pytest", "-q", "-p", "no:cacheprovider", "tests/unit/causes/test_examples.py").returncode == 0
    done = python("tests.reference")
    pages = ("reference", "readings", "proven")
    assert done.stdout.splitlines() == [f"docs/{page}.md was written" for page in pages], done.stderr
    done = python("pytest", "-q", "-p", "no:cacheprovider", "-k", ABOUT_THEM, *THROUGH_MEMBERS)
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"\d\d+ passed", done.stdout)
