"""Evaluates a checked expression over a snapshot, in Kleene's three-valued logic: unread values are unknown.

simpleeval walks the tree and knows only the node types that are listed here. Every operand is always evaluated, so the
order of operands does not matter. Nothing raises: a division by zero, an overflow or a wrong type is unknown too.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from simpleeval import InvalidExpression, SimpleEval

from bot.domain.truth import Truth, Unknown, all_of, any_of, not_

Value: TypeAlias = bool | int | float | str | tuple[Any, ...] | Unknown
Lookup: TypeAlias = Callable[[str, str], Value]

_MOST_BITS = 1024
_HIGHEST_POWER = 64
_HIGHEST_BASE = 1e9
_MOST_DIGITS = 15

ORDERS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
MEMBERSHIPS = (ast.In, ast.NotIn)


def _power(base: float, exponent: float) -> Value:
    if abs(base) > _HIGHEST_BASE or abs(exponent) > _HIGHEST_POWER:
        return Unknown(f"{base:g} ** {exponent:g} is too large to compute")
    return _number(base**exponent)


def _number(value: Any) -> Value:
    """The value if it is a usable number, else unknown."""
    if isinstance(value, int) and value.bit_length() <= _MOST_BITS:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return Unknown("a number became too large, or is not a number")


def _round(value: float, digits: float = 0) -> Value:
    if not isinstance(digits, int) or abs(digits) > _MOST_DIGITS:
        return Unknown(f"round takes at most {_MOST_DIGITS} digits")
    return round(value, digits) if digits else round(value)


ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {"abs": abs, "min": min, "max": max, "round": _round}


_CONSTANTS = (bool, int, float, str)
_NUMBERS = (int, float)
_TRUTHS = (bool, Unknown)

# What simpleeval sets up, without names, operators and functions; it takes longer than to evaluate a condition.
_BARE = vars(SimpleEval(operators={}, functions={}, names={}))


class Kleene(SimpleEval):  # type: ignore[misc]  # it ships no types
    """One evaluation. `lookup(probe, field)` returns the value of a field."""

    def __init__(self, lookup: Lookup) -> None:
        self.__dict__.update(_BARE)
        self._lookup = lookup
        self.nodes = {
            ast.Expression: self._expression,
            ast.Constant: self._constant,
            ast.Attribute: self._attribute,
            ast.BoolOp: self._boolop,
            ast.UnaryOp: self._unaryop,
            ast.BinOp: self._binop,
            ast.Compare: self._compare,
            ast.Call: self._call,
            ast.Tuple: self._list,
            ast.List: self._list,
        }

    def truth_of(self, tree: ast.Expression) -> Truth:
        """Return whether the expression is true."""
        try:
            return _truth(self._eval(tree))
        except InvalidExpression as error:  # cannot happen with a checked tree
            return Unknown(str(error))
        finally:
            self.nodes = {}  # they hold this object, which would stay until the garbage collector finds it

    def _expression(self, node: ast.Expression) -> Value:
        value: Value = self._eval(node.body)
        return value

    def _constant(self, node: ast.Constant) -> Value:
        value: Any = node.value
        return value if isinstance(value, _CONSTANTS) else Unknown("not a value")

    def _attribute(self, node: ast.Attribute) -> Value:
        probe = node.value.id if isinstance(node.value, ast.Name) else ""
        return self._lookup(probe, node.attr)

    def _list(self, node: ast.Tuple | ast.List) -> Value:
        return tuple(self._eval(item) for item in node.elts)

    def _boolop(self, node: ast.BoolOp) -> Truth:
        truths = [_truth(self._eval(value)) for value in node.values]
        return all_of(*truths) if isinstance(node.op, ast.And) else any_of(*truths)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        value = self._eval(node.operand)
        if isinstance(node.op, ast.Not):
            return not_(_truth(value))
        return _computed(operator.neg if isinstance(node.op, ast.USub) else operator.pos, value)

    def _binop(self, node: ast.BinOp) -> Value:
        return _computed(ARITHMETIC[type(node.op)], self._eval(node.left), self._eval(node.right))

    def _call(self, node: ast.Call) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return _computed(FUNCTIONS[name], *(self._eval(argument) for argument in node.args))

    def _compare(self, node: ast.Compare) -> Truth:
        values = [self._eval(operand) for operand in (node.left, *node.comparators)]
        return all_of(*(_compared(op, values[i], values[i + 1]) for i, op in enumerate(node.ops)))


def _truth(value: Value) -> Truth:
    return value if isinstance(value, _TRUTHS) else Unknown(f"{_shown(value)} is not a yes or no")


def _computed(function: Callable[..., Any], *operands: Value) -> Value:
    for operand in operands:
        if isinstance(operand, Unknown):
            return operand
        if isinstance(operand, bool) or not isinstance(operand, _NUMBERS):
            return Unknown(f"{_shown(operand)} is not a number")
    try:
        value = function(*operands)
    except ZeroDivisionError:
        return Unknown("a division by zero")
    except (ArithmeticError, TypeError, ValueError):
        return Unknown("numbers that cannot be computed")
    return value if isinstance(value, Unknown) else _number(value)


def _compared(op: ast.cmpop, left: Value, right: Value) -> Truth:
    if isinstance(op, MEMBERSHIPS):
        member = _member(left, right)
        return member if isinstance(op, ast.In) else not_(member)
    for operand in (left, right):
        if isinstance(operand, Unknown):
            return operand
    if _sort(left) != _sort(right) or isinstance(left, tuple):
        return Unknown(f"{_shown(left)} and {_shown(right)} cannot be compared")
    return bool(ORDERS[type(op)](left, right))


def _member(value: Value, among: Value) -> Truth:
    if isinstance(among, tuple):
        return any_of(*(_compared(ast.Eq(), value, item) for item in among))
    for operand in (value, among):
        if isinstance(operand, Unknown):
            return operand
    if isinstance(value, str) and isinstance(among, str):
        return value in among
    return Unknown(f"{_shown(value)} cannot be in {_shown(among)}")


def _sort(value: Value) -> str:
    if isinstance(value, bool):
        return "yes or no"
    return "number" if isinstance(value, _NUMBERS) else type(value).__name__


def _shown(value: Value) -> str:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "a huge number"
    return repr(value)[:40]
