"""What a profile shows of a held core: the walk over memory cgroups, or something else."""

from __future__ import annotations

from bot.causes._held_cores import HeldCores
from bot.domain.probe import Snapshot, Unread
from bot.probes.profile import MEMCG_WALK, ProfileReading

# In the first known case nearly all of the core's samples were in the walk; half leaves room for other work there.
_MOST_OF_A_CORE = 0.5


def walk_seen(snapshot: Snapshot) -> ProfileReading | None:
    """Return the profile if its hottest core spent most of its time in the walk."""
    seen = snapshot.get(ProfileReading)
    if isinstance(seen, Unread) or seen.signature != MEMCG_WALK or seen.share_of_core < _MOST_OF_A_CORE:
        return None
    return seen


def something_else(snapshot: Snapshot, held: HeldCores) -> ProfileReading | None:
    """Return the profile if a held core spent most of its time in a named function other than the walk."""
    seen = snapshot.get(ProfileReading)
    if isinstance(seen, Unread) or not seen.has_names or seen.signature == MEMCG_WALK:
        return None
    is_held = seen.core is not None and any(core.core == seen.core for core in held.cores)
    return seen if is_held and seen.share_of_core >= _MOST_OF_A_CORE else None
