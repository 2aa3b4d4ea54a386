"""A condition has three values, by Kleene's tables, whatever the order of its operands; and it never raises."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.probe import CustomReading, Unread
from bot.domain.three_valued_logic import Truth, Unknown
from bot.library.conditions import read_condition
from bot.library.kinds import ValueKind
from bot.library.language import ExpressionError
from tests.examples import up_to
from tests.known import known_as
from tests.unit.library.tables import snapshot

U = Unknown()
FIELDS = {
    "a": ValueKind.TRUTH, "b": ValueKind.TRUTH, "c": ValueKind.TRUTH,
    "n": ValueKind.NUMBER, "m": ValueKind.NUMBER, "s": ValueKind.TEXT, "t": ValueKind.TEXT,
}  # fmt: skip


def holds(text: str, **values: Any) -> Truth:
    """What an expression over x.a … x.t comes to when these fields were read and no others."""
    given_values = {name: value for name, value in values.items() if not isinstance(value, Unknown)}
    expression = read_condition(text, {"x": FIELDS, "y": FIELDS})
    return expression.holds(snapshot({"x": CustomReading("x", given_values), "y": Unread("y", "it is missing")}))


def same(value: Truth, expected: Truth) -> bool:
    return isinstance(value, Unknown) if isinstance(expected, Unknown) else value is expected


AND: dict[tuple[Truth, Truth], Truth] = {
    (True, True): True,
    (True, False): False,
    (True, U): U,
    (False, False): False,
    (False, U): False,
    (U, U): U,
}
OR: dict[tuple[Truth, Truth], Truth] = {
    (True, True): True,
    (True, False): True,
    (True, U): True,
    (False, False): False,
    (False, U): U,
    (U, U): U,
}


@pytest.mark.parametrize(("a", "b"), list(product([True, False, U], repeat=2)))
def test_and_or_follow_kleene_in_both_orders(a: Truth, b: Truth) -> None:
    pair = (a, b) if (a, b) in AND else (b, a)
    for one, other in ((a, b), (b, a)):
        assert same(holds("x.a and x.b", a=one, b=other), AND[pair])
        assert same(holds("x.a or x.b", a=one, b=other), OR[pair])


@pytest.mark.parametrize(("a", "b", "c"), list(product([True, False, U], repeat=3)))
def test_three_operands_are_two_and_one(a: Truth, b: Truth, c: Truth) -> None:
    for word in ("and", "or"):
        whole = holds(f"x.a {word} x.b {word} x.c", a=a, b=b, c=c)
        assert same(whole, holds(f"(x.a {word} x.b) {word} x.c", a=a, b=b, c=c))
        assert same(whole, holds(f"x.c {word} (x.b {word} x.a)", a=a, b=b, c=c))


@pytest.mark.parametrize(("a", "result"), [(True, False), (False, True), (U, U)])
def test_not_keeps_the_unknown(a: Truth, result: Truth) -> None:
    assert same(holds("not x.a", a=a), result)


@pytest.mark.parametrize(("a", "b"), list(product([True, False, U], repeat=2)))
def test_de_morgan_holds_in_three_values(a: Truth, b: Truth) -> None:
    assert same(holds("not (x.a and x.b)", a=a, b=b), holds("not x.a or not x.b", a=a, b=b))


@pytest.mark.parametrize(
    "op", ["==", "!=", "<", "<=", ">", ">=", "+ 1 >", "- 1 >", "* 0 ==", "/ 2 <", "// 2 <", "% 2 <"]
)
def test_unknown_on_either_side_makes_a_comparison_unknown(op: str) -> None:
    assert same(holds(f"x.n {op} x.m", n=1, m=U), U)
    assert same(holds(f"x.n {op} x.m", n=U, m=1), U)
    assert same(holds(f"x.n {op} x.m", n=U, m=U), U)


def test_unknown_is_not_even_itself() -> None:
    assert same(holds("x.n == x.n", n=U), U)
    assert same(holds("x.n - x.n == 0", n=U), U)


@pytest.mark.parametrize(
    ("text", "values", "result"),
    [
        ("1 < x.n < 5", {"n": 3}, True),
        ("1 < x.n < 5", {"n": 5}, False),
        ("1 < x.n < 5", {"n": U}, U),
        ("5 < x.n < x.m", {"n": 1, "m": U}, False),
        ("x.m < x.n < 1", {"n": 5, "m": U}, False),
        ("0 < x.n < x.m", {"n": 1, "m": U}, U),
        ("x.m < 1 and x.n > 5", {"n": 1, "m": U}, False),
        ("x.s in ('a', 'b')", {"s": "a"}, True),
        ("x.s in ('a', 'b')", {"s": "c"}, False),
        ("x.s in ('a', x.t)", {"s": "a", "t": U}, True),
        ("x.s in ('a', x.t)", {"s": "c", "t": U}, U),
        ("x.s not in ('a', x.t)", {"s": "a", "t": U}, False),
        ("x.s not in ('a', x.t)", {"s": "c", "t": U}, U),
        ("x.s in ('a', 'b')", {"s": U}, U),
        ("x.n in [1, 2]", {"n": 2}, True),
        ("'aws' in x.s", {"s": "5.4.0-1084-aws"}, True),
        ("'aws' in x.s", {"s": U}, U),
        ("'aws' not in x.s", {"s": "5.4"}, True),
        ("x.a == True", {"a": False}, False),
        ("x.s == x.t", {"s": "q", "t": "q"}, True),
        ("min(x.n, 3) == 1 and max(x.n, 3) == 3", {"n": 1}, True),
        ("max(x.n, x.m) > 1", {"n": 5, "m": U}, U),
        ("abs(x.n) == 3", {"n": -3}, True),
        ("round(x.n) == 3 and round(x.n, 1) == 2.6", {"n": 2.58}, True),
        ("-x.n == +3", {"n": -3}, True),
        ("x.n ** 2 == 9", {"n": 3}, True),
        ("x.n // 2 == 1 and x.n % 2 == 1 and x.n / 2 == 1.5", {"n": 3}, True),
    ],
)
def test_expression_comes_to(text: str, values: dict[str, Any], result: Truth) -> None:
    assert same(holds(text, **values), result)


@pytest.mark.parametrize(
    ("text", "values", "because"),
    [
        ("1 / x.n > 0", {"n": 0}, "a division by zero"),
        ("1 // x.n > 0", {"n": 0}, "a division by zero"),
        ("1 % x.n > 0", {"n": 0.0}, "a division by zero"),
        ("x.n ** -1 > 0", {"n": 0}, "a division by zero"),
        ("x.n ** 0.5 > 0", {"n": -8}, "a number became too large, or is not a number"),
        ("x.n ** 64 > 0", {"n": 10**300}, "is too large to compute"),
        ("2 ** x.n > 0", {"n": 10**6}, "is too large to compute"),
        ("x.n * x.n > 0", {"n": 1e200}, "a number became too large"),
        ("x.n * x.n > 0", {"n": 10**200}, "a number became too large"),
        ("x.n / 2 > 0", {"n": 10**400}, "numbers that cannot be computed"),
        ("round(x.n, 0 - 1000000000) > 0", {"n": 5}, "round takes at most 15 digits"),
        ("round(x.n, 1.5) > 0", {"n": 5}, "round takes at most 15 digits"),
        ("x.n > 1", {"n": float("nan")}, "x.n is not reported by this node"),
        ("x.n > 1", {"n": float("inf")}, "x.n is not reported by this node"),
        ("x.n > 1", {}, "x.n is not reported by this node"),
        ("y.n > 1", {}, "y was not read (it is missing)"),
        ("x.n > 1", {"n": "text"}, "'text' and 1 cannot be compared"),
        ("x.n + 1 > 1", {"n": "text"}, "'text' is not a number"),
        ("x.n + 1 > 1", {"n": True}, "True is not a number"),
        ("x.a", {"a": 1}, "1 is not a yes or no"),
        ("'a' in x.s", {"s": 5}, "'a' cannot be in 5"),
        ("x.s < x.t or x.a".replace("<", "=="), {"s": 5, "t": "5"}, "5 and '5' cannot be compared"),
    ],
)
def test_what_cannot_be_worked_out_is_unknown_and_says_why(text: str, values: dict[str, Any], because: str) -> None:
    value = known_as(holds(text, **values), Unknown)
    assert because in value.because


def test_what_cannot_be_worked_out_decides_nothing_that_is_decided() -> None:
    assert holds("x.a or 1 / x.n > 0", a=True, n=0) is True
    assert holds("1 / x.n > 0 and x.a", a=False, n=0) is False


def test_probe_that_was_not_asked_is_unknown() -> None:
    value = read_condition("x.n > 1", {"x": FIELDS}).holds(snapshot({}))
    assert value == Unknown("x was not asked")


# --- expressions by the thousand

_NUMBER = st.sampled_from(["x.n", "x.m", "0", "1", "2.5", "100", "1e300", "9999999999999999"])
_TEXT = st.sampled_from(["x.s", "x.t", "'a'", "'ab'", "''"])


def _numbers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), inner)
    called = st.builds("{}({}, {})".format, st.sampled_from(["min", "max", "round"]), inner, inner)
    return joined | called | st.builds("abs(-{})".format, inner)


_FIGURE = st.recursive(_NUMBER, _numbers, max_leaves=4)
_ORDER = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
_COMPARISON = (
    st.builds("{} {} {} {} {}".format, _FIGURE, _ORDER, _FIGURE, _ORDER, _FIGURE)
    | st.builds("{} {} {}".format, _TEXT, st.sampled_from(["==", "!=", "in", "not in"]), _TEXT)
    | st.builds("{} in ({}, {})".format, _TEXT, _TEXT, _TEXT)
    | st.sampled_from(["x.a", "x.b", "True"])
)
_CONDITION = st.recursive(
    _COMPARISON,
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner)
        | st.builds("(not {})".format, inner)
    ),
    max_leaves=5,
)
_VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys("ab", st.booleans()),
    **dict.fromkeys("nm", st.integers(-3, 3) | st.floats() | st.sampled_from([10**300, 10**400, -(10**9)])),
    **dict.fromkeys("st", st.sampled_from(["", "a", "ab", "b"])),
}


@given(_CONDITION, st.fixed_dictionaries({}, optional=dict(_VALUES)), st.fixed_dictionaries(dict(_VALUES)))
@settings(max_examples=up_to(300), deadline=None)
def test_what_is_decided_stays_so_whatever_the_unread_turns_out_to_be(
    text: str, known: dict[str, Any], unread: dict[str, Any]
) -> None:
    try:
        before = holds(text, **known)
    except ExpressionError:  # too long, or it looks at nothing
        return
    after = holds(text, **{**unread, **known})
    assert isinstance(before, Unknown) or before is after


_ANY_VALUE = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**400) | st.just(("a",))
)


@given(_CONDITION, st.dictionaries(st.sampled_from("abcnmst"), _ANY_VALUE))
@settings(max_examples=up_to(300), deadline=None)
def test_no_reading_makes_a_condition_raise(text: str, values: dict[str, Any]) -> None:
    try:
        value = holds(text, **values)
    except ExpressionError:
        return
    assert isinstance(value, bool | Unknown)
