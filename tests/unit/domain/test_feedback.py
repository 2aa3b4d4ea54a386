"""Marks of verdicts: who counts once, what a later word does, when a cause is in doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.domain.entry import Entry
from bot.domain.errors import CauseInDoubt
from bot.domain.feedback import ENOUGH, marks_of, said_before, score_of, scores, uncounted
from bot.domain.house_events import HOUSE, CauseLookedAt, VerdictMarked
from bot.domain.policy import Policy
from bot.response.decision.guards import are_trusted
from tests.record.incidents import entry

RIGHT = VerdictMarked("i1", "io-stall", True)
WRONG = replace(RIGHT, right=False)


def told(*said: tuple[VerdictMarked | CauseLookedAt, str]) -> list[Entry]:
    return [entry(event, seq, HOUSE, by) for seq, (event, by) in enumerate(said, 1)]


def many(right: int, wrong: int) -> list[tuple[VerdictMarked | CauseLookedAt, str]]:
    marks = [True] * right + [False] * wrong
    return [(VerdictMarked(f"i{n}", "io-stall", said), "slack:T/U1") for n, said in enumerate(marks)]


def test_person_has_one_word_a_case_under_whatever_name() -> None:
    entries = told((RIGHT, "slack:T/U1"), (WRONG, "terminal:ann"), (WRONG, "slack:T/U2"))
    assert [(mark.by, mark.right) for mark in marks_of(entries)] == [
        ("slack:T/U1", True),
        ("terminal:ann", False),
        ("slack:T/U2", False),
    ]
    tied = Policy(same_person={"terminal:ann": "slack:U1"}).person
    assert [(mark.by, mark.right) for mark in marks_of(entries, tied)] == [
        ("terminal:ann", False),
        ("slack:T/U2", False),
    ]
    assert (score_of(entries, "io-stall", tied).right, score_of(entries, "io-stall", tied).wrong) == (0, 2)


def test_whoever_types_under_many_logins_takes_no_plan_away_and_one_who_is_named_is_the_member() -> None:
    policy = Policy(
        approvers=frozenset({"slack:U1", "terminal:ann"}), same_person={"terminal:ann": "slack:U1"}, acting=True
    )
    strangers = [(WRONG, f"terminal:login-{number}") for number in range(ENOUGH)]
    are_trusted(policy, ("io-stall",), told(*strangers))
    entries = told(*strangers, (RIGHT, "slack:T/U1"), (WRONG, "terminal:ann"))
    score = score_of(entries, "io-stall", policy.counted)
    assert (score.right, score.wrong, uncounted(entries, policy.counted)) == (0, 1, ENOUGH)
    with pytest.raises(CauseInDoubt):
        are_trusted(Policy(), ("io-stall",), told(*strangers))  # nobody may approve, so nothing hangs on it


@pytest.mark.parametrize(("right", "wrong", "in_doubt"), [(0, 9, False), (8, 2, False), (7, 3, True), (79, 21, True)])
def test_cause_is_in_doubt_below_eighty_of_a_hundred_and_of_ten_at_least(
    right: int, wrong: int, in_doubt: bool
) -> None:
    score = score_of(told(*many(right, wrong)), "io-stall")
    assert (score.in_doubt, bool(score.doubt)) == (in_doubt, in_doubt)


def test_looking_starts_the_count_anew_and_forgets_nothing() -> None:
    looked = (CauseLookedAt("io-stall", "raised"), "terminal:ann")
    score = score_of(told(*many(0, ENOUGH), looked, (VerdictMarked("x", "io-stall", True), "slack:T/U1")), "io-stall")
    assert (score.right, score.wrong, score.ever_right, score.ever_wrong) == (1, 0, 1, ENOUGH)
    assert not score.in_doubt
    assert score.looked_at is not None


def test_causes_count_apart() -> None:
    entries = told((RIGHT, "slack:T/U1"), (VerdictMarked("i2", "cpu-steal", False), "slack:T/U1"))
    assert [(each.cause, each.right, each.wrong) for each in scores(entries)] == [
        ("cpu-steal", 0, 1),
        ("io-stall", 1, 0),
    ]


def test_same_word_and_same_wish_say_nothing_new() -> None:
    by = "slack:T/U1"
    entries = told((replace(WRONG, request="c1"), by), (replace(RIGHT, request="c2"), by))
    assert said_before(entries, replace(RIGHT, request="c3"), by) is entries[1]
    assert said_before(entries, replace(WRONG, request="c1"), by) is entries[0], "delivered twice"
    assert said_before(entries, replace(WRONG, request="c3"), by) is None
    assert said_before(entries, replace(RIGHT, request="c3"), "slack:T/U2") is None


def test_mark_of_a_newer_program_is_left_out() -> None:
    newer = Entry(HOUSE, 1, entry(RIGHT, 1).at, "slack:T/U1", "VerdictMarked", {"form": 99}, "")
    assert marks_of([newer]) == ()
