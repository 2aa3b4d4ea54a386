"""Whatever people do in a chat, and whatever dies or is lost on the way, decides once, and the card says so.

People click late, twice, on old wordings and on copies, and send dialogs with a lie; programs die, calls fail or their
answers are lost. `test_mutations.py` puts holes of each chat's way back, which the schedules drawn here find.
"""

import os

import pytest

from tests.schedules.chat_schedule import play
from tests.schedules.chat_seats import ScheduledTeams, Seat
from tests.schedules.chat_slack import ScheduledSlack

SCHEDULES = int(os.environ.get("ZOMBIE_SCHEDULES", 0))
CHATS = pytest.mark.parametrize("chat", [ScheduledTeams, ScheduledSlack], ids=["teams", "slack"])


@pytest.mark.slow
@CHATS
def test_what_people_do_decides_once_and_is_shown(chat: type[Seat]) -> None:
    ends = {_end(chat, seed) for seed in range(SCHEDULES or chat.usual)}
    assert ends >= {"declined", "expired", "escalated", "resolved"}, ends


@pytest.mark.slow
@pytest.mark.long
@CHATS
@pytest.mark.parametrize("part", range(2))
def test_so_it_is_in_more(chat: type[Seat], part: int) -> None:
    for seed in range(chat.usual + part, 8 * chat.usual, 2):
        _end(chat, seed)


def _end(chat: type[Seat], seed: int) -> str:
    over, faults = play(seed, chat)
    assert not faults, "\n".join(faults)
    return over.state
