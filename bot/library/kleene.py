"""Values in Kleene's three-valued logic: what was not read is unknown, and so is what is worked out from it.

Every operand is always worked out, so the order of operands does not matter. Nothing raises: a division by zero, an
overflow or a wrong type is unknown too.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from bot.domain.three_valued_logic import Truth, Unknown, any_of, not_

Value: TypeAlias = Any  # a truth, a number, a text, a part of a reading, or several of them; or Unknown

Function: TypeAlias = Callable[..., Any]  # of numbers

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


ARITHMETIC: Mapping[type[ast.operator], Function] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
FUNCTIONS: Mapping[str, Function] = {"abs": abs, "min": min, "max": max, "round": _round}


_NUMBERS = (int, float)
_TRUTHS = (bool, Unknown)


def truth(value: Value) -> Truth:
    """Return the value if it is a yes or no, else unknown."""
    return value if isinstance(value, _TRUTHS) else Unknown(f"{_value_words(value)} is not a yes or no")


def computed(function: Function, *operands: Value) -> Value:
    """Return what a function makes of numbers, unknown if one is unknown or no number, or it cannot be computed."""
    for operand in operands:
        if isinstance(operand, Unknown):
            return operand
        if isinstance(operand, bool) or not isinstance(operand, _NUMBERS):
            return Unknown(f"{_value_words(operand)} is not a number")
    try:
        value = function(*operands)
    except ZeroDivisionError:
        return Unknown("a division by zero")
    except (ArithmeticError, TypeError, ValueError):
        return Unknown("numbers that cannot be computed")
    return value if isinstance(value, Unknown) else _number(value)


def compared(op: ast.cmpop, left: Value, right: Value) -> Truth:
    """Return how two values compare, unknown if one is unknown or they are of different kinds."""
    if isinstance(op, MEMBERSHIPS):
        member = _member(left, right)
        return member if isinstance(op, ast.In) else not_(member)
    for operand in (left, right):
        if isinstance(operand, Unknown):
            return operand
    if _type_words(left) != _type_words(right) or isinstance(left, tuple):
        return Unknown(f"{_value_words(left)} and {_value_words(right)} cannot be compared")
    return bool(ORDERS[type(op)](left, right))


def _member(value: Value, among: Value) -> Truth:
    if isinstance(among, tuple):
        return any_of(*(compared(ast.Eq(), value, item) for item in among))
    for operand in (value, among):
        if isinstance(operand, Unknown):
            return operand
    if isinstance(value, str) and isinstance(among, str):
        return value in among
    return Unknown(f"{_value_words(value)} cannot be in {_value_words(among)}")


def _type_words(value: Value) -> str:
    if isinstance(value, bool):
        return "yes or no"
    return "number" if isinstance(value, _NUMBERS) else type(value).__name__


def _value_words(value: Value) -> str:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "a huge number"
    return repr(value)[:40]
