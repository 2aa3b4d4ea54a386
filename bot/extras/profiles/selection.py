"""Which events of a profile are selected: a core, a process, a range of seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected events; by default all.

    Shape: `process` is the whole name, as printed. `between` are seconds from the earliest event, the first included,
    the second excluded. `without` is a process to leave out: the recorder itself, whose work is not the node's.
    """

    core: int | None = None
    process: str | None = None
    between: tuple[float, float] | None = None
    without: str | None = None

    def __str__(self) -> str:
        """Describe it; empty for all events.

        Example:
        >>> str(Selection(core=39, between=(2.0, 3.5)))
        'core 39, from 2 to 3.5 s'
        """
        parts = [] if self.core is None else [f"core {self.core}"]
        parts += [] if self.process is None else [f"process {self.process}"]
        parts += [] if self.between is None else [f"from {self.between[0]:g} to {self.between[1]:g} s"]
        return ", ".join(parts)
