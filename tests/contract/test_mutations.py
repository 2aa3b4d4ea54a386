"""Each mended hole, put back into the program, is found by schedules in which the program as it is has no fault."""

import pytest

from tests.record.ledgers import database_in_memory
from tests.schedules.chat_mutations import SLACK_MUTATIONS, TEAMS_MUTATIONS
from tests.schedules.chat_schedule import play
from tests.schedules.chat_seats import ScheduledTeams, Seat
from tests.schedules.chat_slack import ScheduledSlack
from tests.schedules.drawn import USUAL, USUAL_PARTS
from tests.schedules.mutations import MUTATIONS, Mutation
from tests.schedules.schedule import played
from tests.schedules.world import APART

# The schedules that `test_fault_schedules.py` draws each time, and as many more: there they find nothing.
SEEDS = [part * APART + number for number in range(2 * USUAL // USUAL_PARTS) for part in range(USUAL_PARTS)]


@pytest.mark.long
@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_hole_that_is_put_back_is_found_by_the_schedules(monkeypatch: pytest.MonkeyPatch, mutation: Mutation) -> None:
    mutation.put_back(monkeypatch)
    with database_in_memory() as database:
        found = (fault for seed in SEEDS for fault in played(database, seed).faults())
        assert any(mutation.found in fault for fault in found), f"{len(SEEDS)} schedules do not see it"


CHATS = [(ScheduledTeams, each) for each in TEAMS_MUTATIONS] + [(ScheduledSlack, each) for each in SLACK_MUTATIONS]


@pytest.mark.long
@pytest.mark.parametrize(("chat", "mutation"), CHATS, ids=str)
def test_hole_of_a_chat_is_found_by_its_schedules(
    monkeypatch: pytest.MonkeyPatch, chat: type[Seat], mutation: Mutation
) -> None:
    mutation.put_back(monkeypatch)
    seeds = range(chat.long)  # as the long schedules draw: which of them sees a hole moves with every new boundary
    found = (fault for seed in seeds for fault in play(seed, chat)[1])
    assert any(mutation.found in fault for fault in found), f"{len(seeds)} schedules do not see it"
