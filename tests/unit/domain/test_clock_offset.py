"""The kernel log's clock against perf's: a planted drift is found, and the stated error holds it."""

import random

import pytest

from bot.domain.clock_offset import clock_offset
from tests.known import known


@pytest.mark.parametrize("drift_ppm", [-40.0, -3.0, 0.0, 12.0, 120.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_planted_drift_is_found_within_the_error_that_is_told(drift_ppm: float, seed: int) -> None:
    chance = random.Random(seed)
    up = chance.uniform(3_600, 4_000_000)
    stamps = sorted(chance.uniform(max(70, up - 90_000), up) for _ in range(chance.randint(1, 60)))
    pairs = [(stamp, stamp * (1 + drift_ppm / 1e6) + chance.expovariate(200)) for stamp in stamps]
    now = up * (1 + drift_ppm / 1e6)
    found = known(clock_offset(pairs, now))
    truth = now - up
    assert abs(found.seconds - truth) <= found.error + 0.03, (found, truth)  # lines late by more than 30 ms: e^-6
    assert found.error < 12


def test_lines_of_the_boot_tell_nothing() -> None:
    assert clock_offset([(0.5, 7.2), (4.0, 7.3)], 1000.0) is None
    assert clock_offset([], None) is None


def test_one_line_alone_is_less_sure() -> None:
    alone, many = (
        clock_offset([(1000.0, 1001.0)], 1001.0),
        clock_offset([(999.5 + n / 9, 1000.5 + n / 9) for n in range(9)], 1001.0),
    )
    assert known(alone).error > known(many).error
