"""The other half of the fault schedules, and those that only `./zombie test all` draws: 10,000 with the usual ones."""

import pytest

from tests.contract.test_fault_schedules import PARTS, SCHEDULES
from tests.schedules.drawn import drawn

ALL, ALL_PARTS = 10_000, 40


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS // 2, PARTS))
def test_whatever_dies_a_node_is_rebooted_once_and_every_incident_ends(part: int) -> None:
    drawn(part, SCHEDULES // PARTS)


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.parametrize("part", range(PARTS, PARTS + ALL_PARTS))
def test_so_it_is_in_many_more(part: int) -> None:
    drawn(part, max(0, ALL - SCHEDULES) // ALL_PARTS)
