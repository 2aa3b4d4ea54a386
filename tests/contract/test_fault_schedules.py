"""Whatever dies, freezes, breaks or comes twice: one reboot at most, every incident has an end, the record is whole.

Set ZOMBIE_SCHEDULES to draw more than the usual number. Half of them are drawn here, and half in
`test_further_fault_schedules.py`, so that two cores share them.
"""

import os

import pytest

from tests.schedules.drawn import drawn

SCHEDULES = int(os.environ.get("ZOMBIE_SCHEDULES", "2000"))
PARTS = 10


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS // 2))
def test_whatever_dies_a_node_is_rebooted_once_and_every_incident_ends(part: int) -> None:
    drawn(part, SCHEDULES // PARTS)
