"""A relapse: a node had the same cause before; how often, how soon it came back, and which remedy did not last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Relapse:
    """What the ledger knows about the same cause on the same node.

    Shape: `times` includes this incident, so it is at least two; `within` is how far back the ledger was searched.
    `apart` is the mean time between incidents; if `cured` (the bot's remedy was proved in between), it is the time from
    the remedy to the return. `rebooted` says that those remedies included a reboot. `tried` are the incidents in which
    the same remedy was carried out that would help now.
    """

    times: int
    within: timedelta
    apart: timedelta = timedelta(0)
    cured: bool = False
    rebooted: bool = False
    tried: tuple[str, ...] = ()
