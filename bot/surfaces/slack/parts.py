"""The remembered parts of cards: those of open cards, and those not posted yet."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from bot.surfaces.slack.part import MessageTarget, Part, Say

CARD = "card"


class Parts:
    """Remembers the parts of cards. A part that is forgotten and made again would be posted a second time."""

    def __init__(self) -> None:
        self._cards: dict[str, dict[str, Part]] = {}
        self._open: set[str] = set()  # cards that are not finished
        self._in_use = Counter[str]()

    def __iter__(self) -> Iterator[Part]:
        return (part for parts in list(self._cards.values()) for part in list(parts.values()))

    @property
    def open(self) -> int:
        """How many cards are not finished."""
        return len(self._open)

    def is_open(self, card: str) -> bool:
        """True for a card that is not finished."""
        return card in self._open

    def get(self, card: str, name: str = CARD) -> Part | None:
        """Return a part if it is remembered."""
        return self._cards.get(card, {}).get(name)

    def add(self, part: Part) -> None:
        """Remember a part; it replaces a part of the same name."""
        self._cards.setdefault(part.card, {})[part.name] = part

    def part(self, card: str, name: str, target: MessageTarget, say: Say, under: str = "") -> Part:
        """Return a part, made new if it is not remembered; a new card is open."""
        known = self.get(card, name)
        if known is None:
            known = Part(card, name, target, say, under, self.get(card, under))
            self.add(known)
            if name == CARD:
                self._open.add(card)
        return known

    def open_again(self, card: str) -> None:
        """Note that a card is not finished."""
        self._open.add(card)

    def finish(self, card: str) -> None:
        """Note that a card will not change again, and forget its posted parts."""
        self._open.discard(card)
        self._forget_of(card)

    def hold(self, card: str) -> None:
        """Forget nothing of a card, even if finished, until `let_go` was called as often as `hold`."""
        self._in_use[card] += 1

    def let_go(self, card: str) -> None:
        """Take back a `hold`."""
        self._in_use[card] -= 1
        if not self._in_use[card]:
            del self._in_use[card]
            self._forget_of(card)

    @contextlib.contextmanager
    def in_use(self, card: str) -> Iterator[None]:
        """Hold a card while the block runs."""
        self.hold(card)
        try:
            yield
        finally:
            self.let_go(card)

    def forget(self, part: Part) -> None:
        """Forget a part unless its card is open or in use, or it is being sent."""
        if part.card in self._open or part.card in self._in_use:
            return
        if part.worker is not None and not part.worker.done():
            return
        parts = self._cards.get(part.card, {})
        if parts.get(part.name) is part:
            del parts[part.name]
        if not parts:
            self._cards.pop(part.card, None)

    def _forget_of(self, card: str) -> None:
        for part in list(self._cards.get(card, {}).values()):
            self.forget(part)
