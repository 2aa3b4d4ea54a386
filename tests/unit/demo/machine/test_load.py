"""The load of simulated cores adds up, never runs backwards, and a held core is held in any window."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.demo.machine.load import TICKS, Hold, Load, Shares

HELD = Load(4, Shares(usr=40.0, sys=2.0), own={3: Shares(usr=99.0)}, holds=(Hold(2, Shares(sys=99.6)),))


@given(core=st.integers(0, 3), began=st.floats(100, 5e6), seconds=st.floats(0, 60))
def test_time_never_runs_backwards_and_adds_up(core: int, began: float, seconds: float) -> None:
    before, after = HELD.ticks(core, began), HELD.ticks(core, began + seconds)
    assert all(new >= old - 1 for old, new in zip(before, after, strict=True))
    assert sum(after) == int(TICKS * (began + seconds))


@given(began=st.floats(100, 5e6))
def test_held_core_is_seen_held_for_two_seconds_in_any_window_of_five(began: float) -> None:
    looks = [HELD.ticks(2, began + second)[2] for second in range(6)]
    held = [new - old >= 90 for old, new in itertools.pairwise(looks)]
    assert any(both == (True, True) for both in itertools.pairwise(held))


def test_shares_are_kept_over_time() -> None:
    before, after = HELD.ticks(0, 1_000.0), HELD.ticks(0, 2_000.0)
    usr, sys = after[0] - before[0], after[2] - before[2]
    assert usr / 1000 == pytest.approx(40, abs=0.5)
    assert sys / 1000 == pytest.approx(2, abs=0.1)
