"""How many of the nodes that somebody means are read: all, a number, or a share."""

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


class Chance(Protocol):
    """Where chance comes from: `random.Random`, or the system's own."""

    def sample(self, population: Sequence[int], k: int) -> list[int]:
        """Return k of the population, each as likely as any other."""
        ...


@dataclass(frozen=True, slots=True)
class Sample:
    """A share of the nodes, in percent, or a number of them."""

    percent: float = 0.0
    count: int = 0

    @classmethod
    def of(cls, text: str) -> Sample:
        """Return what `5%` or `20` says.

        Raises: UsageError for anything else, and for none at all.

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
        """Return how many of so many are taken; one at least, where there is one."""
        wanted = self.count if self.count else math.ceil(round(of * self.percent / 100, 9))
        return min(of, max(1, wanted))

    def draw(self, items: Sequence[T], chance: Chance) -> tuple[T, ...]:
        """Return a sample in which each item is as likely as any other, in the items' own order."""
        if not items:
            return ()
        return tuple(items[at] for at in sorted(chance.sample(range(len(items)), self.size(len(items)))))
