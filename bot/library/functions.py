"""The functions of causes' files: what each takes, what it gives, and what works it out.

Shape: those that read a node are beside the causes, in `bot/causes/declared.py`; those of numbers are in `kleene.py`.
What is asked of a part as it is written (`any`, `highest`, `surely`, `unread`) is in `language.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bot.library.kinds import Shape, ValueKind, item_shape
from bot.library.kleene import Value

Worked: TypeAlias = Callable[..., Value]
Refusal: TypeAlias = Callable[..., str]  # what is wrong with arguments that are written out; empty if nothing is

NODE = "node"


class Follows(enum.Enum):
    """What a function takes or gives, where that follows from what it is called with."""

    SEVERAL = "several"  # parts of a reading, texts or numbers
    VALUES = "a list of texts or numbers"
    SAME = "what it takes"
    ONE = "one of those"


@dataclass(frozen=True, slots=True)
class Function:
    """A function. `evaluate` takes the arguments, none of them unknown, after what it is of; None: there is none.

    Shape: it is `of` the probe whose reading it takes, of the whole `NODE`, or of nothing but its arguments. `probes`
    are those that it looks at besides.
    """

    takes: tuple[Shape | Follows, ...]
    gives: Shape | Follows
    evaluate: Worked
    named: Mapping[str, Shape] = field(default_factory=dict)
    of: str = ""
    probes: tuple[str, ...] = ()
    refuses: Refusal = lambda *given: ""

    @property
    def takes_words(self) -> str:
        """What it is called with."""
        return ", ".join([each.value for each in self.takes] + [f"{word}={k.value}" for word, k in self.named.items()])

    def accepts(self, given: list[Shape], named: Mapping[str, Shape]) -> bool:
        """Return whether it can be called with these."""
        fits = len(given) == len(self.takes) and all(map(_fits, self.takes, given))
        return fits and all(self.named.get(word) is shape for word, shape in named.items())

    def given_for(self, given: list[Shape]) -> Shape:
        """Return what it gives for arguments that it accepts."""
        if not isinstance(self.gives, Follows):
            return self.gives
        item = item_shape(given[0])
        return item if self.gives is Follows.ONE and item is not None else given[0]


def _fits(takes: Shape | Follows, given: Shape) -> bool:
    if takes is Follows.SEVERAL:
        return item_shape(given) is not None
    if takes is Follows.VALUES:
        return given in (ValueKind.TEXTS, ValueKind.NUMBERS)
    return given == takes


def _first(several: tuple[Any, ...]) -> Any:
    return several[0] if several else None


def _last(several: tuple[Any, ...]) -> Any:
    return several[-1] if several else None


def _largest(numbers: tuple[float, ...]) -> float | None:
    return max(numbers, default=None)


def _smallest(numbers: tuple[float, ...]) -> float | None:
    return min(numbers, default=None)


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(set(values)))


def _joined(texts: tuple[str, ...], between: str) -> str:
    return between.join(texts)


OF_SEVERAL: Mapping[str, Function] = {
    "count": Function((Follows.SEVERAL,), ValueKind.NUMBER, len),
    "first": Function((Follows.SEVERAL,), Follows.ONE, _first),
    "last": Function((Follows.SEVERAL,), Follows.ONE, _last),
    "sum": Function((ValueKind.NUMBERS,), ValueKind.NUMBER, sum),
    "largest": Function((ValueKind.NUMBERS,), ValueKind.NUMBER, _largest),
    "smallest": Function((ValueKind.NUMBERS,), ValueKind.NUMBER, _smallest),
    "distinct": Function((Follows.VALUES,), Follows.SAME, _distinct),
    "joined": Function((ValueKind.TEXTS, ValueKind.TEXT), ValueKind.TEXT, _joined),
}
