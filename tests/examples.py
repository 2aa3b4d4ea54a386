"""How many examples of a property are drawn: a quarter each time, and all of them by `./zombie test all`."""

from __future__ import annotations

import os

import hypothesis

SHARE = 1 if os.environ.get("ZOMBIE_EXAMPLES") == "all" else 4


def up_to(number: int) -> int:
    """Return how many of so many examples this run draws."""
    return -(-number // SHARE)


# A loaded machine takes its time: what an example costs is nothing to judge here.
hypothesis.settings.register_profile("any-machine", deadline=None, max_examples=up_to(100))
