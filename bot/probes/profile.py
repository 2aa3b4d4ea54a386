"""What perf saw the hottest core do: no question of a check's own, but put into a snapshot by a capture.

A capture costs the node more than a check may (perf records it for seconds), so it is made only where somebody asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

MEMCG_WALK = "memcg-walk"  # the signature of a walk over all memory cgroups


@dataclass(frozen=True, slots=True)
class ProfileReading:
    """The function that the hottest core was in most often.

    Shape: `core` None where the text named none; `signature` and `does` as the table of known functions has them, empty
    where it does not know the function; `under` are its callers, innermost first; `has_names` False where the kernel
    hid the names of its functions. Everything is safe to show.
    Units: `share_of_core` from 0 to 1, of all samples of that core.
    """

    probe: ClassVar[str] = "profile"

    core: int | None
    process: str
    pid: int
    function: str
    share_of_core: float
    samples: int
    seconds: float
    signature: str = ""
    does: str = ""
    under: tuple[str, ...] = ()
    has_names: bool = True

    @property
    def says(self) -> str:
        """What was seen, in words."""
        where = "the node" if self.core is None else f"core {self.core}"
        what = f"perf saw {where} in {self.function} for {self.share_of_core:.0%} of {self.samples:,} samples"
        meant = f", which {self.does}" if self.does else ""
        return f"{what}, run by {self.process} (pid {self.pid}){meant}"

    @property
    def source(self) -> tuple[str, ...]:
        """The stack as perf printed it, innermost first."""
        return (self.function, *self.under[:5])
