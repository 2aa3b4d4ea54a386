"""Which events of a profile are looked at: a core, a process, a range of seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """What is looked at; without anything, all of it.

    Shape: `process` is the whole name, as it is printed. `between` are seconds from the earliest event, the first
    within, the second not. `without` is a process that is left out: whoever records, whose work is none of the node's.
    """

    core: int | None = None
    process: str | None = None
    between: tuple[float, float] | None = None
    without: str | None = None

    def __str__(self) -> str:
        """Say it in words; empty for all.

        Example:
        >>> str(Selection(core=39, between=(2.0, 3.5)))
        'core 39, from 2 to 3.5 s'
        """
        parts = [] if self.core is None else [f"core {self.core}"]
        parts += [] if self.process is None else [f"process {self.process}"]
        parts += [] if self.between is None else [f"from {self.between[0]:g} to {self.between[1]:g} s"]
        return ", ".join(parts)
