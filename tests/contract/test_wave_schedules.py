"""Whatever dies, is stopped, leaves or becomes another: a wave acts on a node once, in its turn, and while it may.

Set ZOMBIE_WAVES to draw more than the usual number.
"""

import os
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.incident import Incident
from bot.domain.policy import Limits
from bot.domain.transitions import State
from bot.extras.waves.events import TurnOutcome
from bot.extras.waves.wave import Turn, WaveState
from bot.extras.waves.wave_service import CONTROLS_GONE
from bot.extras.waves.words import wave_lines
from tests.record.audits import audit
from tests.record.ledgers import database_in_memory
from tests.schedules.waves import is_stopped, played_wave
from tests.schedules.world import APART

WAVES = int(os.environ.get("ZOMBIE_WAVES", "10"))
ALONE: dict[str, Any] = {"members": 3, "programs": 1, "deadly": 0.0}
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("waves", [WAVES, pytest.param(max(40, 4 * WAVES), marks=pytest.mark.long)])
def test_whatever_happens_no_node_is_acted_on_twice_or_out_of_turn(waves: int) -> None:
    ends: Counter[str] = Counter()
    with database_in_memory() as database:
        for seed in range(waves):
            over = played_wave(database, seed)
            assert not (faults := list(over.faults())), faults
            ends[over.wave.state] += 1
        assert audit(database).broken == ()
        with database.reading() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM holds").scalar_one() == 0
    assert len(ends) > 1, ends


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "hole", "found"),
    [
        ("bot.extras.waves.store.check_may_begin", lambda *_: None, "began while the wave did not run"),
        ("bot.extras.waves.wave.Wave.room", property(lambda _: 9), "had their turn at once"),
        ("bot.extras.waves.wave_service.check_seen_digest", lambda *_: None, "had not seen these plans"),
    ],
    ids=["the wave is not asked", "no stages", "a yes may be blind"],
)
def test_hole_that_is_put_back_is_found(monkeypatch: pytest.MonkeyPatch, where: str, hole: Any, found: str) -> None:
    monkeypatch.setattr(where, hole)
    with database_in_memory() as database:
        faults = (fault for seed in range(60) for fault in played_wave(database, seed).faults())
        assert any(found in fault for fault in faults)


NOT_FIXED = "was acted on and not fixed"


def ended_unfixed(incident: Incident) -> bool:
    """What `is_unfixed` was: it counted only what somebody had noted as the end."""
    return (
        incident.has_begun
        and incident.state is not State.RESOLVED
        and (incident.ended or incident.question is not None)
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "hole", "found", "number", "how"),
    [
        ("bot.domain.incident.Incident.result", property(lambda _: None), NOT_FIXED, 0, {"members": 6}),
        ("bot.domain.incident.Incident.is_unfixed", property(ended_unfixed), NOT_FIXED, 6, {"members": 6}),
        ("bot.extras.waves.wave_service.why_stop_again", lambda *_: (), "had not been shown", 61, ALONE),
    ],
    ids=["a failure waits to be noted", "a step that failed waits to be noted", "a dialog knows only the stop"],
)
def test_hole_beside_a_node_that_fails_is_found_where_several_have_their_turn(
    monkeypatch: pytest.MonkeyPatch, where: str, hole: Any, found: str, number: int, how: dict[str, Any]
) -> None:
    endings = ("cured", "cured", "enabled-again", "gone")
    for drawn_since in (
        "ALARMED",
        "CLOCKED",
        "QUIET",
        "PRUNED",
    ):  # so that the numbers stay what they are, whatever is drawn besides
        monkeypatch.setattr(f"tests.schedules.waves.{drawn_since}", 0.0)

    def faults() -> list[str]:
        with database_in_memory() as database:
            return list(played_wave(database, number, endings=endings, limits=Limits(at_once=3), **how).faults())

    assert faults() == []
    monkeypatch.setattr(where, hole)
    assert any(found in fault for fault in faults())


ALERTED: dict[str, Any] = {"members": 6, "programs": 1, "deadly": 0.0, "endings": ("cured",)}


@pytest.mark.long
@pytest.mark.parametrize(
    ("where", "hole", "clocked", "number"),
    [
        ("bot.extras.waves.wave.alerts_against", lambda *_: (), 0.0, 0),
        ("bot.extras.waves.wave_service.CLOCK_TOLERANCE", timedelta(days=900), 1.0, 7),
    ],
    ids=["alerts are not asked", "alerts of a time when the clock was set back"],
)
def test_hole_beside_an_alert_on_a_cured_node_is_found_where_many_turns_are_to_come(
    monkeypatch: pytest.MonkeyPatch, where: str, hole: Any, clocked: float, number: int
) -> None:
    monkeypatch.setattr("tests.schedules.waves.ALARMED", 1.0)
    monkeypatch.setattr("tests.schedules.waves.QUIET", 0.0)
    monkeypatch.setattr("tests.schedules.waves.PRUNED", 0.0)
    monkeypatch.setattr("tests.schedules.waves.CLOCKED", clocked)

    def faults() -> list[str]:
        with database_in_memory() as database:
            return list(played_wave(database, number, **ALERTED).faults())

    assert faults() == []
    monkeypatch.setattr(where, hole)
    assert any("a turn was given after an alert on a cured node" in fault for fault in faults())


@pytest.mark.parametrize("is_approved", [False, True])
def test_older_programs_wave_with_nodes_to_be_left_alone_acts_on_none_and_ends_with_a_sentence(
    is_approved: bool,
) -> None:
    with database_in_memory() as database:
        over = played_wave(database, 6 * APART, 4, ("cured",), meddled=False, controls=1, is_approved=is_approved)
        assert audit(database).broken == ()
    assert (over.wave.state, over.acted) == (WaveState.EXPIRED if is_approved else WaveState.DECLINED, 0)
    assert CONTROLS_GONE in wave_lines(over.wave)[-1]
    assert {over.incidents[member.incident].state for member in over.wave.proposal.members} == {State.CANCELLED}


def test_no_two_nodes_of_one_zone_have_their_turn_at_once() -> None:
    limits, most = Limits(at_once=4, per_label={"az": 1}), 0
    with database_in_memory() as database:
        over = played_wave(
            database,
            7 * APART + 2,
            6,
            ("cured",),
            meddled=False,
            programs=2,
            deadly=0.0,
            limits=limits,
            zones=("1a", "1b"),
        )
    assert over.wave.state is WaveState.COMPLETED
    for turn in over.wave.turns:
        others = [other for other in over.wave.turns if other is not turn and _overlap(turn, other)]
        most = max(most, len(others))
        zones = [over.stage.labels[other.member.node]["az"] for other in others]
        assert over.stage.labels[turn.member.node]["az"] not in zones
    assert most, "one of the other zone has its turn meanwhile"


def test_nodes_that_may_never_begin_do_not_keep_those_behind_them_from_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A budget of a label allows nothing on a node without the label."""
    monkeypatch.setattr("bot.extras.waves.wave_run.MOST_TRIED", most := 1)
    limits, zones = Limits(at_once=2, per_label={"az": 1}), ("", "", "1a")
    with database_in_memory() as database:
        over = played_wave(
            database, 7 * APART + 3, 4, ("cured",), meddled=False, programs=1, deadly=0.0, limits=limits, zones=zones
        )
    order = [member.node for member in over.wave.proposal.members]
    labelled = {name for name in order if name in over.stage.labels}
    assert {turn.member.node for turn in over.wave.having(TurnOutcome.CURED)} == labelled
    assert max(map(order.index, labelled)) > most


def _overlap(turn: Turn, other: Turn) -> bool:
    assert turn.ended_at is not None
    assert other.ended_at is not None
    return turn.given_at < other.ended_at and other.given_at < turn.ended_at


@pytest.mark.long
def test_useless_cure_is_stopped_in_95_of_100_seeds_and_a_real_one_completes() -> None:
    """Useless: of ten nodes three get well anyhow, each by chance. The real one has clocks that go right."""
    useless = ("cured",) * 3 + ("enabled-again",) * 4 + ("swallowed",) * 3
    number = max(20, WAVES // 4)
    with database_in_memory() as database:
        found = [
            played_wave(database, 9 * APART + seed, 10, useless, meddled=False, programs=2) for seed in range(number)
        ]
        assert sum(map(is_stopped, found)) >= 0.95 * number, Counter(over.wave.state for over in found)
        assert sum(over.acted for over in found) < 0.25 * 10 * number, "most of them had been acted on by then"
        real = [
            played_wave(database, 8 * APART + seed, 6, ("cured",), meddled=False, programs=2, deadly=0.0)
            for seed in range(number // 4)
        ]
        assert {over.wave.state for over in real} == {WaveState.COMPLETED}
        assert not [fault for over in (*found, *real) for fault in over.faults()]
