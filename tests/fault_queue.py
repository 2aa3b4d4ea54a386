"""A queue of faults, each for the next calls of a name."""

from __future__ import annotations

from typing import Generic, TypeVar

EVERYTHING = "*"

F = TypeVar("F")


class FaultQueue(Generic[F]):
    """Holds faults until a matching call takes them."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, F, int]] = []

    def add(self, call: str, fault: F, times: int) -> None:
        """Give this fault to the next `times` calls of that name."""
        self._waiting.append((call, fault, times))

    def clear(self) -> None:
        """Forget all faults."""
        self._waiting.clear()

    def take(self, call: str) -> F | None:
        """Take the next fault for this call from the queue, None if there is none."""
        for index, (wanted, fault, times) in enumerate(self._waiting):
            if wanted in (call, EVERYTHING):
                if times == 1:
                    del self._waiting[index]
                else:
                    self._waiting[index] = (wanted, fault, times - 1)
                return fault
        return None
