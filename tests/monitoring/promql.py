"""A strict reader of PromQL: what Prometheus would refuse is refused here, by grammar and by type.

Defined in https://prometheus.io/docs/prometheus/latest/querying/basics/ and …/operators/ and …/functions/; of the
functions only those that are used are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SCALAR, VECTOR, RANGE, TEXT = "scalar", "instant vector", "range vector", "string"
FUNCTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "rate": ((RANGE,), VECTOR),
    "increase": ((RANGE,), VECTOR),
    "delta": ((RANGE,), VECTOR),
    "deriv": ((RANGE,), VECTOR),
    "max_over_time": ((RANGE,), VECTOR),
    "min_over_time": ((RANGE,), VECTOR),
    "absent": ((VECTOR,), VECTOR),
    "clamp_min": ((VECTOR, SCALAR), VECTOR),
    "histogram_quantile": ((SCALAR, VECTOR), VECTOR),
    "time": ((), SCALAR),
}
AGGREGATORS = {"sum", "max", "min", "avg", "count"}
RANKING = {"topk", "bottomk"}
LEVELS = (("or",), ("and", "unless"), ("==", "!=", ">", "<", ">=", "<="), ("+", "-"), ("*", "/", "%"))
SETS = {"or", "and", "unless"}
DURATION = r"(?:\d+(?:ms|[smhdwy]))+"
_TOKEN = re.compile(
    rf"""\s*(?:(?P<comment>\#[^\n]*)|(?P<duration>{DURATION})|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)"""
    r"""|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)"""
    r"""|(?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^=<>(){}\[\],]))"""
)


class NotPromql(ValueError):
    """Prometheus would not take it."""


@dataclass(frozen=True)
class Selector:
    """The series that a query asks for: a name, and its matchers as (label, operator, value)."""

    name: str
    matchers: tuple[tuple[str, str, str], ...] = ()


@dataclass
class _Reader:
    text: str
    tokens: list[tuple[str, str]] = field(default_factory=list)
    at: int = 0
    found: list[Selector] = field(default_factory=list)
    selector_ended: int = -1

    def __post_init__(self) -> None:
        where, text = 0, self.text.rstrip()
        while where < len(text):
            match = _TOKEN.match(text, where)
            if match is None:
                raise NotPromql(f"{text[where : where + 20]!r} is no token in {text!r}")
            if match.lastgroup != "comment":
                self.tokens.append((str(match.lastgroup), match.group().strip()))
            where = match.end()

    # --- tokens

    @property
    def next(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else "end"

    def take(self, wanted: str = "", kind: str = "") -> str:
        if (wanted and self.next != wanted) or (kind and self.kind != kind) or self.kind == "end":
            raise NotPromql(f"{wanted or kind} expected at {self.next or 'the end'!r} of {self.text!r}")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def took(self, wanted: str) -> bool:
        if self.next == wanted and self.kind in ("name", "sign"):
            self.at += 1
            return True
        return False

    # --- grammar

    def binary(self, level: int = 0) -> str:
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.next in LEVELS[level] and self.kind in ("name", "sign"):
            operator = self.take()
            is_bool = level == 2 and self.took("bool")
            self.matching()
            right = self.binary(level + 1)
            if {left, right} - {SCALAR, VECTOR} or (operator in SETS and SCALAR in (left, right)):
                raise NotPromql(f"{operator} between {left} and {right} in {self.text!r}")
            if level == 2 and left == right == SCALAR and not is_bool:
                raise NotPromql(f"two scalars are compared without bool in {self.text!r}")
            left = VECTOR if VECTOR in (left, right) else SCALAR
        return left

    def matching(self) -> None:
        if self.took("on") or self.took("ignoring"):
            self.labels()
            if (self.took("group_left") or self.took("group_right")) and self.next == "(":
                self.labels()

    def unary(self) -> str:
        if self.took("-") or self.took("+"):
            return self.unary()
        kind = self.postfix()
        if self.took("^"):
            self.unary()
        return kind

    def postfix(self) -> str:
        kind = self.primary()
        is_selector = self.selector_ended == self.at
        if self.took("["):
            self.take(kind="duration")
            self.take("]")
            if not is_selector:
                raise NotPromql(f"a range of what is no selector in {self.text!r}")
            kind = RANGE
        if self.took("offset"):
            self.take(kind="duration")
        return kind

    def primary(self) -> str:
        if self.took("("):
            kind = self.binary()
            self.take(")")
            return kind
        if self.kind == "number":
            self.take()
            return SCALAR
        if self.kind == "text":
            self.take()
            return TEXT
        if self.next == "{":
            return self.selector("")
        name = self.take(kind="name")
        if name in AGGREGATORS | RANKING:
            return self.aggregation(name)
        if self.next == "(":
            return self.call(name)
        return self.selector(name)

    def aggregation(self, name: str) -> str:
        grouped = self.grouping()
        self.take("(")
        if name in RANKING:
            if self.binary() != SCALAR:
                raise NotPromql(f"{name} of how many in {self.text!r}")
            self.take(",")
        if self.binary() != VECTOR:
            raise NotPromql(f"{name} of what is no instant vector in {self.text!r}")
        self.take(")")
        if not grouped:
            self.grouping()
        return VECTOR

    def grouping(self) -> bool:
        if self.took("by") or self.took("without"):
            self.labels()
            return True
        return False

    def labels(self) -> None:
        self.take("(")
        while not self.took(")"):
            if ":" in self.take(kind="name"):
                raise NotPromql(f"no label in {self.text!r}")
            if self.next != ")":
                self.take(",")

    def call(self, name: str) -> str:
        if name not in FUNCTIONS:
            raise NotPromql(f"{name} is no function in {self.text!r}")
        wanted, kind = FUNCTIONS[name]
        self.take("(")
        given = []
        while not self.took(")"):
            given.append(self.binary())
            if self.next != ")":
                self.take(",")
        if tuple(given) != wanted:
            raise NotPromql(f"{name} takes {wanted}, not {given}, in {self.text!r}")
        return kind

    def selector(self, name: str) -> str:
        matchers = []
        if self.took("{"):
            while not self.took("}"):
                label = self.take(kind="name")
                operator = self.take(kind="sign")
                if operator not in ("=", "!=", "=~", "!~"):
                    raise NotPromql(f"{operator} matches no label in {self.text!r}")
                value = self.take(kind="text")[1:-1]
                if "~" in operator:
                    re.compile(value)
                matchers.append((label, operator, value))
                if self.next != "}":
                    self.take(",")
        if not name and not matchers:
            raise NotPromql(f"a selector of everything in {self.text!r}")
        self.found.append(Selector(name, tuple(matchers)))
        self.selector_ended = self.at
        return VECTOR


def selectors(query: str) -> tuple[Selector, ...]:
    """Return what a query asks for.

    Raises: NotPromql when it is none, or gives no instant vector or scalar.
    """
    reader = _Reader(query)
    kind = reader.binary()
    if reader.kind != "end":
        raise NotPromql(f"{reader.next!r} is left over in {query!r}")
    if kind not in (VECTOR, SCALAR):
        raise NotPromql(f"{query!r} is a {kind}")
    return tuple(reader.found)
