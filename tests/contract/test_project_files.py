"""What a stranger finds around the code is true: forms, hooks, the checklist, the lines of the CHANGELOG."""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.test_readme import broken

ROOT = Path(__file__).parents[2]
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
# What GitHub's syntax for forms knows: each kind of element with what it must have.
ELEMENTS = {"markdown": {"value"}, "textarea": {"label"}, "input": {"label"}, "dropdown": {"label", "options"}}
LONGEST_LINE = 220
TOOLS = Path(sys.executable).parent


@pytest.mark.parametrize("page", ["SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_link_leads_somewhere(page: str) -> None:
    assert broken(ROOT / page) == []


@pytest.mark.parametrize("form", [form for form in FORMS if form.name != "config.yml"], ids=lambda form: form.stem)
def test_form_is_as_github_takes_it(form: Path) -> None:
    document = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= set(document) <= {"name", "description", "body", "labels", "title"}
    ids = [element["id"] for element in document["body"] if element["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    for element in document["body"]:
        assert ELEMENTS[element["type"]] <= set(element["attributes"])
        assert set(element) <= {"type", "id", "attributes", "validations"}


def test_commands_that_forms_ask_for_are_there() -> None:
    from bot.commands import COMMANDS

    names = {module.__name__.rsplit(".", 1)[-1] for module in COMMANDS}
    asked = re.findall(r"`zombie ([a-z]+)", "".join(form.read_text() for form in FORMS))
    assert asked
    assert set(asked) <= names


def test_hooks_before_a_commit_run_the_tools_of_the_lock() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["dev"]
    ours = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in HOOKS if ".venv" in hook["entry"]}
    assert ours == {"ruff", "mypy"}
    assert all(any(tool.startswith(name) for tool in tools) for name in ours)
    for hook in HOOKS:
        assert hook["language"] == "system", "nothing is downloaded before a commit"
        if "ruff" in hook["id"]:
            command = [str(TOOLS / "ruff"), *hook["entry"].split()[1:], "bot/__init__.py"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 0, done.stderr


CHANGES = sorted((ROOT / "changes").glob("*"))


def test_lines_of_the_changelog_can_be_read_and_none_stands_there_twice() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    assert [f"{number}: {line[:60]}…" for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE] == []
    said = [*(line[2:] for line in lines if line.startswith("- ")), *(path.read_text().strip() for path in CHANGES)]
    assert [line for line, times in Counter(said).items() if times > 1] == []


def test_change_is_one_line_of_a_kind_that_a_release_knows() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
    name = re.compile(rf"\+[a-z0-9-]+\.(?:{'|'.join(one['directory'] for one in table)})\.md")
    assert [path.name for path in CHANGES if not name.fullmatch(path.name)] == []
    said = {path.name: path.read_text().splitlines() for path in CHANGES}
    assert [name for name, lines in said.items() if len(lines) != 1 or not 0 < len(lines[0]) <= LONGEST_LINE] == []
