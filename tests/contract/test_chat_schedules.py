"""Whatever people do in a chat, and whatever dies or is lost on the way, decides once, and the card says so.

People click late, twice, on old wordings and on copies, and send dialogs with a lie; programs die, calls fail or their
answers are lost. `test_mutations.py` puts holes of each chat's way back, which the schedules drawn here find.
"""

import os
from dataclasses import replace

import pytest

from bot.chat.decisions import Decisions
from bot.chat.dialog import Intent
from bot.chat.people import Person
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
    for seed in range(chat.usual + part, chat.long, 2):
        _end(chat, seed)


def _end(chat: type[Seat], seed: int) -> str:
    over, faults = play(seed, chat)
    assert not faults, "\n".join(faults)
    return over.state


async def any_word_is_this_one(self: Decisions, intent: Intent, person: Person, _: str) -> Intent:
    """What `_without_recorded` was: any word of the same person counted as the one that is carried on."""
    found = [await self._context.find(name) for name in intent.plans]
    said = [each.id for each in found for word in (*each.endorsements, each.decision) if word and word.by == person.by]
    return replace(intent, plans={name: digest for name, digest in intent.plans.items() if name not in said})


@pytest.mark.slow
def test_word_that_is_taken_for_an_earlier_one_of_the_same_person_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    number = 80_000_083  # its program dies over such a word
    _end(ScheduledTeams, number)
    monkeypatch.setattr(Decisions, "_without_recorded", any_word_is_this_one)
    assert any("was acknowledged and led to nothing" in fault for fault in play(number, ScheduledTeams)[1])
