"""The language of conditions and of causes' files, type-checked when it is loaded, so that mistakes show at once.

Shape: numbers, texts and booleans; `probe.field`; `and or not`; comparisons; arithmetic; and besides, for causes,
names of thresholds and of `let`; `reading.part.field`; `a if yes else b`; several parts filtered and cut,
`[v for v in ebs.volumes if v.queue_length > 9][:4]`; `any(… for v in …)`; `f"{number:,} rows"`; functions. Every part
has a kind, and kinds that do not fit are refused. Several parts are a yes where there is one.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from bot.domain.nearest import did_you_mean
from bot.domain.probe import CustomReading, Snapshot, Unread
from bot.domain.safe_text import one_line
from bot.domain.three_valued_logic import Truth, Unknown, any_of, not_
from bot.library.functions import NODE, Function, Worked
from bot.library.kinds import Many, Record, Shape, ValueKind, item_shape, shapes_of
from bot.library.kleene import ARITHMETIC, FUNCTIONS, MEMBERSHIPS, ORDERS, Value, compared, computed, truth

LONGEST = 500
_DEEPEST = 25
_FIGURES = frozenset({int, float})  # compared without a further look, which is most of what is compared
_AS_IT_IS = frozenset({bool, int, str, tuple})
_LISTS = {ValueKind.TEXT: ValueKind.TEXTS, ValueKind.NUMBER: ValueKind.NUMBERS}
# `5m`, `64kB`, `90%`; but `90 % 7` is a remainder
_WITH_UNIT = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:(?:ms|min|[smhd]|[kMGT]?i?B)\b| ?%(?=\s*(?:$|[<>=!)]|and\b|or\b)))")
_TRUTH_WORDS = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}

Form: TypeAlias = Callable[..., str]  # a number as people read it


AS_WRITTEN = {  # functions that are asked of a part as it is written
    "any": "a yes or no for each: any(volume.queue_length > 9 for volume in ebs.volumes)",
    "highest": 'several, and the name of a number: highest(kernel_limits.limits, "used_percent")',
    "lowest": 'several, and the name of a number: lowest(filesystems.rooms, "free_percent")',
    "surely": "a yes or no",
    "unread": "a reading, a field, or a name",
}


class ExpressionError(Exception):
    """An invalid expression. The text says why, and what would be right."""


@dataclass(frozen=True, slots=True)
class Words:
    """What expressions may use: fields by reading, functions, and formats of numbers by name; all of it in words."""

    readings: Mapping[str, Mapping[str, Shape]]
    functions: Mapping[str, Function]
    formats: Mapping[str, Form]  # of a number, and of what stands after the name
    allowed: str


class Scope:
    """What an expression is worked out from. What a name stands for is worked out once."""

    __slots__ = ("_named", "items", "snapshot", "tuning")

    def __init__(self, snapshot: Snapshot, tuning: Mapping[str, float] | None = None) -> None:
        self.snapshot = snapshot
        self.tuning = tuning or {}
        self.items: dict[str, Any] = {}
        self._named: dict[str, Value] = {}

    def named(self, name: str, evaluate: Evaluate) -> Value:
        """Return what a name of `let` stands for."""
        if name not in self._named:
            items, self.items = self.items, {}  # whoever goes over several parts goes on with its own
            self._named[name] = evaluate(self)
            self.items = items
        return self._named[name]


Evaluate: TypeAlias = Callable[[Scope], Value]  # works a part out


@dataclass(frozen=True, slots=True)
class CheckedExpression:
    """A checked part of an expression: its shape, what works it out, and the probes that it uses."""

    shape: Shape
    evaluate: Evaluate
    probes: tuple[str, ...] = ()


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


class Language:
    """Checks an expression part by part, refuses what is not allowed, and makes of each part what works it out.

    Shape: `figures` are the names of thresholds; `unasked` are the known probes that this playbook does not read.
    """

    def __init__(self, words: Words, figures: Collection[str] = (), unasked: Collection[str] = ()) -> None:
        self._words = words
        self._unasked = unasked
        self._depth = 0
        self._names = {name: CheckedExpression(ValueKind.NUMBER, _figure(name)) for name in figures}

    def read(self, text: str) -> CheckedExpression:
        """Return a checked expression. Raises: ExpressionError."""
        self._depth = 0
        return self._of(parse_expression(text).body)

    def condition(self, text: str) -> CheckedExpression:
        """Return a checked expression that is a yes or no. Raises: ExpressionError."""
        part = _as_truth(self.read(text))
        if part.shape is not ValueKind.TRUTH:
            raise ExpressionError(
                f"its value is {part.shape.value}; a condition is a yes or no: compare it with something"
            )
        return part

    def sentence(self, text: str) -> CheckedExpression:
        """Return a sentence, with what stands within braces worked out. Raises: ExpressionError."""
        if '"""' in text or "\\" in text or text.endswith('"'):
            raise ExpressionError("a sentence has no backslash, no three quotes, and no quote at its end")
        return self.read(f'f"""{text}"""')

    def name(self, name: str, part: CheckedExpression) -> None:
        """Give a part a name, for all that is read from then on. Raises: ExpressionError when the name is taken."""
        self._check_free(name)
        self._names[name] = CheckedExpression(part.shape, lambda scope: scope.named(name, part.evaluate), part.probes)

    def each(self, text: str) -> tuple[str, CheckedExpression]:
        """Read `name in several`; return the name, which later expressions may use, and the parts."""
        tree = parse_expression(f"[0 for {text}]").body
        if not isinstance(tree, ast.ListComp):
            raise ExpressionError("write for example: volume in ebs.volumes")
        name, several = self._loop(tree.generators)
        return name, several

    def without(self, name: str) -> None:
        """Forget the name that `each` gave."""
        del self._names[name]

    def _of(self, node: ast.expr) -> CheckedExpression:
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
            case ast.IfExp(test=test, body=body, orelse=orelse):
                (condition,) = self._check_all([test], ValueKind.TRUTH, "if")
                yes, no = self._of(body), self._of(orelse)
                if yes.shape != no.shape:
                    raise ExpressionError(
                        f"{expression_text(node)} is {yes.shape.value} or {no.shape.value}; make them alike"
                    )
                return joined(yes.shape, _if_else(condition, yes, no), condition, yes, no)
            case ast.ListComp(elt=elt, generators=generators):
                name, several = self._loop(generators)
                chosen = self._of(elt)
                self.without(name)
                if isinstance(elt, ast.Name) and elt.id == name:
                    return several
                if chosen.shape is ValueKind.TEXT or chosen.shape is ValueKind.NUMBER:
                    return _from_known(_LISTS[chosen.shape], _values, _over(name, several, chosen))
                raise ExpressionError(f"{expression_text(elt)} is {chosen.shape.value}, of which there is no list")
            case ast.Subscript(value=listed, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                whole, ends = self._of(listed), [_whole_number(lower), _whole_number(upper)]
                if item_shape(whole.shape) is None:
                    raise ExpressionError(f"{expression_text(listed)} is {whole.shape.value}, which cannot be cut")
                return _from_known(whole.shape, lambda several: several[slice(*ends)], whole)
            case ast.JoinedStr(values=values):
                return self._text(values)
        raise ExpressionError(f"{expression_text(node)} is not allowed: {self._words.allowed}")

    def _check_all(self, nodes: list[ast.expr], kind: ValueKind, what: str) -> list[CheckedExpression]:
        parts = [self._of(node) for node in nodes]
        if kind is ValueKind.TRUTH:
            parts = [_as_truth(part) for part in parts]
        for node, part in zip(nodes, parts, strict=True):
            if part.shape is not kind:
                raise ExpressionError(f"{expression_text(node)} is {part.shape.value}, and {what} takes {kind.value}")
        return parts

    def _computed(self, function: Worked, nodes: list[ast.expr], what: str) -> CheckedExpression:
        parts = self._check_all(nodes, ValueKind.NUMBER, what)
        evaluators = [part.evaluate for part in parts]
        return joined(
            ValueKind.NUMBER, lambda scope: computed(function, *[evaluate(scope) for evaluate in evaluators]), *parts
        )

    def _field(self, node: ast.Attribute) -> CheckedExpression:
        what = expression_text(node)
        if isinstance(node.value, ast.Name) and node.value.id not in self._names:
            probe, name = node.value.id, node.attr
            shape = _field_shape(self._known(probe), name, probe)
            return CheckedExpression(shape, lambda scope: field_value(scope.snapshot, probe, name), (probe,))
        whole = self._of(node.value)
        if not isinstance(whole.shape, Record):
            raise ExpressionError(f"{expression_text(node.value)} is {whole.shape.value}, and has no fields")
        shape = _field_shape(shapes_of(whole.shape.type), node.attr, expression_text(node.value))  # type: ignore[arg-type]  # a class is hashable
        name = node.attr
        return _from_known(shape, lambda part: _usable(getattr(part, name, None), what), whole)

    def _known(self, probe: str) -> Mapping[str, Shape]:
        known = self._words.readings.get(probe)
        if known is None and probe in self._unasked:
            raise ExpressionError(f"{probe} is not read by this playbook; add it to probes")
        if known is None:
            raise ExpressionError(f'"{one_line(probe, 60)}" is not a probe. {self._near(probe)}')
        return known

    def _near(self, name: str) -> str:
        return did_you_mean(name, sorted({*self._words.readings, *self._names}))

    def _name(self, name: str) -> CheckedExpression:
        if name in self._names:
            return self._names[name]
        if name in self._words.readings:
            raise ExpressionError(f"{name} is a reading; name one of its fields: {name}.…")
        if name in FUNCTIONS or name in self._words.functions:
            raise ExpressionError(f"{name} is a function; write {name}(…)")
        if name.lower() in _TRUTH_WORDS:
            raise ExpressionError(f"{name} is not known; write {_TRUTH_WORDS[name.lower()]}")
        raise ExpressionError(f'"{one_line(name, 60)}" is not known; name a field as probe.field. {self._near(name)}')

    def _compare(self, node: ast.Compare) -> CheckedExpression:
        nodes = [node.left, *node.comparators]
        parts = [self._of(each) for each in nodes]
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
        if name in FUNCTIONS:
            return self._call_with_numbers(name, node)
        if name in self._words.functions:
            return self._call_function(name, self._words.functions[name], node)
        match name, node.args, node.keywords:
            case "any", [ast.GeneratorExp(elt=elt, generators=generators)], []:
                item, several = self._loop(generators)
                (held,) = self._check_all([elt], ValueKind.TRUTH, name)
                self.without(item)
                return _from_known(ValueKind.TRUTH, _any_holds, _over(item, several, held))
            case "surely", [asked], []:
                (held,) = self._check_all([asked], ValueKind.TRUTH, name)
                evaluate = held.evaluate
                return joined(ValueKind.TRUTH, lambda scope: truth(evaluate(scope)) is True, held)
            case "unread", [ast.Name(id=probe)], [] if probe in self._words.readings:
                return CheckedExpression(
                    ValueKind.TRUTH, lambda scope: isinstance(_reading(scope.snapshot, probe), Unknown), (probe,)
                )
            case "unread", [asked], []:
                part = self._of(asked)
                evaluate = part.evaluate
                return joined(ValueKind.TRUTH, lambda scope: isinstance(evaluate(scope), Unknown), part)
            case "highest" | "lowest", [several, by], []:
                return self._item_with_extreme(name, several, by)
        if name in AS_WRITTEN:
            raise ExpressionError(f"{name} takes {AS_WRITTEN[name]}")
        near = did_you_mean(name, sorted({*FUNCTIONS, *AS_WRITTEN, *self._words.functions}))
        raise ExpressionError(f"{expression_text(node.func)} cannot be called. {near}")

    def _call_with_numbers(self, name: str, node: ast.Call) -> CheckedExpression:
        least, most = {"abs": (1, 1), "round": (1, 2)}.get(name, (2, 10))
        if node.keywords or not least <= len(node.args) <= most:
            counts = f"{least}" if least == most else f"{least} to {most}"
            raise ExpressionError(f"{name} takes {counts} plain arguments")
        return self._computed(FUNCTIONS[name], node.args, name)

    def _call_function(self, name: str, function: Function, node: ast.Call) -> CheckedExpression:
        args = [self._of(argument) for argument in node.args]
        named = {str(word.arg): self._of(word.value) for word in node.keywords}
        given = [part.shape for part in args]
        if not function.accepts(given, {word: part.shape for word, part in named.items()}):
            were = "".join(
                f", and {expression_text(a)} is {part.shape.value}" for a, part in zip(node.args, args, strict=True)
            )
            raise ExpressionError(f"{name} takes {function.takes_words}{were}")
        if fault := function.refuses(*[each.value if isinstance(each, ast.Constant) else None for each in node.args]):
            raise ExpressionError(fault)
        missing, words = Unknown(f"{expression_text(node.args[0])} has none"), tuple(named)
        plain = [*_whole_of(function), *args]

        def evaluate(*values: Value) -> Value:
            more = dict(zip(words, values[len(plain) :], strict=True))
            found = function.evaluate(*values[: len(plain)], **more)
            return missing if found is None else found

        return _from_known(function.given_for(given), evaluate, *plain, *named.values())

    def _list(self, items: list[ast.expr]) -> CheckedExpression:
        parts = [self._of(item) for item in items]
        kinds = {part.shape for part in parts}
        if kinds not in ({ValueKind.TEXT}, {ValueKind.NUMBER}):
            raise ExpressionError("a list holds texts alone or numbers alone, and at least one")
        evaluators = [part.evaluate for part in parts]
        shape = ValueKind.TEXTS if kinds == {ValueKind.TEXT} else ValueKind.NUMBERS
        return joined(shape, lambda scope: tuple([evaluate(scope) for evaluate in evaluators]), *parts)

    def _check_free(self, name: str) -> None:
        if name in self._names or name in self._words.readings:
            raise ExpressionError(f"{name} is taken already; choose another name")

    def _loop(self, generators: list[ast.comprehension]) -> tuple[str, CheckedExpression]:
        """Return the name that stands for each, and the parts that pass the conditions; the name stays known."""
        (first, *more) = generators
        if more or not isinstance(first.target, ast.Name) or first.is_async:
            raise ExpressionError("one name goes over one list: name in several")
        name, several = first.target.id, self._of(first.iter)
        if not isinstance(several.shape, Many):
            raise ExpressionError(f"{expression_text(first.iter)} is {several.shape.value}, not several")
        self._check_free(name)
        self._names[name] = CheckedExpression(several.shape.of, lambda scope: scope.items[name], several.probes)
        conditions = self._check_all(first.ifs, ValueKind.TRUTH, "if")
        if conditions:
            kept = joined(ValueKind.TRUTH, _and_or(False, [each.evaluate for each in conditions]), *conditions)
            several = _from_known(several.shape, _chosen, _over(name, several, kept))
        return name, several

    def _text(self, values: list[ast.expr]) -> CheckedExpression:
        parts, evaluators = list[CheckedExpression](), list[Evaluate]()
        for value in values:
            if isinstance(value, ast.Constant):
                evaluators.append(_text(str(value.value)))
            elif isinstance(value, ast.FormattedValue):
                part = self._of(value.value)
                parts.append(part)
                evaluators.append(_shown_as(part, self._format(value, part)))
        return joined(ValueKind.TEXT, lambda scope: "".join([evaluate(scope) for evaluate in evaluators]), *parts)

    def _format(self, node: ast.FormattedValue, part: CheckedExpression) -> Form:
        spec = "".join(
            str(each.value) for each in getattr(node.format_spec, "values", ()) if isinstance(each, ast.Constant)
        )
        name, _, rest = spec.partition(" ")
        if part.shape not in (ValueKind.NUMBER, ValueKind.TEXT) or (spec and part.shape is not ValueKind.NUMBER):
            raise ExpressionError(f"{expression_text(node.value)} is {part.shape.value}, which cannot be written so")
        if name not in self._words.formats:
            near = did_you_mean(name, sorted(self._words.formats))
            raise ExpressionError(f'there is no format "{one_line(name, 40)}". {near}')
        form = self._words.formats[name]
        return (lambda value: form(value, rest)) if rest else form

    def _item_with_extreme(self, name: str, several: ast.expr, by: ast.expr) -> CheckedExpression:
        whole = self._of(several)
        if not isinstance(whole.shape, Many):
            raise ExpressionError(
                f"{name} takes {AS_WRITTEN[name]}, and {expression_text(several)} is {whole.shape.value}"
            )
        usable = shapes_of(whole.shape.of.type)  # type: ignore[arg-type]  # a class is hashable
        field = str(by.value) if isinstance(by, ast.Constant) else ""
        if usable.get(field) is not ValueKind.NUMBER:
            numbers = sorted(each for each, shape in usable.items() if shape is ValueKind.NUMBER)
            raise ExpressionError(f'{expression_text(by)} is no number of {whole.shape.of.value}; write "{numbers[0]}"')
        choose, missing = (max if name == "highest" else min), Unknown(f"{expression_text(several)} has none")

        def evaluate(parts: Any) -> Value:
            return choose(parts, key=lambda part: _usable(getattr(part, field), "")) if parts else missing

        return _from_known(whole.shape.of, evaluate, whole)


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


def _from_known(shape: Shape, function: Worked, *parts: CheckedExpression) -> CheckedExpression:
    """Return what a function makes of parts; unknown if one of them is."""
    evaluators = [part.evaluate for part in parts]

    def evaluate(scope: Scope) -> Value:
        values = []
        for each in evaluators:
            value = each(scope)
            if isinstance(value, Unknown):
                return value
            values.append(value)
        return function(*values)

    return joined(shape, evaluate, *parts)


def _whole_of(function: Function) -> list[CheckedExpression]:
    """What a function takes before its arguments."""
    if function.of == NODE:
        return [CheckedExpression(ValueKind.OTHER, lambda scope: scope.snapshot, function.probes)]
    if probe := function.of:
        return [CheckedExpression(ValueKind.OTHER, lambda scope: _reading(scope.snapshot, probe), (probe,))]
    return []


def _if_else(condition: CheckedExpression, yes: CheckedExpression, no: CheckedExpression) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        held = truth(condition.evaluate(scope))
        return held if isinstance(held, Unknown) else (yes if held else no).evaluate(scope)

    return evaluate


def _over(name: str, several: CheckedExpression, part: CheckedExpression) -> CheckedExpression:
    """Return each of several, and what a part comes to for it."""

    def evaluate(scope: Scope) -> Value:
        found = several.evaluate(scope)
        if isinstance(found, Unknown):
            return found
        pairs = []
        for item in found:
            scope.items[name] = item
            pairs.append((item, part.evaluate(scope)))
        return pairs

    return joined(ValueKind.OTHER, evaluate, several, part)


def _chosen(pairs: list[tuple[Any, Truth]]) -> Value:
    unknown = [held for _, held in pairs if isinstance(held, Unknown)]
    return unknown[0] if unknown else tuple([item for item, held in pairs if held is True])


def _values(pairs: list[tuple[Any, Value]]) -> Value:
    unknown = [value for _, value in pairs if isinstance(value, Unknown)]
    return unknown[0] if unknown else tuple([value for _, value in pairs])


def _any_holds(pairs: list[tuple[Any, Value]]) -> Truth:
    return any_of(*[truth(value) for _, value in pairs])


def _figure(name: str) -> Evaluate:
    return lambda scope: scope.tuning[name]


def _text(text: str) -> Evaluate:
    return lambda scope: text


def _shown_as(part: CheckedExpression, form: Form) -> Evaluate:
    evaluate = part.evaluate

    def text(scope: Scope) -> str:
        value = evaluate(scope)
        return "an unknown value" if isinstance(value, Unknown) else form(value)

    return text


def _reading(snapshot: Snapshot, probe: str) -> Any:
    reading = snapshot.readings.get(probe)
    if isinstance(reading, Unread):
        return Unknown(f"{probe} was not read ({reading.reason})")
    return Unknown(f"{probe} was not asked") if reading is None else reading


def field_value(snapshot: Snapshot, probe: str, field: str) -> Value:
    """Return a field's value, unknown if the reading or the field was not read."""
    reading = _reading(snapshot, probe)
    if isinstance(reading, Unknown):
        return reading
    try:
        value = reading.fields.get(field) if isinstance(reading, CustomReading) else getattr(reading, field, None)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return Unknown(f"{probe}.{field} cannot be computed ({one_line(str(error), 60)})")
    return _usable(value, f"{probe}.{field}")


def _usable(value: Any, what: str) -> Value:
    """A field's value as expressions have it: spans and times in seconds; unknown if there is none."""
    if type(value) in _AS_IT_IS:
        return value
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return Unknown(f"{what} is not reported by this node")
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.timestamp() if isinstance(value, datetime) else value


def _field_shape(known: Mapping[str, Shape], name: str, of: str) -> Shape:
    if name in known:
        return known[name]
    usable = sorted(each for each, shape in known.items() if shape is not ValueKind.OTHER)
    raise ExpressionError(f'{of} has no field "{one_line(name, 60)}". {did_you_mean(name, usable)}')


def _as_truth(part: CheckedExpression) -> CheckedExpression:
    """Several are a yes where there is one, and so is a part that is there."""
    if isinstance(part.shape, Record):
        return _from_known(ValueKind.TRUTH, lambda value: True, part)
    return part if item_shape(part.shape) is None else _from_known(ValueKind.TRUTH, bool, part)


def _whole_number(node: ast.expr | None) -> int | None:
    if node is None:
        return None
    try:
        found = ast.literal_eval(node)
    except ValueError:
        found = None
    if type(found) is not int:
        raise ExpressionError("a list is cut at whole numbers: [:4], [-2:]")
    return found
