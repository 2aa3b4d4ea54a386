"""The language of causes' files: that of conditions, with names, lines of the log, parts of readings, and sentences.

Shape: besides what conditions have, names of thresholds and of `let`; `reading.part.field`; `a if yes else b`; several
parts filtered and cut, `[v for v in ebs.volumes if v.queue_length > 9][:4]`; `any(… for v in …)`; `f"{number:,} rows"`;
functions. Several parts are a yes where there is one. `surely(x)` is a no where x is unknown; `unread(x)` asks it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from bot.domain.cause import Tuning
from bot.domain.nearest import did_you_mean
from bot.domain.probe import Snapshot, Unread
from bot.domain.safe_text import one_line
from bot.domain.three_valued_logic import Truth, Unknown, any_of
from bot.library.expressions import (
    CheckedExpression,
    Evaluate,
    ExpressionError,
    Language,
    expression_text,
    joined,
    parse_expression,
)
from bot.library.expressions import Scope as ConditionScope
from bot.library.kinds import Many, Record, Shape, ValueKind, shapes_of
from bot.library.kleene import FUNCTIONS, Value, truth

Worked: TypeAlias = Callable[..., Value]
Refusal: TypeAlias = Callable[..., str]  # what is wrong with arguments that are written out; empty if nothing is
Form: TypeAlias = Callable[..., str]  # a number as people read it


@dataclass(frozen=True, slots=True)
class Function:
    """A function that causes' files can call. `evaluate` takes the snapshot and the arguments, none of them unknown."""

    takes: tuple[Shape, ...]
    gives: Shape
    evaluate: Worked
    named: Mapping[str, Shape] = field(default_factory=dict)
    probes: tuple[str, ...] = ()
    refuses: Refusal = lambda *given: ""


@dataclass(frozen=True, slots=True)
class Words:
    """What a file's expressions may use: readings by probe, functions, and formats of numbers by name."""

    readings: Mapping[str, type[Any]]
    functions: Mapping[str, Function]
    formats: Mapping[str, Form]  # of a number, and of what stands after the name


class Scope(ConditionScope):
    """What a cause's expressions are worked out from. What a name stands for is worked out once."""

    __slots__ = ("_named", "items", "tuning")

    def __init__(self, snapshot: Snapshot, tuning: Tuning) -> None:
        super().__init__(snapshot)
        self.tuning = tuning
        self.items: dict[str, Any] = {}
        self._named: dict[str, Value] = {}

    def named(self, name: str, evaluate: Evaluate) -> Value:
        """Return what a name of `let` stands for."""
        if name not in self._named:
            items, self.items = self.items, {}  # whoever goes over several parts goes on with its own
            self._named[name] = evaluate(self)
            self.items = items
        return self._named[name]


class CauseLanguage(Language):
    """Checks the expressions of one cause's file."""

    allowed = "see docs/causes.md for what a cause's file may use"

    def __init__(self, words: Words, figures: Mapping[str, Any]) -> None:
        super().__init__(words.readings)
        self._words = words
        self._names = {name: CheckedExpression(ValueKind.NUMBER, _figure(name)) for name in figures}

    def read(self, text: str) -> CheckedExpression:
        """Return a checked expression. Raises: ExpressionError."""
        self._depth = 0
        return self.of(parse_expression(text).body)

    def condition(self, text: str) -> CheckedExpression:
        """Return a checked expression that is a yes or no. Raises: ExpressionError."""
        self._depth = 0
        return self._check_all([parse_expression(text).body], ValueKind.TRUTH, "a condition")[0]

    def sentence(self, text: str) -> CheckedExpression:
        """Return a sentence, with what stands within braces worked out. Raises: ExpressionError."""
        if '"""' in text or "\\" in text or text.endswith('"'):
            raise ExpressionError("a sentence has no backslash, no three quotes, and no quote at its end")
        return self.read(f'f"""{text}"""')

    def name(self, name: str, part: CheckedExpression) -> None:
        """Give a part a name, for all that is read from then on. Raises: ExpressionError when the name is taken."""
        if name in self._names or name in self._words.readings or name in (*FUNCTIONS, *self._words.functions):
            raise ExpressionError(f"{name} is taken already; choose another name")
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

    def _check_by_type(self, node: ast.expr) -> CheckedExpression:
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                (condition,) = self._check_all([test], ValueKind.TRUTH, "if")
                yes, no = self.of(body), self.of(orelse)
                if yes.shape != no.shape:
                    raise ExpressionError(
                        f"{expression_text(node)} is {yes.shape.value} or {no.shape.value}; make them alike"
                    )
                return joined(yes.shape, _if_else(condition, yes, no), condition, yes, no)
            case ast.ListComp(elt=elt, generators=generators):
                name, several = self._loop(generators)
                chosen = self.of(elt)
                self.without(name)
                if isinstance(elt, ast.Name) and elt.id == name:
                    return several
                if chosen.shape is ValueKind.TEXT or chosen.shape is ValueKind.NUMBER:
                    return _mapped(name, several, chosen, _LISTS[chosen.shape])
                raise ExpressionError(f"{expression_text(elt)} is {chosen.shape.value}, of which there is no list")
            case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                whole, ends = self.of(value), [_whole_number(lower), _whole_number(upper)]
                if not isinstance(whole.shape, Many) and whole.shape not in (ValueKind.TEXTS, ValueKind.NUMBERS):
                    raise ExpressionError(f"{expression_text(value)} is {whole.shape.value}, which cannot be cut")
                return joined(whole.shape, _apply_to_known(lambda several: several[slice(*ends)], whole), whole)
            case ast.JoinedStr(values=values):
                return self._text(values)
        return super()._check_by_type(node)

    def _coerce(self, kind: ValueKind, part: CheckedExpression) -> CheckedExpression:
        if kind is ValueKind.TRUTH and (
            isinstance(part.shape, Many | Record) or part.shape in (ValueKind.TEXTS, ValueKind.NUMBERS)
        ):
            is_single = isinstance(part.shape, Record)
            return joined(kind, _apply_to_known(lambda value: is_single or bool(value), part), part)
        return part

    def _name(self, name: str) -> CheckedExpression:
        return self._names[name] if name in self._names else super()._name(name)

    def _near(self, probe: str) -> str:
        return did_you_mean(probe, sorted({*self._askable, *self._names}))

    def _usable(self, known: Any) -> Mapping[str, Shape]:
        return shapes_of(known)

    def _field(self, node: ast.Attribute) -> CheckedExpression:
        if isinstance(node.value, ast.Name) and node.value.id not in self._names:
            found = super()._field(node)
            probe, kind = node.value.id, self._words.readings[node.value.id]
            return CheckedExpression(found.shape, _reading_field(kind, probe, node.attr), found.probes)
        whole = self.of(node.value)
        if not isinstance(whole.shape, Record):
            raise ExpressionError(f"{expression_text(node.value)} is {whole.shape.value}, and has no fields")
        usable = shapes_of(whole.shape.type)  # type: ignore[arg-type]  # a class is hashable
        if node.attr not in usable:
            near = did_you_mean(node.attr, sorted(usable))
            raise ExpressionError(f'{expression_text(node.value)} has no field "{one_line(node.attr, 60)}". {near}')
        what, name = expression_text(node), node.attr
        evaluate = _apply_to_known(lambda record: _language_value(getattr(record, name, None), what), whole)
        return joined(usable[name], evaluate, whole)

    def _loop(self, generators: list[ast.comprehension]) -> tuple[str, CheckedExpression]:
        """Return the name that stands for each, and the parts that pass the conditions; the name stays known."""
        (first, *more) = generators
        if more or not isinstance(first.target, ast.Name) or first.is_async:
            raise ExpressionError("one name goes over one list: name in several")
        name, several = first.target.id, self.of(first.iter)
        if not isinstance(several.shape, Many):
            raise ExpressionError(f"{expression_text(first.iter)} is {several.shape.value}, not several")
        if name in self._names or name in self._words.readings:
            raise ExpressionError(f"{name} is taken already; choose another name")
        self._names[name] = CheckedExpression(several.shape.of, lambda scope: scope.items[name], several.probes)
        conditions = self._check_all(first.ifs, ValueKind.TRUTH, "if")
        return name, _filtered(name, several, conditions) if conditions else several

    def _text(self, values: list[ast.expr]) -> CheckedExpression:
        parts, evaluators = list[CheckedExpression](), list[Evaluate]()
        for value in values:
            if isinstance(value, ast.Constant):
                evaluators.append(_text(str(value.value)))
            elif isinstance(value, ast.FormattedValue):
                part = self.of(value.value)
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

    def _call(self, node: ast.Call) -> CheckedExpression:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        known = self._words.functions.get(name)
        if known is not None:
            return self._call_of_cause(name, known, node)
        if name in OF_ANY:
            return self._call_for_any(name, node)
        if name not in FUNCTIONS:
            near = did_you_mean(name, sorted({*FUNCTIONS, *OF_ANY, *self._words.functions}))
            raise ExpressionError(f"{expression_text(node.func)} cannot be called. {near}")
        return super()._call(node)

    def _call_of_cause(self, name: str, known: Function, node: ast.Call) -> CheckedExpression:
        args = [self.of(argument) for argument in node.args]
        named = {str(word.arg): self.of(word.value) for word in node.keywords}
        fits = len(args) == len(known.takes) and all(a.shape == t for a, t in zip(args, known.takes, strict=False))
        if not fits or any(known.named.get(word) is not part.shape for word, part in named.items()):
            takes = [shape.value for shape in known.takes] + [
                f"{word}={kind.value}" for word, kind in known.named.items()
            ]
            raise ExpressionError(f"{name} takes {', '.join(takes)}")
        if fault := known.refuses(*[each.value if isinstance(each, ast.Constant) else None for each in node.args]):
            raise ExpressionError(fault)
        evaluators, words = [arg.evaluate for arg in args], {word: part.evaluate for word, part in named.items()}

        def evaluate(scope: Scope) -> Value:
            values = [each(scope) for each in evaluators]
            more = {word: each(scope) for word, each in words.items()}
            for value in (*values, *more.values()):
                if isinstance(value, Unknown):
                    return value
            return known.evaluate(scope.snapshot, *values, **more)

        return joined(
            known.gives, evaluate, CheckedExpression(ValueKind.TRUTH, evaluate, known.probes), *args, *named.values()
        )

    def _call_for_any(self, name: str, node: ast.Call) -> CheckedExpression:
        """What can be asked of several parts, of a truth, or of anything."""
        if node.keywords or not node.args or len(node.args) != (2 if name in ("highest", "lowest", "joined") else 1):
            raise ExpressionError(f"{name} takes {OF_ANY[name]}")
        first = node.args[0]
        if name == "any" and isinstance(first, ast.GeneratorExp):
            item, several = self._loop(first.generators)
            (held,) = self._check_all([first.elt], ValueKind.TRUTH, "any")
            self.without(item)
            return joined(ValueKind.TRUTH, _any_holds(item, several, held), several, held)
        if name == "unread" and isinstance(first, ast.Name) and first.id in self._askable:
            kind = self._words.readings[first.id]
            return CheckedExpression(
                ValueKind.TRUTH, lambda scope: isinstance(scope.snapshot.get(kind), Unread), (first.id,)
            )
        if name == "surely":
            (held,) = self._check_all([first], ValueKind.TRUTH, name)
            evaluate = held.evaluate
            return joined(ValueKind.TRUTH, lambda scope: truth(evaluate(scope)) is True, held)
        whole = self.of(first)
        if name == "unread":
            evaluate = whole.evaluate
            return joined(ValueKind.TRUTH, lambda scope: isinstance(evaluate(scope), Unknown), whole)
        if name == "joined" and whole.shape is ValueKind.TEXTS and isinstance(node.args[1], ast.Constant):
            between = str(node.args[1].value)
            return joined(ValueKind.TEXT, _apply_to_known(lambda texts: between.join(texts), whole), whole)
        of = whole.shape.of if isinstance(whole.shape, Many) else _OF_LISTS.get(whole.shape)  # type: ignore[arg-type]
        if name == "sum" and whole.shape is ValueKind.NUMBERS:
            return joined(ValueKind.NUMBER, _apply_to_known(sum, whole), whole)
        if name in ("largest", "smallest") and whole.shape is ValueKind.NUMBERS:
            choose, missing = (max if name == "largest" else min), Unknown("there is none")
            return joined(
                ValueKind.NUMBER, _apply_to_known(lambda some: choose(some) if some else missing, whole), whole
            )
        if name == "distinct" and whole.shape in _OF_LISTS:
            return joined(whole.shape, _apply_to_known(lambda values: tuple(sorted(set(values))), whole), whole)
        if name == "count" and of is not None:
            return joined(ValueKind.NUMBER, _apply_to_known(len, whole), whole)
        if name in ("first", "last") and of is not None:
            at = 0 if name == "first" else -1
            missing = Unknown(f"{expression_text(first)} has none")
            return joined(of, _apply_to_known(lambda some: some[at] if some else missing, whole), whole)
        if not isinstance(whole.shape, Many) or name not in ("highest", "lowest"):
            raise ExpressionError(f"{name} takes {OF_ANY[name]}, and {expression_text(first)} is {whole.shape.value}")
        return self._item_with_extreme(max if name == "highest" else min, whole, node.args[1])

    def _item_with_extreme(self, choose: Worked, whole: CheckedExpression, by: ast.expr) -> CheckedExpression:
        assert isinstance(whole.shape, Many)
        usable = shapes_of(whole.shape.of.type)  # type: ignore[arg-type]  # a class is hashable
        name = by.value if isinstance(by, ast.Constant) else ""
        if usable.get(str(name)) is not ValueKind.NUMBER:
            numbers = sorted(each for each, shape in usable.items() if shape is ValueKind.NUMBER)
            raise ExpressionError(f'{expression_text(by)} is no number of {whole.shape.of.value}; write "{numbers[0]}"')
        missing = Unknown("there is none")

        def evaluate(several: Any) -> Value:
            return choose(several, key=lambda one: _language_value(getattr(one, str(name)), "")) if several else missing

        return joined(whole.shape.of, _apply_to_known(evaluate, whole), whole)


OF_ANY = {
    "surely": "a yes or no",
    "unread": "a reading, a field, or a name",
    "any": "a yes or no for each: any(volume.queue_length > 9 for volume in ebs.volumes)",
    "count": "several",
    "first": "several",
    "last": "several",
    "highest": 'several, and the name of a number: highest(kernel_limits.limits, "used_percent")',
    "lowest": 'several, and the name of a number: lowest(filesystems.rooms, "free_percent")',
    "sum": "numbers: sum([volume.queue_length for volume in ebs.volumes])",
    "largest": "numbers",
    "smallest": "numbers",
    "distinct": "texts or numbers: distinct([line.core for line in lines])",
    "joined": 'texts, and what stands between them: joined(kernel_log.kinds, ", ")',
}
_AS_IT_IS = frozenset({bool, int, float, str, tuple})
_LISTS = {ValueKind.TEXT: ValueKind.TEXTS, ValueKind.NUMBER: ValueKind.NUMBERS}
_OF_LISTS = {ValueKind.TEXTS: ValueKind.TEXT, ValueKind.NUMBERS: ValueKind.NUMBER}


def _apply_to_known(function: Evaluate, part: CheckedExpression) -> Evaluate:
    evaluate = part.evaluate

    def known(scope: Scope) -> Value:
        value = evaluate(scope)
        return value if isinstance(value, Unknown) else function(value)

    return known


def _if_else(condition: CheckedExpression, yes: CheckedExpression, no: CheckedExpression) -> Evaluate:
    def evaluate(scope: Scope) -> Value:
        held = truth(condition.evaluate(scope))
        return held if isinstance(held, Unknown) else (yes if held else no).evaluate(scope)

    return evaluate


def _reading_field(kind: Any, probe: str, name: str) -> Evaluate:
    what = f"{probe}.{name}"

    def evaluate(scope: Scope) -> Value:
        reading = scope.snapshot.get(kind)
        if isinstance(reading, Unread):
            return Unknown(f"{probe} was not read ({reading.reason})")
        return _language_value(getattr(reading, name), what)

    return evaluate


def _filtered(name: str, several: CheckedExpression, conditions: list[CheckedExpression]) -> CheckedExpression:
    def evaluate(scope: Scope) -> Value:
        found = several.evaluate(scope)
        if isinstance(found, Unknown):
            return found
        chosen = []
        for scope.items[name] in found:
            held = [truth(condition.evaluate(scope)) for condition in conditions]
            open_ = next((each for each in held if isinstance(each, Unknown)), None)
            if open_ is not None:
                return open_
            if all(held):
                chosen.append(scope.items[name])
        return tuple(chosen)

    return joined(several.shape, evaluate, several, *conditions)


def _mapped(name: str, several: CheckedExpression, chosen: CheckedExpression, shape: Shape) -> CheckedExpression:
    def evaluate(scope: Scope) -> Value:
        found = several.evaluate(scope)
        if isinstance(found, Unknown):
            return found
        values = []
        for scope.items[name] in found:
            values.append(chosen.evaluate(scope))
        return next((value for value in values if isinstance(value, Unknown)), tuple(values))

    return joined(shape, evaluate, several, chosen)


def _any_holds(name: str, several: CheckedExpression, held: CheckedExpression) -> Evaluate:
    def evaluate(scope: Scope) -> Truth:
        found = several.evaluate(scope)
        if isinstance(found, Unknown):
            return found
        truths = []
        for scope.items[name] in found:
            truths.append(truth(held.evaluate(scope)))
        return any_of(*truths)

    return evaluate


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


def _language_value(value: Any, what: str) -> Value:
    if type(value) in _AS_IT_IS:
        return value
    if value is None:
        return Unknown(f"{what} is not reported by this node")
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.timestamp() if isinstance(value, datetime) else value


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
