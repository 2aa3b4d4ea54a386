"""How many of the selected nodes are read: all, a number, or a share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bot.domain.errors import UsageError
from bot.domain.safe_text import one_line

T = TypeVar("T")
_TEXT = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)(%?)\Z", re.ASCII)


class Randomness(Protocol):
    """A source of randomness: `random.Random` or `random.SystemRandom`."""

    def sample(self, population: Sequence[int], k: int) -> list[int]:
        """Return k members of the population, all equally likely."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A share of the nodes in percent, or a number of nodes."""

    percent: float = 0.0
    count: int = 0

    @classmethod
    def of(cls, text: str) -> Sample:
        """Return the sample written as `5%` or `20`.

        Raises: UsageError for anything else, and for zero.

        Example:
        >>> Sample.of("5%").size(41), Sample.of("20").size(41), Sample.of("20").size(7)
        (3, 20, 7)
        """
        found = _TEXT.match(text.strip())
        if found is not None and found[2] and 0 < float(found[1]) <= 100:
            return cls(percent=float(found[1]))
        if found is not None and not found[2] and "." not in found[1] and int(found[1]):
            return cls(count=int(found[1]))
        raise UsageError(f"“{one_line(text, 40)}” is no sample.", "Write a share such as 5%, or a number such as 20.")

    def size(self, of: int) -> int:
        """Return how many of `of` nodes are read: at least 1, unless there are none."""
        wanted = self.count if self.count else math.ceil(round(of * self.percent / 100, 9))
        return min(of, max(1, wanted))

    def draw(self, items: Sequence[T], chance: Randomness) -> tuple[T, ...]:
        """Return a sample in which all items are equally likely, in the items' order."""
        if not items:
            return ()
        return tuple(items[at] for at in sorted(chance.sample(range(len(items)), self.size(len(items)))))
