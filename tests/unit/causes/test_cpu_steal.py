"""Time that the hypervisor gives to others."""

import pytest

from bot.domain.verdict import Status
from tests.unit.causes import builders as b
from tests.unit.causes.builders import found, ruled_out, undecided

STEAL = "cpu-steal"


@pytest.mark.parametrize(
    ("stolen", "status"), [(4.0, None), (6.0, Status.DEGRADED), (29.0, Status.DEGRADED), (31.0, Status.CRITICAL)]
)
def test_stolen_time_over_all_cores(stolen: float, status: Status | None) -> None:
    cores = b.cpu({core: {"steal": stolen} for core in range(8)})
    if status is None:
        ruled_out(STEAL, cores)
    else:
        assert (found(STEAL, cores).status, found(STEAL, cores).remedy) == (status, ())


def test_one_core_that_is_stolen_for_seconds_counts() -> None:
    one = {3: {"usr": 5.0, "steal": 70.0}}
    finding = found(STEAL, b.cpu(one, cores=96, hot_for=2))
    assert finding.status is Status.DEGRADED
    assert "of core 3's" in finding.summary
    ruled_out(STEAL, b.cpu(one, cores=96, hot_for=1))
    undecided(STEAL, b.unread("cpu"))


def test_four_cores_of_many_that_lose_nearly_half_count() -> None:
    finding = found(STEAL, b.cpu({core: {"usr": 20.0, "steal": 45.0} for core in range(4)}, cores=96))
    assert finding.status is Status.DEGRADED
    ruled_out(STEAL, b.cpu({core: {"usr": 20.0, "steal": 12.0} for core in range(4)}, cores=96))
