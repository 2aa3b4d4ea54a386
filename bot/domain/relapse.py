"""That a node had the same cause before: how often, how soon it came back, and what did not last."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Relapse:
    """What the record knows of the same cause on the same node.

    Shape: `times` counts this one too, so that it is two at least; `within` is how far back was looked. `apart` is the
    mean time from one to the next; from the remedy to the return where `cured` (the bot's remedy was proved in
    between), and `rebooted` says that those remedies had a reboot. `tried` are the incidents in which the very remedy
    that would help now was carried out.
    """

    times: int
    within: timedelta
    apart: timedelta = timedelta(0)
    cured: bool = False
    rebooted: bool = False
    tried: tuple[str, ...] = ()
