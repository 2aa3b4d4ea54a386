"""Whatever people do in Microsoft Teams, and whatever dies or is lost on the way, decides once, and the card says so.

People click late, twice, on old wordings and on copies, and send dialogs with a lie; programs die, calls fail or their
answers are lost. `test_mutations.py` puts holes of this way back, which the schedules drawn here find.
"""

import os

import pytest

from tests.schedules.chat_schedule import USUAL, play

SCHEDULES = int(os.environ.get("ZOMBIE_SCHEDULES", USUAL))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_what_people_do_in_a_chat_decides_once_and_is_shown(part: int) -> None:
    ends = {_ends(seed) for seed in range(part, SCHEDULES, 2)}
    assert ends >= {"declined", "expired", "escalated", "resolved"}, ends


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_so_it_is_in_more(part: int) -> None:
    for seed in range(USUAL + part, 10 * USUAL, 4):
        _ends(seed)


def _ends(seed: int) -> str:
    over, faults = play(seed)
    assert not faults, "\n".join(faults)
    return over.state
