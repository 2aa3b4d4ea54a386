"""What is remembered of the latest things only, so that memory stays bounded."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """A dictionary of the `most` things set last; whatever was set longest ago is forgotten first."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class RecentDeliveries(BoundedDict[str, None]):
    """The names of the deliveries that came last: each may come more than once."""

    def note_if_new(self, name: str) -> bool:
        """Note a delivery; False if it was noted before."""
        if name in self:
            return False
        self[name] = None
        return True
