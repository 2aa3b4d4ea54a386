"""The smallest changes are found, and nothing is told that nobody looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from bot.actions import ACTIONS
from bot.domain.cause import Cause, CauseResult, Threshold, Tuning
from bot.domain.change import Change
from bot.domain.node import Node
from bot.domain.playbook import Condition, ConfiguredCause, Playbook
from bot.domain.probe import Probe, Snapshot, Unread
from bot.domain.verdict import Confidence, Evidence, Finding, RuledOut, Status, Undecided
from bot.extras.cases.what_if import Judge, WhatIf, what_ifs
from bot.extras.cases.what_if_words import sentence
from bot.response.diagnosis.planning import DrainSettings
from bot.view.plan_words import PlanWords


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    used: int
    spare: int = 7


@dataclass(frozen=True, slots=True)
class Reading:
    probe: ClassVar[str] = "pools"

    full: int
    pools: tuple[Pool, ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    idle: timedelta = timedelta(hours=3)
    unasked: int = 5
    full_later: int | None = None
    is_open: bool = True
    calls: int = 100
    calls_later: int | None = None
    seconds_between: float = 5.0
    uptime: timedelta = timedelta(days=3)

    @property
    def last_seconds(self) -> float:
        return -1e12

    @property
    def degrees(self) -> int:
        return -5

    @property
    def most(self) -> int:
        return max((pool.used for pool in self.pools), default=0)


def evaluate(snapshot: Snapshot, tuning: Tuning) -> CauseResult:
    reading = snapshot.get(Reading)
    if isinstance(reading, Unread):
        return Undecided("flood", reading.reason)
    told = f"{reading.full} are full, worst pool-a"
    seen = (Evidence("flood", "pools", told),)
    if reading.full >= tuning["many"] and reading.is_open:
        return Finding("flood", Status.DEGRADED, Confidence.LIKELY, told, seen)
    if reading.calls_later is not None and reading.calls_later - reading.calls > 50:
        return Finding("flood", Status.CRITICAL, Confidence.LIKELY, told, seen)
    if (
        reading.seconds_between < 1
        or reading.most > 37
        or reading.uptime < timedelta(hours=1)
        or reading.shares.get("disk", 0) > 0.25
        or reading.shares.get("tape", 0) > 0.5
        or reading.shares.get("tube", 0) > 0.25
        or reading.idle < timedelta(hours=1)
    ):
        return Finding("flood", Status.CRITICAL, Confidence.CONFIRMED, told, seen)
    return RuledOut("flood", told)


CAUSE = Cause("flood", "a flood", ("pools",), {"many": Threshold(1000, "")}, evaluate)
PLAYBOOK = Playbook(
    "p",
    "",
    1,
    (Probe("pools", "", (), lambda outputs: outputs),),
    ("pools",),
    (ConfiguredCause(CAUSE, CAUSE.thresholds),),
)


def found(reading: Any, playbook: Playbook = PLAYBOOK) -> dict[str, WhatIf]:
    snapshot = Snapshot("n", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), {"pools": reading})
    changes = what_ifs(snapshot, Judge(playbook, ACTIONS, Node("n", "n"), DrainSettings()))
    return {str(each.change): each for each in changes}


def test_number_is_moved_to_its_threshold_and_no_further() -> None:
    above = found(Reading(68_440))
    assert above["pools.full=999"].still == "1000"
    assert above["pools.full=999"].verdict.status is Status.HEALTHY
    below = found(Reading(17))
    assert (below["pools.full=1000"].still, below["pools.full=1000"].was) == ("999", 17)
    assert not any("unasked" in change for change in {**above, **below})


def test_later_look_moves_with_the_first() -> None:
    assert found(Reading(17, full_later=19))["pools.full=1000"].verdict.status is Status.DEGRADED


def test_growth_is_changed_by_the_later_look_alone() -> None:
    changes = found(Reading(17, calls=100, calls_later=140))
    assert changes["pools.calls_later=151"].still == "150"
    assert not any("pools.calls=" in change for change in changes)


def test_what_is_hidden_in_the_code_is_found_by_halving() -> None:
    changes = found(Reading(17, (Pool("pool-a", 40), Pool("pool-b", 3)), {"disk": 0.1}))
    assert changes["pools.pools[pool-a].used=37"].still == "38"
    assert changes["pools.pools[pool-a]=none"].verdict.status is Status.HEALTHY
    assert not any("pool-b" in change or "spare" in change for change in changes)


def test_lookups_of_a_mapping_and_times_are_moved() -> None:
    changes = found(Reading(17, shares={"disk": 0.1, "other": 0.1}))
    (share,) = (each for change, each in changes.items() if "disk" in change and each.was is not None)
    assert 0.25 < float(share.change.value) < 0.2511
    (idle,) = (each for change, each in changes.items() if "idle" in change)
    assert 3590 < float(idle.change.value) < 3600
    assert not any("other" in change for change in changes)


def test_numbers_that_are_alike_have_each_their_own_limit() -> None:
    changes = found(Reading(17, shares={"disk": 0.1, "tape": 0.1, "tube": 0.1}))
    limits = {each.change.entry: float(each.change.value) for each in changes.values() if each.change.entry}
    assert {entry: round(limit, 2) for entry, limit in limits.items()} == {"disk": 0.25, "tape": 0.5, "tube": 0.25}


def test_yes_or_no_is_turned_and_a_reading_left_out() -> None:
    changes = found(Reading(5000))
    assert changes["pools.is_open=false"].verdict.status is Status.HEALTHY
    assert changes["pools=unread"].verdict.status is Status.UNKNOWN
    assert next(iter(changes)) == "pools.full=999"


def by_condition(when: str, holds: Callable[[Reading], bool], reading: Reading) -> list[WhatIf]:
    def truth(snapshot: Snapshot) -> bool:
        now = snapshot.get(Reading)
        return not isinstance(now, Unread) and holds(now)

    condition = Condition("much", when, "much is used", truth, ("pools",), Status.DEGRADED)
    snapshot = Snapshot("n", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), {"pools": reading})
    playbook = replace(PLAYBOOK, causes=(), conditions=(condition,))
    changes = what_ifs(snapshot, Judge(playbook, ACTIONS, Node("n", "n"), DrainSettings()))
    return [each for each in changes if each.change.field]


def test_figure_that_a_condition_names_is_moved_also_where_it_is_worked_out() -> None:
    (told,) = by_condition("pools.most > 100", lambda now: now.most > 100, Reading(17, (Pool("pool-a", 3),)))
    assert 100 < float(told.change.value) <= 101
    assert (told.change.what, told.verdict.status) == ("pools.most", Status.DEGRADED)


def test_figure_that_stands_for_never_is_not_moved() -> None:
    assert not by_condition("pools.last_seconds > 0", lambda now: now.last_seconds > 0, Reading(17))


def test_change_to_which_both_ways_lead_is_told_once() -> None:
    (told,) = by_condition("pools.degrees > -3", lambda now: now.degrees > -3, Reading(17))
    assert str(told.change) == "pools.degrees=-2"


def test_how_long_was_looked_is_no_state_of_the_node_and_is_not_moved() -> None:
    assert found(Reading(17, seconds_between=0.5))["pools=unread"].verdict.status is Status.UNKNOWN
    assert not any("seconds_between" in change for change in found(Reading(17)))


def test_uptime_is_not_moved_against_all_that_counts_from_the_same_boot() -> None:
    assert found(Reading(17, uptime=timedelta(minutes=5)))["pools=unread"].verdict.status is Status.UNKNOWN
    assert not any("uptime" in change for change in found(Reading(17)))


def test_unread_reading_has_nothing_to_change() -> None:
    assert found(Unread("pools", "it is missing")) == {}


def test_change_is_told_with_what_comes_of_it() -> None:
    snapshot = Snapshot("n", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), {"pools": Reading(1204)})
    judge = Judge(PLAYBOOK, ACTIONS, Node("n", "n"), DrainSettings())
    told = [sentence(each, judge.verdict(snapshot), PlanWords(ACTIONS)) for each in what_ifs(snapshot, judge)]
    assert told == [
        "If pools.full were 999, not 1,204 (1,000 would change nothing): healthy.",
        "If pools.is_open were false, not true: healthy.",
        "If pools had not been read: unknown.",
    ]


def test_times_that_would_read_alike_are_told_in_seconds() -> None:
    judge = Judge(PLAYBOOK, ACTIONS, Node("n", "n"), DrainSettings())
    snapshot = Snapshot("n", datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5), {"pools": Reading(1)})
    now = judge.verdict(snapshot)
    for value, still, told in (
        ("696365", "695443", "pools.idle were 696,365 s, not 7 d 23 h (695,443 s would change nothing)"),
        ("696365", "609965", "pools.idle were 8 d 1 h, not 7 d 23 h (7 d 1 h would change nothing)"),
    ):
        what_if = WhatIf(Change.parse(f"pools.idle={value}"), now, timedelta(days=7, hours=23), still)
        assert told in sentence(what_if, now, PlanWords(ACTIONS))
