"""A condition's expression, type-checked when the playbook is loaded, so that mistakes show at once.

Shape: numbers, texts and booleans; `probe.field`; `and or not`; `== != < <= > >=`, `in` and `not in`;
`+ - * / // % **`; `abs min max round`. Every part has a kind, and kinds that do not fit are refused.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.domain.nearest import did_you_mean
from bot.domain.probe import CustomReading, Snapshot, TellsLines, Unread
from bot.domain.safe_text import one_line
from bot.domain.three_valued_logic import Truth, Unknown, not_
from bot.library.kinds import Shape, ValueKind, all_attributes, fields_of
from bot.library.kleene import ARITHMETIC, FUNCTIONS, MEMBERSHIPS, ORDERS, Function, Value, compared, computed, truth

LONGEST = 500
_DEEPEST = 25
_MOST_LINES = 3
_VALUES = (bool, int, str, tuple)
_FIGURES = frozenset({int, float})  # compared without a further look, which is most of what is compared
# `5m`, `64kB`, `90%`; but `90 % 7` is a remainder
_WITH_UNIT = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:(?:ms|min|[smhd]|[kMGT]?i?B)\b| ?%(?=\s*(?:$|[<>=!)]|and\b|or\b)))")
_TRUTH_WORDS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}

# probe -> its reading's type, or the fields of a probe that a playbook defines
FieldKinds = Mapping[str, type[Any] | Mapping[str, ValueKind]]


class ExpressionError(Exception):
    """An invalid expression. The text says why, and what would be right."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression, and the fields that it uses, each with its probe, from left to right."""

    text: str
    part: CheckedExpression
    fields: tuple[tuple[str, str], ...]

    @property
    def probes(self) -> tuple[str, ...]:
        """The probes that it uses."""
        return tuple(dict.fromkeys(probe for probe, _ in self.fields))

    def holds(self, snapshot: Snapshot) -> Truth:
        """Return whether it is true for the snapshot; unknown if that depends on something unread."""
        return truth(self.part.evaluate(Scope(snapshot)))

    def shows(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Return what it looks at: the node's own lines for the fields, if the reading names them, and their values."""
        lines = [line for probe, field in self.fields for line in _node_lines(snapshot.readings.get(probe), field)]
        seen = {f"{probe}.{field}": field_value(snapshot, probe, field) for probe, field in self.fields}
        values = [f"{name} = {_value_text(value)}" for name, value in seen.items() if not isinstance(value, Unknown)]
        return (*dict.fromkeys(lines), *values)


def read_expression(text: str, known_fields: FieldKinds, unasked: Collection[str] = ()) -> Expression:
    """Parse and check an expression; `unasked` are the known probes that this playbook does not read.

    Raises: ExpressionError when it is invalid, uses unknown names, or combines kinds that do not fit.
    """
    flat = re.sub(r"\s*\n\s*", " ", text.strip())
    tree = parse_expression(flat)
    part = Language(known_fields, unasked).of(tree.body)
    if part.shape is not ValueKind.TRUTH:
        raise ExpressionError(f"its value is {part.shape.value}; a condition is a yes or no: compare it with something")
    used = ((node.value.id, node.attr) for node in _fields(tree) if isinstance(node.value, ast.Name))
    fields = tuple(dict.fromkeys(used))
    if not fields:
        raise ExpressionError("it uses no reading, so its value never changes")
    return Expression(flat, part, fields)


def parse_expression(text: str) -> ast.Expression:
    """Parse an expression that is not checked yet.

    Raises: ExpressionError when it is none, or longer than people can read.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"it is {len(text)} characters long; {LONGEST} is the most: split it into two conditions")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "\d" and `1or 2` are mistakes
            return ast.parse(text, mode="eval")
    except SyntaxError as error:
        place = f" at character {error.offset}" if error.offset else ""
        raise ExpressionError(f"not an expression{place}: {error.msg}{_hint(text)}") from None
    except Warning as error:
        raise ExpressionError(f"not an expression: {error}") from None
    except (ValueError, MemoryError, RecursionError):
        raise ExpressionError("not an expression that can be read") from None


def _hint(text: str) -> str:
    """A hint for operators of other languages, and for numbers with a unit."""
    if unit := _WITH_UNIT.search(text):
        return f"; write a number alone, not {unit[0]}: the field's name gives the unit"
    for wrong, right in (("&&", "and"), ("||", "or"), ("!", "not"), ("=", "==")):
        if wrong in text:
            return f"; write {right}, not {wrong}"
    return ""


def _fields(tree: ast.AST) -> Iterator[ast.Attribute]:
    """The fields that an expression uses, from left to right."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return iter(sorted(found, key=lambda node: (node.lineno, node.col_offset)))


class Scope:
    """What an expression is worked out from."""

    __slots__ = ("snapshot",)

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot


Evaluate: TypeAlias = Callable[[Any], Value]  # works a part out, from a scope


@dataclass(frozen=True, slots=True)
class CheckedExpression:
    """A checked part of an expression: its shape, what works it out, and the probes that it uses."""

    shape: Shape
    evaluate: Evaluate
    probes: tuple[str, ...] = ()


class Language:
    """Checks an expression part by part, refuses what is not allowed, and makes of each part what works it out."""

    allowed = "a condition has readings, numbers, texts, comparisons, and, or, not, arithmetic, abs, min, max and round"

    def __init__(self, known_fields: FieldKinds, unasked: Collection[str] = ()) -> None:
        self._askable = known_fields
        self._unasked = unasked
        self._depth = 0

    def of(self, node: ast.expr) -> CheckedExpression:
        """Return the part.

        Raises: ExpressionError when it is not allowed, nested too deeply, or kinds do not fit.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ExpressionError("it is nested too deeply; split it into two conditions")
        part = self._check_by_type(node)
        self._depth -= 1
        return part

    def _check_by_type(self, node: ast.expr) -> CheckedExpression:
        match node:
            case ast.Constant(value=value):
                return CheckedExpression(_constant(value), lambda scope: value)
            case ast.Attribute():
                return self._field(node)
            case ast.Name(id=name):
                return self._name(name)
            case ast.BoolOp(values=values, op=op):
                parts = self._check_all(values, ValueKind.TRUTH, "and" if isinstance(op, ast.And) else "or")
                return joined(
                    ValueKind.TRUTH, _and_or(isinstance(op, ast.Or), [part.evaluate for part in parts]), *parts
                )
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                (inner,) = self._check_all([operand], ValueKind.TRUTH, "not")
                evaluate = inner.evaluate
                return joined(ValueKind.TRUTH, lambda scope: not_(truth(evaluate(scope))), inner)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                return self._computed(operator.neg if isinstance(sign, ast.USub) else operator.pos, [operand], "a sign")
            case ast.BinOp(left=left, op=op, right=right):
                if type(op) not in ARITHMETIC:
                    raise ExpressionError("& | ^ << and >> are not allowed; write and, or, not")
                return self._computed(ARITHMETIC[type(op)], [left, right], "arithmetic")
            case ast.Compare():
                return self._compare(node)
            case ast.Call():
                return self._call(node)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self._list(items)
        raise ExpressionError(f"{expression_text(node)} is not allowed: {self.allowed}")

    def _check_all(self, nodes: list[ast.expr], kind: ValueKind, what: str) -> list[CheckedExpression]:
        parts = [self._coerce(kind, self.of(node)) for node in nodes]
        for node, part in zip(nodes, parts, strict=True):
            if part.shape is not kind:
                raise ExpressionError(f"{expression_text(node)} is {part.shape.value}, and {what} takes {kind.value}")
        return parts

    def _coerce(self, kind: ValueKind, part: CheckedExpression) -> CheckedExpression:
        """The part as that kind, where it can stand for it."""
        return part

    def _computed(self, function: Function, nodes: list[ast.expr], what: str) -> CheckedExpression:
        parts = self._check_all(nodes, ValueKind.NUMBER, what)
        evaluators = [part.evaluate for part in parts]
        return joined(
            ValueKind.NUMBER, lambda scope: computed(function, *[evaluate(scope) for evaluate in evaluators]), *parts
        )

    def _field(self, node: ast.Attribute) -> CheckedExpression:
        if not isinstance(node.value, ast.Name):
            raise ExpressionError(
                f"{expression_text(node)} goes deeper than a field; a condition uses only probe.field"
            )
        probe, name = node.value.id, node.attr
        known = self._known(probe)
        usable = self._usable(known)
        if name in usable:
            return CheckedExpression(usable[name], lambda scope: field_value(scope.snapshot, probe, name), (probe,))
        if not isinstance(known, Mapping) and name in all_attributes(known):
            raise ExpressionError(
                f"{probe}.{name} is not a number, a text or a yes or no, so a condition cannot use it. "
                f"{probe} has: {', '.join(sorted(usable))}"
            )
        raise ExpressionError(f'{probe} has no field "{one_line(name, 60)}". {did_you_mean(name, sorted(usable))}')

    def _known(self, probe: str) -> type[Any] | Mapping[str, ValueKind]:
        known = self._askable.get(probe)
        if known is None and probe in self._unasked:
            raise ExpressionError(f"{probe} is not read by this playbook; add it to probes")
        if known is None:
            raise ExpressionError(f'"{one_line(probe, 60)}" is not a probe. {self._near(probe)}')
        return known

    def _usable(self, known: type[Any] | Mapping[str, ValueKind]) -> Mapping[str, Shape]:
        return known if isinstance(known, Mapping) else fields_of(known)  # type: ignore[arg-type]  # a class is hashable

    def _near(self, probe: str) -> str:
        return did_you_mean(probe, sorted(self._askable))

    def _name(self, name: str) -> CheckedExpression:
        if name in self._askable:
            raise ExpressionError(f"{name} is a reading; name one of its fields: {name}.…")
        if name in FUNCTIONS:
            raise ExpressionError(f"{name} is a function; write {name}(…)")
        if name.lower() in _TRUTH_WORDS:
            raise ExpressionError(f"{name} is not known; write {_TRUTH_WORDS[name.lower()]}")
        raise ExpressionError(f'"{one_line(name, 60)}" is not known; name a field as probe.field. {self._near(name)}')

    def _compare(self, node: ast.Compare) -> CheckedExpression:
        nodes = [node.left, *node.comparators]
        parts = [self.of(each) for each in nodes]
        for index, op in enumerate(node.ops):
            left, right = nodes[index], nodes[index + 1]
            kinds = parts[index].shape, parts[index + 1].shape
            if isinstance(op, MEMBERSHIPS):
                if kinds not in (
                    (ValueKind.TEXT, ValueKind.TEXTS),
                    (ValueKind.TEXT, ValueKind.TEXT),
                    (ValueKind.NUMBER, ValueKind.NUMBERS),
                ):
                    raise ExpressionError(
                        f"{expression_text(left)} is {kinds[0].value} and cannot be in {kinds[1].value}"
                    )
            elif type(op) not in ORDERS:
                raise ExpressionError("`is` is not allowed; write == or !=")
            elif kinds[0] is not kinds[1] or kinds[0] not in (ValueKind.NUMBER, ValueKind.TEXT, ValueKind.TRUTH):
                hint = "; it is a yes or no by itself: write it alone, or after not" if ValueKind.TRUTH in kinds else ""
                raise ExpressionError(
                    f"{expression_text(left)} is {kinds[0].value} and {expression_text(right)} is {kinds[1].value}; "
                    f"they cannot be compared{hint}"
                )
            elif kinds[0] is not ValueKind.NUMBER and not isinstance(op, ast.Eq | ast.NotEq):
                raise ExpressionError(f"{expression_text(left)} is {kinds[0].value}, which has no order; use == or !=")
        evaluators = [part.evaluate for part in parts]
        pairs = [_comparison(op, evaluators[index], evaluators[index + 1]) for index, op in enumerate(node.ops)]
        return joined(ValueKind.TRUTH, pairs[0] if len(pairs) == 1 else _and_or(False, pairs), *parts)

    def _call(self, node: ast.Call) -> CheckedExpression:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in FUNCTIONS:
            raise ExpressionError(
                f"{expression_text(node.func)} cannot be called; there are {', '.join(sorted(FUNCTIONS))}"
            )
        least, most = {"abs": (1, 1), "round": (1, 2)}.get(name, (2, 10))
        if node.keywords or not least <= len(node.args) <= most:
            counts = f"{least}" if least == most else f"{least} to {most}"
            raise ExpressionError(f"{name} takes {counts} plain arguments")
        return self._computed(FUNCTIONS[name], node.args, name)

    def _list(self, items: list[ast.expr]) -> CheckedExpression:
        parts = [self.of(item) for item in items]
        kinds = {part.shape for part in parts}
        if kinds not in ({ValueKind.TEXT}, {ValueKind.NUMBER}):
            raise ExpressionError("a list holds texts alone or numbers alone, and at least one")
        evaluators = [part.evaluate for part in parts]
        shape = ValueKind.TEXTS if kinds == {ValueKind.TEXT} else ValueKind.NUMBERS
        return joined(shape, lambda scope: tuple([evaluate(scope) for evaluate in evaluators]), *parts)


def joined(shape: Shape, evaluate: Evaluate, *parts: CheckedExpression) -> CheckedExpression:
    """Return a part that uses the probes of others."""
    return CheckedExpression(shape, evaluate, tuple(dict.fromkeys(probe for part in parts for probe in part.probes)))


def _and_or(by: bool, evaluators: Sequence[Evaluate]) -> Evaluate:
    """Kleene's or (`by` True) and and (`by` False): one that is so decides, else one that is unknown."""

    def evaluate(scope: Scope) -> Truth:
        found: Truth = not by
        for each in evaluators:
            value = truth(each(scope))
            if value is by:
                return value
            if isinstance(value, Unknown) and not isinstance(found, Unknown):
                found = value
        return found

    return evaluate


def _comparison(op: ast.cmpop, left: Evaluate, right: Evaluate) -> Evaluate:
    order: Any = ORDERS.get(type(op))

    def evaluate(scope: Scope) -> Truth:
        before, after = left(scope), right(scope)
        if order is not None and type(before) in _FIGURES and type(after) in _FIGURES:
            held: bool = order(before, after)
            return held
        return compared(op, before, after)

    return evaluate


def _constant(value: object) -> ValueKind:
    if isinstance(value, bool):
        return ValueKind.TRUTH
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return ValueKind.NUMBER
    if isinstance(value, str):
        return ValueKind.TEXT
    if value is None:
        raise ExpressionError("None is not a value here: what was not read makes a condition unknown by itself")
    raise ExpressionError(f"{one_line(repr(value), 40)} is not a number, a text or a yes or no")


def expression_text(node: ast.AST) -> str:
    """Return a part of an expression as it may be shown."""
    try:
        return one_line(ast.unparse(node), 60)
    except (ValueError, RecursionError):
        return "this"


def field_value(snapshot: Snapshot, probe: str, field: str) -> Value:
    """Return a field's value, unknown if the reading or the field was not read."""
    reading = snapshot.readings.get(probe)
    if reading is None:
        return Unknown(f"{probe} was not asked")
    if isinstance(reading, Unread):
        return Unknown(f"{probe} was not read ({reading.reason})")
    try:
        value = reading.fields.get(field) if isinstance(reading, CustomReading) else getattr(reading, field, None)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Unknown(f"{probe}.{field} cannot be computed ({one_line(str(error), 60)})")
    if isinstance(value, _VALUES):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return Unknown(f"{probe}.{field} is not reported by this node")


def _node_lines(reading: object, field: str) -> tuple[str, ...]:
    if isinstance(reading, CustomReading):
        return reading.source[:_MOST_LINES]
    return reading.lines_of(field)[-_MOST_LINES:] if isinstance(reading, TellsLines) else ()


def _value_text(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return one_line(", ".join(map(str, value)) if isinstance(value, tuple) else str(value), 200)
