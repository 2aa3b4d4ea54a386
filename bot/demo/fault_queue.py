"""Faults that wait for the calls they are meant for, in the order in which they were asked for."""

from __future__ import annotations

from typing import Generic, TypeVar

EVERYTHING = "*"

F = TypeVar("F")


class FaultQueue(Generic[F]):
    """Each fault waits for a call, or for every one, and is spent after so many times."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, F, int]] = []

    def add(self, call: str, fault: F, times: int) -> None:
        """Have the next calls of that name, so many times, meet the fault."""
        self._waiting.append((call, fault, times))

    def clear(self) -> None:
        """Let everything go well again."""
        self._waiting.clear()

    def take(self, call: str) -> F | None:
        """Return the next fault for this call, which is spent by it."""
        for index, (wanted, fault, times) in enumerate(self._waiting):
            if wanted in (call, EVERYTHING):
                if times == 1:
                    del self._waiting[index]
                else:
                    self._waiting[index] = (wanted, fault, times - 1)
                return fault
        return None
