"""Kernel functions known to use up a core, and what that means.

Source: `playbooks/tables/functions.toml`, which says what its columns are; a site's rows come after ours. A name is a
place, not yet a cause: `cgroup_rstat_flush` walks what changed, on any busy node; a spin lock says nothing without its
caller. So the frames are checked from the innermost outwards, and a lock is shown with its caller.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bot.domain.builtin_playbooks import SiteRows, builtin_rows

MOST_FRAMES = 12  # from the innermost: outer frames call for many reasons
LOCK = "lock-wait"
_COMPILERS = r"(?:\.[a-z0-9.]+)?"  # they add .constprop.0, .isra.0 and the like to a function's name


class Pattern(Protocol):
    """A compiled pattern of `re` or of re2."""

    def fullmatch(self, string: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Signature:
    """A row: its name, the functions, what they do, the cause they point at (empty: none by itself), the source."""

    name: str
    functions: Pattern
    does: str
    points_at: str
    source: str


def whole_names(functions: str) -> str:
    """Return the pattern of whole names of functions, as compilers may write them."""
    return f"(?:{functions}){_COMPILERS}"


@functools.cache
def own_signatures() -> tuple[Signature, ...]:
    """Return our rows.

    Raises: OSError or ValueError when our table cannot be read.
    """
    return tuple(
        Signature(name, re.compile(whole_names(row["functions"])), row["does"], row.get("points_at", ""), row["from"])
        for name, row in builtin_rows("functions").items()
    )


SIGNATURES_OF_SITES: SiteRows[Signature] = SiteRows()


def signature_of(frames: Sequence[str]) -> tuple[Signature | None, Signature | None]:
    """Return the row of the innermost known frame, and for a lock the row above it.

    Example:
    >>> [row and row.name for row in signature_of(["native_queued_spin_lock_slowpath", "shrink_lruvec"])]
    ['lock-wait', 'reclaim']
    """
    known = [row for frame in frames[:MOST_FRAMES] if (row := _signature_of_function(frame)) is not None]
    first = known[0] if known else None
    is_lock = first is not None and first.name == LOCK
    above = next((row for row in known if row.name != LOCK), None) if is_lock else None
    return first, above


def _signature_of_function(function: str) -> Signature | None:
    return next((row for row in (*own_signatures(), *SIGNATURES_OF_SITES) if row.functions.fullmatch(function)), None)
