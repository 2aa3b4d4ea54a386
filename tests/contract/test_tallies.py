"""What stands in the database is counted right, in SQLite and in PostgreSQL, and at a bounded cost."""

from __future__ import annotations

from bot.domain.house_events import HOUSE, BrakePulled, BrakeReleased
from bot.domain.post import Post
from bot.domain.transitions import State
from bot.extras.waves.events import WaveDeclined, WaveProposed
from bot.extras.waves.store import WaveCounts, WaveStore
from bot.extras.waves.wave import WaveState
from bot.ledger import Database, Ledger, Outbox
from bot.ledger.ledger_counts import LedgerCounts
from tests.record.incidents import WAVE_EVENTS, WAYS, by_whom

CAUSE = "leaked-memory-cgroups"


def told(ledger: Ledger, stream: str, state: State) -> None:
    for seq, event in enumerate(WAYS[state]):
        ledger.append.now(stream, seq, event, by_whom(event))


def test_incidents_are_counted_by_state_and_cause(database_url: str) -> None:
    with Database.open(database_url) as database:
        ledger, tallies = Ledger(database), LedgerCounts(database)
        assert tallies.read.now().incidents == {}
        told(ledger, "one", State.PROPOSED)
        told(ledger, "two", State.PROPOSED)
        told(ledger, "three", State.OPENED)
        assert tallies.read.now().incidents == {("proposed", CAUSE): 2, ("opened", ""): 1}
        assert tallies.read.now().incidents == {("proposed", CAUSE): 2, ("opened", ""): 1}
        ledger.append.now("two", 3, WAYS[State.DECLINED][-1], by_whom(WAYS[State.DECLINED][-1]))
        assert tallies.read.now().incidents == {("proposed", CAUSE): 1, ("declined", CAUSE): 1, ("opened", ""): 1}


def test_waves_are_counted_by_state(database_url: str) -> None:
    with Database.open(database_url) as database:
        tallies, waves = LedgerCounts(database, [WaveCounts().read]), WaveStore(database)
        none = {(state.value,): 0 for state in WaveState}
        assert tallies.read.now().of_extras == {"zombie_waves": none}
        proposed = next(event for event in WAVE_EVENTS if isinstance(event, WaveProposed))
        for name in ("wave-one1", "wave-two2"):
            waves.append.now(name, 0, proposed, "terminal:ann")
        waves.append.now("wave-two2", 1, WaveDeclined("not now"), "terminal:bob")
        assert tallies.read.now().of_extras == {"zombie_waves": none | {("proposed",): 1, ("declined",): 1}}


def test_what_waits_and_the_brake_are_told(database_url: str) -> None:
    with Database.open(database_url) as database:
        ledger, tallies, outbox = Ledger(database), LedgerCounts(database), Outbox(database)
        assert (tallies.read.now().posts_waiting, tallies.read.now().deliveries_waiting) == (0, 0)
        outbox.keep.now(Post("one", "card", "C1", {"text": "x"}))
        assert tallies.read.now().posts_waiting == 1
        assert not tallies.read.now().is_braked
        ledger.append.now(HOUSE, None, BrakePulled("rollout"), "terminal:ann")
        assert tallies.read.now().is_braked
        ledger.append.now(HOUSE, None, BrakeReleased("over"), "terminal:ann")
        assert not tallies.read.now().is_braked
