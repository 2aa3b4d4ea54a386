"""A slip in an expression is told when it is read; what is not a condition is never run."""

import ast
import contextlib
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.library.conditions import read_condition
from bot.library.kinds import ValueKind, fields_of, kinds_of
from bot.library.language import LONGEST, ExpressionError
from bot.probes import PROBES
from bot.probes.cgroups import CgroupsReading
from bot.probes.kernel_log import KernelLogReading
from tests.examples import up_to
from tests.unit.library.tables import snapshot

READINGS: dict[str, Any] = {name: kinds_of(probe.reading) for name, probe in PROBES.items()}  # type: ignore[arg-type]  # a class is hashable


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cpu.hotest_sys_percent > 5", 'cpu has no field "hotest_sys_percent". Did you mean hottest_sys_percent'),
        ("cgroup.dying > 5", '"cgroup" is not a probe. Did you mean cgroups?'),
        ("dying > 5", '"dying" is not known; name a field as probe.field.'),
        ("cgroups > 5", "cgroups is a reading; name one of its fields"),
        ("units.services == 5", "units.services is not a number, a text or a yes or no"),
        ("cgroups.dying", "its value is a number; a condition is a yes or no"),
        ("host.kernel", "its value is text"),
        ("1 < 2", "it uses no reading"),
        ("True", "it uses no reading"),
        ("cgroups.dying > '5'", "cgroups.dying is a number and '5' is text; they cannot be compared"),
        ("host.kernel > '5'", "host.kernel is text, which has no order"),
        ("units.systemd > False", "units.systemd is a yes or no, which has no order"),
        ("units.systemd == 1", "units.systemd is a yes or no and 1 is a number; they cannot be compared"),
        ("cgroups.dying and units.systemd", "cgroups.dying is a number, and and takes a yes or no"),
        ("not cgroups.dying", "cgroups.dying is a number, and not takes a yes or no"),
        ("host.kernel + 'x' == 'y'", "host.kernel is text, and arithmetic takes a number"),
        ("'%d' % cgroups.dying == 'y'", "'%d' is text, and arithmetic takes a number"),
        ("cgroups.dying in host.kernel", "cgroups.dying is a number and cannot be in text"),
        ("'a' in (1, 2)", "'a' is text and cannot be in a list of numbers"),
        ("host.kernel in ('a', 1)", "a list holds texts alone or numbers alone"),
        ("host.kernel in ()", "a list holds texts alone or numbers alone"),
        ("kernel_log.kinds == ('a',)", "kernel_log.kinds is a list of texts"),
        ("cgroups.growth == None", "None is not a value here"),
        ("cgroups.growth is None", "None is not a value here"),
        ("units.systemd is True", "`is` is not allowed; write == or !="),
        ("cgroups.dying = 5", "not an expression at character 15: invalid syntax"),
        ("cgroups.dying > 5m", "write a number alone, not 5m"),
        ("cpu.iowait_percent > 90%", "write a number alone, not 90%"),
        ("90 % < cpu.iowait_percent", "write a number alone, not 90 %"),
        ("units.systemd == no", "no is not known; write False"),
        ("units.systemd == 'no'", "it is a yes or no by itself: write it alone, or after not"),
        ("cgroups.dying > 5 && units.systemd", "write and, not &&"),
        ("cgroups.dying > 5 || units.systemd", "write or, not ||"),
        ("!units.systemd", "write not, not !"),
        ("units.systemd & units.systemd", "& | ^ << and >> are not allowed"),
        ("1 << cgroups.dying > 5", "& | ^ << and >> are not allowed"),
        ("~cgroups.dying > 5", "~cgroups.dying is not allowed"),
        ("cgroups.dying if units.systemd else 5", "is not allowed"),
        ("cgroups.siblings['cpu'] > 5", "is not allowed"),
        ("cgroups.source[0] == 'x'", "is not allowed"),
        ("len(host.kernel) > 5", "len cannot be called; there are abs, max, min, round"),
        ("host.kernel.startswith('5')", "host.kernel.startswith cannot be called"),
        ("abs(1, 2) > cgroups.dying", "abs takes 1 plain arguments"),
        ("max(cgroups.dying) > 5", "max takes 2 to 10 plain arguments"),
        ("max(cgroups.dying, default=5) > 5", "max takes 2 to 10 plain arguments"),
        ("max(*cgroups.source, 1) > 5", "*cgroups.source is not allowed"),
        ("max > 5", "max is a function; write max(…)"),
        ("b'a' in host.kernel", "b'a' is not a number, a text or a yes or no"),
        ("1j > cgroups.dying", "1j is not a number"),
        ("1e999 > cgroups.dying", "inf is not a number"),
        ("... == cgroups.dying", "Ellipsis is not a number"),
        ("f'{host.kernel}' == 'x'", "is not allowed"),
        (r"'\d' in host.kernel", "not an expression"),
        ("1or 2", "not an expression"),
        ("", "not an expression"),
        ("   ", "not an expression"),
        ("\0", "not an expression"),
        ("cgroups.dying > 5; units.systemd", "not an expression"),
        ("x = 1", "not an expression"),
        ("cgroups.dying > 5 # note\n and units.systemd", None),
    ],
)
def test_slip_is_told_with_what_would_be_right(text: str, says: str | None) -> None:
    if says is None:  # a comment swallows what stands on the next line of a folded text: still one expression
        assert read_condition(text, READINGS).probes == ("cgroups",)
        return
    with pytest.raises(ExpressionError) as refused:
        read_condition(text, READINGS)
    assert says in str(refused.value)


def test_probe_that_is_there_and_not_asked_is_told_so() -> None:
    with pytest.raises(ExpressionError, match="reclaim is not read by this playbook; add it to probes"):
        read_condition("reclaim.memory_full_avg10 > 1", {"cpu": READINGS["cpu"]}, {"reclaim"})


def test_expression_tells_the_probes_it_looks_at_in_order() -> None:
    text = "units.systemd and (cgroups.dying > 1 or cpu.sys_percent > 1)\n  and cgroups.alive > 1"
    assert read_condition(text, READINGS).probes == ("units", "cgroups", "cpu")


def test_fields_and_properties_of_readings_can_be_used() -> None:
    usable = fields_of(CgroupsReading)
    assert usable["dying"] is ValueKind.NUMBER
    assert usable["growth_per_hour"] is ValueKind.NUMBER
    assert usable["mode"] is ValueKind.TEXT
    assert usable["source"] is ValueKind.TEXTS
    assert "siblings" not in usable
    assert kinds_of(CgroupsReading)["siblings"] is ValueKind.OTHER
    assert fields_of(KernelLogReading)["kinds"] is ValueKind.TEXTS
    assert "of" not in fields_of(KernelLogReading)


def test_condition_over_a_real_reading_holds() -> None:
    reading = CgroupsReading(mode="v1", dying=68_680, alive=240, counter="num_cgroups")
    look = snapshot({"cgroups": reading})
    assert read_condition("cgroups.dying > 1000 and cgroups.mode == 'v1'", READINGS).holds(look) is True
    assert read_condition("cgroups.source or not cgroups.source", READINGS).holds(look) is True
    assert read_condition("cgroups.source", READINGS).holds(look) is False
    unknown = read_condition("cgroups.growth > 0", READINGS).holds(look)
    assert not isinstance(unknown, bool)
    assert unknown.because == "cgroups.growth is not reported by this node"


_ATTACKS = [
    "__import__('os').system('touch pwned')",
    "().__class__.__bases__[0].__subclasses__()",
    "cgroups.__class__.__mro__ == 1",
    "cgroups.dying.__class__ == 1",
    "cgroups._x > 1",
    "cgroups.__dict__ == 1",
    "cpu.held('sys_percent', 1, 1) == 1",
    "cpu.held == 1",
    "cpu.mean('__class__') > 1",
    "'{0.__class__}'.format(cgroups.dying) == 'x'",
    "(lambda: 1)() == cgroups.dying",
    "[x for x in host.kernel] == 1",
    "{x: 1 for x in host.kernel} == 1",
    "(y := 5) > cgroups.dying",
    "eval('1') > cgroups.dying",
    "abs.__self__ == cgroups.dying",
    "abs(abs)(1) > cgroups.dying",
    "getattr(cgroups, 'dying') > 1",
    "cgroups.dying > 1 if exec('x') else 1",
    "type(cgroups.dying) == 1",
    "print(cgroups.dying) == 1",
    "await cgroups.dying > 1",
    "(yield) == cgroups.dying",
    "*cgroups.source, == cgroups.source",
    "min(cgroups.source, key=print) > 1",
    "f'{cgroups.dying.__class__}' == host.kernel",
    "host.kernel @ host.kernel > 1",
    "9 ** 9 ** 9 ** 9 ** 9 > cgroups.dying",
    "'a' * 999999999 == host.kernel",
    "host.kernel * 10 ** 10 == 'a'",
    "round(cgroups.dying, -10 ** 10) > 1",
    "max((1,) * 10 ** 9, 2) > cgroups.dying",
]


@pytest.mark.parametrize("text", _ATTACKS)
def test_nothing_gets_out_and_nothing_takes_long(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(ExpressionError):
        read_condition(text, READINGS).holds(
            snapshot({"cgroups": CgroupsReading("v1", 5, 5, "x"), "host": READINGS["host"]})
        )
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000 + "1" + ")" * 10_000,
        "(" * 240 + "cgroups.dying" + ")" * 240 + " > 1",
        "-" * 480 + "cgroups.dying > 1",
        "not " * 120 + "units.systemd",
        " ** ".join(["2"] * 100) + " > cgroups.dying",
        "abs(" * 100 + "cgroups.dying" + ")" * 90,
        "a." * 200 + "b",
        "cgroups.dying > 1 and " * 10_000 + "units.systemd",
        "'" + "x" * 1_000_000 + "' == host.kernel",
        "9" * 490 + " > cgroups.dying" + " " * 600,
    ],
)
def test_deep_and_long_texts_are_read_or_refused_at_once(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(ExpressionError):
        read_condition(text, READINGS).holds(snapshot({"cgroups": CgroupsReading("v1", 5, 5, "x")}))
    assert time.process_time() - began < 0.5


def test_length_is_bounded() -> None:
    text = "cgroups.dying > 1"
    read_condition(text + " or cgroups.dying > 1" * 23, READINGS)
    with pytest.raises(ExpressionError, match=f"{LONGEST} is the most"):
        read_condition(text + " or cgroups.dying > 1" * 24, READINGS)


_SIGNS = "cgroups host .dying .kernel .__class__ ._x ( ) [ ] { } , : 'a' 1 := ** % * / - ~ < > == abs max f'{ }' \\ # ;"
_WORDS = "and or not in is if else"
_PIECES = [*_SIGNS.split(), *(f" {word} " for word in _WORDS.split()), "print", "__import__", " for x in "]
_PIECES += ["lambda: ", "await ", "\n", "9" * 30]
_ALLOWED = (ast.Expression, ast.Constant, ast.Attribute, ast.Name, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare)
_ALLOWED_TOO = (ast.Call, ast.Tuple, ast.List, ast.Load, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join) | st.text(max_size=40))
@settings(max_examples=up_to(500), deadline=None)
def test_whatever_is_written_only_conditions_come_through(text: str) -> None:
    try:
        expression = read_condition(text, READINGS)
    except ExpressionError:
        return
    for node in ast.walk(ast.parse(expression.text, mode="eval")):
        assert isinstance(node, (*_ALLOWED, *_ALLOWED_TOO))
        assert not isinstance(node, ast.Attribute) or not node.attr.startswith("_")
    expression.holds(snapshot({"cgroups": CgroupsReading("v1", 5, 5, "x")}))
