"""Whatever dies, freezes, breaks or comes twice: one reboot at most, every incident has an end, the record is whole.

A twentieth of them is drawn each time: each of the mended holes that `test_mutations.py` puts back is found by one of
those. The others are drawn by `./zombie test long`, and 10,000 in all by `./zombie test all`. Set ZOMBIE_SCHEDULES to
draw another number each time.
"""

import os

import pytest

from tests.schedules.drawn import USUAL, USUAL_PARTS, drawn

SCHEDULES = int(os.environ.get("ZOMBIE_SCHEDULES", USUAL))
LONG, LONG_PARTS = 2_000, 10
ALL, ALL_PARTS = 10_000, 40


@pytest.mark.slow
@pytest.mark.parametrize("part", range(USUAL_PARTS))
def test_whatever_dies_a_node_is_rebooted_once_and_every_incident_ends(part: int) -> None:
    drawn(part, SCHEDULES // USUAL_PARTS)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("part", range(LONG_PARTS))
def test_so_it_is_in_more(part: int) -> None:
    drawn(part, LONG // LONG_PARTS)


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.parametrize("part", range(LONG_PARTS, LONG_PARTS + ALL_PARTS))
def test_so_it_is_in_many_more(part: int) -> None:
    drawn(part, (ALL - LONG) // ALL_PARTS)
