"""A playbook's condition: an expression of plain parts, which is a yes or no.

Shape: numbers, texts and booleans; `probe.field`; `and or not`; `== != < <= > >=`, `in` and `not in`;
`+ - * / // % **`; `abs min max round`. What else the language has is for causes' files, and is refused here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from bot.domain.probe import CustomReading, Snapshot, TellsLines
from bot.domain.safe_text import redacted_line
from bot.domain.three_valued_logic import Truth, Unknown
from bot.library.kinds import Shape
from bot.library.kleene import FUNCTIONS, Value, truth
from bot.library.language import (
    CheckedExpression,
    ExpressionError,
    Language,
    Scope,
    Words,
    expression_text,
    field_value,
    parse_expression,
)

_MOST_LINES = 3
_ALLOWED = "a condition has readings, numbers, texts, comparisons, and, or, not, arithmetic, abs, min, max and round"
_FOR_CAUSES_ALONE = (ast.IfExp, ast.ListComp, ast.Subscript, ast.JoinedStr)


@dataclass(frozen=True, slots=True)
class CheckedCondition:
    """A checked condition, and the fields that it uses, each with its probe, from left to right."""

    text: str
    part: CheckedExpression
    fields: tuple[tuple[str, str], ...]

    @property
    def probes(self) -> tuple[str, ...]:
        """The probes that it uses."""
        return self.part.probes

    def holds(self, snapshot: Snapshot) -> Truth:
        """Return whether it is true for the snapshot; unknown if that depends on something unread."""
        return truth(self.part.evaluate(Scope(snapshot)))

    def shows(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Return what it looks at: the node's own lines for the fields, if the reading names them, and their values."""
        lines = [line for probe, field in self.fields for line in _node_lines(snapshot.readings.get(probe), field)]
        seen = {f"{probe}.{field}": field_value(snapshot, probe, field) for probe, field in self.fields}
        values = [f"{name} = {_value_text(value)}" for name, value in seen.items() if not isinstance(value, Unknown)]
        return (*dict.fromkeys(lines), *values)


def read_condition(
    text: str, known_fields: Mapping[str, Mapping[str, Shape]], unasked: Collection[str] = ()
) -> CheckedCondition:
    """Parse and check a condition; `unasked` are the known probes that this playbook does not read.

    Raises: ExpressionError when it is invalid, uses unknown names, or combines kinds that do not fit.
    """
    flat = re.sub(r"\s*\n\s*", " ", text.strip())
    tree = parse_expression(flat)
    _check_plain(tree)
    part = Language(Words(known_fields, {}, {}, _ALLOWED), unasked=unasked).condition(flat)
    if not part.probes:
        raise ExpressionError("it uses no reading, so its value never changes")
    return CheckedCondition(flat, part, tuple(dict.fromkeys(_fields(tree))))


def _check_plain(tree: ast.Expression) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS):
            there_are = ", ".join(sorted(FUNCTIONS))
            raise ExpressionError(f"{expression_text(node.func)} cannot be called; there are {there_are}")
        if isinstance(node, _FOR_CAUSES_ALONE):
            raise ExpressionError(f"{expression_text(node)} is not allowed: {_ALLOWED}")


def _fields(tree: ast.Expression) -> Iterator[tuple[str, str]]:
    """The fields that a checked condition uses, each with its probe, from left to right."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node.value, ast.Name):
            yield node.value.id, node.attr


def _node_lines(reading: object, field: str) -> tuple[str, ...]:
    if isinstance(reading, CustomReading):
        return reading.source[:_MOST_LINES]
    return reading.lines_of(field)[-_MOST_LINES:] if isinstance(reading, TellsLines) else ()


def _value_text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return redacted_line(", ".join(map(str, value)) if isinstance(value, tuple) else str(value), 200)
