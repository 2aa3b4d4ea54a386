"""A wave's fold and rules: no turn too early, no wave that changes under its approval, and what stops it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.entry import Entry, Event, body_of, kind_of
from bot.domain.errors import ImpossibleEvent
from bot.extras.waves import wave as rules
from bot.extras.waves.events import (
    TurnEnded,
    TurnGiven,
    TurnOutcome,
    WaveApproved,
    WaveDeclined,
    WaveEnded,
    WaveEnding,
    WaveEndorsed,
    WaveMember,
    WaveProposed,
    WaveResumed,
    WaveStopped,
)
from bot.extras.waves.wave import NodeAlarm, Wave, WaveState, fold_wave, stages_of
from bot.extras.waves.words import wave_lines
from tests.known import known_as

AT = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
MEMBERS = tuple(WaveMember(f"n{number}", f"i{number}", "ab" * 32) for number in range(40))
CONTROL = WaveMember("c0", "ic0", "cd" * 32)
PROPOSED = WaveProposed(
    ("role=gpu",), ("leak",), MEMBERS, (CONTROL,), stages_of(40), timedelta(hours=8), "ef" * 32, ""
).sealed()
YES = WaveApproved(PROPOSED.digest, "go")
ASKER, BOB, BOT = "terminal:ann", "terminal:bob", "bot"


def entries(*events: tuple[Event, str], minutes: int = 1) -> list[Entry]:
    return [
        Entry(
            "wave-7k3m", seq, AT + timedelta(minutes=minutes * seq), by, kind_of(event), body_of(event), f"{seq:064d}"
        )
        for seq, (event, by) in enumerate(events, 1)
    ]


def told(*events: tuple[Event, str], minutes: int = 1) -> Wave:
    return fold_wave(entries((PROPOSED, ASKER), *events, minutes=minutes))


def why_stop(wave: Wave, alarms: Sequence[NodeAlarm], now: datetime) -> str:
    return "; ".join(reason.words for reason in rules.why_stop(wave, alarms, now))


def turn(number: int, outcome: TurnOutcome | None = TurnOutcome.CURED) -> list[tuple[Event, str]]:
    given: list[tuple[Event, str]] = [(TurnGiven(f"i{number}", f"n{number}"), BOT)]
    return given + ([(TurnEnded(f"i{number}", f"n{number}", outcome, "so"), BOT)] if outcome is not None else [])


def turns(numbers: Iterable[int], outcome: TurnOutcome | None = TurnOutcome.CURED) -> list[tuple[Event, str]]:
    return [each for number in numbers for each in turn(number, outcome)]


def test_canary_goes_alone_and_each_stage_waits_until_as_many_are_cured() -> None:
    assert PROPOSED.stages == (1, 2, 10, 40)
    assert told((YES, BOB)).room == 1
    assert told((YES, BOB), *turn(0, None)).room == 0
    assert told((YES, BOB), *turn(0)).room == told((YES, BOB), *turn(0, TurnOutcome.CONTAINED)).room == 1
    assert told((YES, BOB), *turns(range(2))).room == 8
    assert told((YES, BOB), *turns(range(10))).room == 30
    with pytest.raises(ImpossibleEvent, match="room for 1"):
        told((YES, BOB), *turn(0, None), *turn(1, None))


def test_dropped_node_proves_nothing_and_another_takes_its_place() -> None:
    wave = told((YES, BOB), *turns(range(3), TurnOutcome.DROPPED))
    assert (wave.stage, wave.room, wave.having(TurnOutcome.CURED)) == (1, 1, ())


def test_failed_node_keeps_its_place_until_somebody_resumes_knowing_of_it() -> None:
    failed = ((YES, BOB), *turn(0, TurnOutcome.FAILED), (WaveStopped("it failed"), BOT))
    assert told(*failed).room == 0
    resumed = told(*failed, (WaveResumed("a broken disk"), BOB))
    assert (resumed.state, resumed.room, why_stop(resumed, (), AT)) == (WaveState.RUNNING, 1, "")


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([(TurnGiven("i0", "n0"), BOT)], "is not running"),
        ([(YES, BOT)], "only a person"),
        ([(replace(YES, digest="00" * 32), BOB)], "another plan"),
        ([(YES, BOB), (YES, BOB)], "decided before"),
        ([(YES, BOB), (WaveDeclined("no"), BOB)], "stop it instead"),
        ([(YES, BOB), (TurnGiven("ic0", "c0"), BOT)], "not waiting for its turn"),
        ([(YES, BOB), (TurnGiven("i0", "n1"), BOT)], "not waiting for its turn"),
        ([(YES, BOB), *turn(0), *turn(0)], "not waiting for its turn"),
        ([(YES, BOB), (TurnEnded("i0", "n0", TurnOutcome.CURED), BOT)], "not that node's turn"),
        ([(YES, BOB), (WaveStopped("x"), BOB), *turn(0)], "is not running"),
        ([(YES, BOB), (WaveStopped("x"), BOB), (WaveResumed("x"), BOT)], "only a person"),
        ([(YES, BOB), (WaveEnded(WaveEnding.COMPLETED), BOT)], "not every member"),
        ([(YES, BOB), *turn(0, None), (WaveEnded(WaveEnding.EXPIRED), BOT)], "a node has its turn"),
        ([(WaveDeclined("no"), BOB), (YES, BOB)], "it has ended"),
        ([(WaveEndorsed(PROPOSED.digest, "go"), BOB)], "the last approval that is needed"),
    ],
)
def test_what_may_not_be_cannot_go_on_record(events: list[tuple[Event, str]], why: str) -> None:
    with pytest.raises(ImpossibleEvent, match=why):
        told(*events)


def test_reason_adds_no_line_to_what_the_bot_says() -> None:
    said = wave_lines(told((WaveDeclined("no\napproved by alice"), BOB)))
    assert said[-1] == "Declined: no approved by alice"


def test_nothing_has_its_turn_once_the_time_of_the_approval_is_over() -> None:
    assert told((YES, BOB), *turn(0), minutes=100).room == 1
    with pytest.raises(ImpossibleEvent, match="time of its approval"):
        told((YES, BOB), *turn(0), minutes=481)


@pytest.mark.parametrize(
    "changed",
    [
        replace(PROPOSED, members=MEMBERS[:-1], stages=stages_of(39)),
        replace(PROPOSED, members=MEMBERS[::-1]),
        replace(PROPOSED, controls=()),
        replace(PROPOSED, stages=(40,)),
        replace(PROPOSED, expires=timedelta(hours=80)),
        replace(PROPOSED, members=(*MEMBERS[:-1], MEMBERS[0])).sealed(),
        replace(PROPOSED, members=(replace(MEMBERS[0], digest="00" * 32), *MEMBERS[1:])),
        replace(PROPOSED, policy="00" * 32),
    ],
)
def test_proposal_that_was_changed_or_names_a_node_twice_is_none(changed: WaveProposed) -> None:
    with pytest.raises(ImpossibleEvent):
        fold_wave(entries((changed, ASKER)))


def test_first_that_is_not_fixed_and_three_dropped_in_a_row_stop_it() -> None:
    assert "n0: so" in why_stop(told((YES, BOB), *turn(0, TurnOutcome.FAILED)), (), AT)
    assert not why_stop(told((YES, BOB), *turns(range(2), TurnOutcome.DROPPED)), (), AT)
    assert "3 nodes in a row" in why_stop(told((YES, BOB), *turns(range(3), TurnOutcome.DROPPED)), (), AT)


def test_alert_on_a_cured_node_and_a_rise_stop_it_and_what_a_reboot_sets_off_does_not() -> None:
    wave = told((YES, BOB), *turn(0))  # approved at 9:02, turn from 9:03 to 9:04
    now = AT + timedelta(minutes=30)
    assert not why_stop(wave, [NodeAlarm("n0", AT + timedelta(minutes=3, seconds=30))], now)
    assert "n0 has a new alert" in why_stop(wave, [NodeAlarm("n0", AT + timedelta(minutes=5))], now)
    others = [NodeAlarm(f"x{number}", AT + timedelta(minutes=10)) for number in range(4)]
    assert "4 new alerts came where 0.0 are usual" in why_stop(wave, others, now)
    usual = [NodeAlarm("x", AT - timedelta(minutes=10 * number)) for number in range(1, 144)]
    assert not why_stop(wave, [*usual, *others], now), "there are six an hour without the wave, too"


@pytest.mark.parametrize("outcome", [TurnOutcome.CURED, TurnOutcome.DROPPED])
def test_alert_on_a_member_before_its_turn_goes_on_counting_in_a_rise_once_it_had_its_turn(
    outcome: TurnOutcome,
) -> None:
    """What the wave does to others shows on its own members first: most nodes are."""
    before = [NodeAlarm("n1", AT + timedelta(minutes=5, seconds=30)), NodeAlarm("x", AT + timedelta(minutes=9))]
    last, now = NodeAlarm("y", AT + timedelta(minutes=10)), AT + timedelta(minutes=30)
    wave = told((YES, BOB), *turn(0), *turn(1, outcome))  # the second has its turn from 9:05 to 9:06
    begins_later = told((YES, BOB), *turn(0), *turn(2), *turn(1, outcome))  # from 9:07 to 9:08
    assert "3 new alerts" in why_stop(begins_later, [*before, last], now)
    assert not why_stop(begins_later, before, now)
    assert not why_stop(wave, [*before, last], now), "that of its own turn"


def test_alert_on_a_dropped_node_counts_in_a_rise_as_that_of_any_other() -> None:
    wave, now = told((YES, BOB), *turn(0, TurnOutcome.DROPPED)), AT + timedelta(minutes=30)
    others = [NodeAlarm(name, AT + timedelta(minutes=10)) for name in ("x", "y")]
    assert not why_stop(wave, [NodeAlarm("n0", AT + timedelta(minutes=9))], now), "it was not cured"
    assert "3 new alerts" in why_stop(wave, [NodeAlarm("n0", AT + timedelta(minutes=9)), *others], now)


def test_alert_under_another_name_of_the_cured_machine_stops_it() -> None:
    wave, now = told((YES, BOB), *turn(0)), AT + timedelta(minutes=30)
    other = NodeAlarm("n0.local", AT + timedelta(minutes=5), frozenset(("n0", "n0.local")))
    assert "n0 has a new alert" in why_stop(wave, [other], now)
    assert not why_stop(wave, [replace(other, names=frozenset(("n0.local",)))], now)


def test_copied_images_share_a_machine_id_and_no_alerts() -> None:
    wave, now = told((YES, BOB), *turn(0, TurnOutcome.DROPPED)), AT + timedelta(minutes=30)
    every = frozenset(member.node for member in MEMBERS)
    alarms = [NodeAlarm(f"n{number}", AT + timedelta(minutes=10), every) for number in range(1, 6)]
    assert "5 new alerts came" in why_stop(wave, alarms, now), "each is of the node that it names"
    cured = told((YES, BOB), *turn(0))
    assert not why_stop(cured, [NodeAlarm("n9", AT + timedelta(minutes=10), every)], now)
    assert not why_stop(cured, [NodeAlarm("x9", AT + timedelta(minutes=10), every | {"x9"})], now), (
        "whose it is is unknown"
    )


def test_alert_after_the_cure_counts_also_where_the_end_of_the_turn_was_recorded_later() -> None:
    given, (ended, by) = turn(0)
    late = replace(known_as(ended, TurnEnded), cured_at=AT + timedelta(minutes=3, seconds=20))
    wave, now = told((YES, BOB), given, (late, by)), AT + timedelta(minutes=30)
    assert not why_stop(wave, [NodeAlarm("n0", AT + timedelta(minutes=3, seconds=10))], now)
    assert "n0 has a new alert" in why_stop(wave, [NodeAlarm("n0", AT + timedelta(minutes=3, seconds=40))], now)


def test_alert_after_the_cure_counts_also_where_the_cure_is_of_a_time_that_comes_yet() -> None:
    """The clock was set back during the turn, and the time of the incident stands still where it was ahead."""
    given, (ended, by) = turn(0)
    ahead = replace(known_as(ended, TurnEnded), cured_at=AT + timedelta(hours=2))
    wave = told((YES, BOB), given, (ahead, by))
    assert "n0 has a new alert" in why_stop(wave, [NodeAlarm("n0", AT + timedelta(minutes=5))], AT + timedelta(hours=3))
