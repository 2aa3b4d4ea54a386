"""Figures of the house that may only become better: functions handed in, hand-made layout, names that say nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

BOT = Path(__file__).parents[2] / "bot"
FILES = sorted(BOT.rglob("*.py"))
SIMULATED = {"demo", "lab"}
MOST_CALLABLES = 63  # parameters and fields, but for those by which a member says what it is; six make stores awaited,
# and two fold any stream further
# What an action, a probe, a cause, a source, a surface or a kind of inventory says of itself is a function by nature.
MEMBERS = {"domain/action.py", "domain/probe.py", "domain/cause.py", "domain/playbook.py", "sources/source.py"}
MEMBERS |= {"surfaces/descriptor.py", "inventory/kind.py"}
NAMES_NOTHING = {"one", "stuff"}


def room(path: Path) -> str:
    return path.relative_to(BOT).parts[0]


def callables(tree: ast.AST) -> Iterator[str]:
    """The names of the parameters and fields that are plain functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            yield from (
                each.arg for each in arguments if each.annotation and "Callable" in ast.unparse(each.annotation)
            )
        elif isinstance(node, ast.ClassDef):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and "Callable" in ast.unparse(field.annotation):
                    yield ast.unparse(field.target)


def test_few_functions_are_handed_from_part_to_part() -> None:
    product = [
        path for path in FILES if room(path) not in SIMULATED and path.relative_to(BOT).as_posix() not in MEMBERS
    ]
    texts = {path: text for path in product if "Callable" in (text := path.read_text())}
    found = [f"{path.relative_to(BOT)}: {name}" for path, text in texts.items() for name in callables(ast.parse(text))]
    assert len(found) <= MOST_CALLABLES, "\n".join(found)


@pytest.mark.parametrize("path", sorted((BOT / "app").rglob("*.py")), ids=lambda path: path.stem)
def test_nothing_in_app_is_bound_late(path: Path) -> None:
    late = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Lambda) and ast.unparse(node.body).startswith("self._")
    ]
    assert not late, f"{path.name}: lines {late} hand over a part that is not there yet"


def test_no_line_is_laid_out_by_hand() -> None:
    marks = ("# fmt: " + "skip", "# fmt: " + "off")
    assert [str(path) for path in FILES if any(mark in path.read_text() for mark in marks)] == []


def test_no_variable_has_a_name_that_says_nothing() -> None:
    found = [
        f"{path.relative_to(BOT)}:{node.lineno}"
        for path in FILES
        if re.search(rf"\b({'|'.join(NAMES_NOTHING)})\b", text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in NAMES_NOTHING
    ]
    assert found == []
