"""Marks of verdicts: who counts once, what a later word does, when a cause is in doubt."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import Mock

import pytest

from bot.domain.claim import Doubts
from bot.domain.entry import Entry
from bot.domain.errors import CauseInDoubt, NothingToMark
from bot.domain.house_events import HOUSE, PolicyChanged
from bot.domain.policy import Policy
from bot.extras.marks.marks import (
    ENOUGH,
    CauseDoubted,
    CauseLookedAt,
    VerdictMarked,
    delivered_before,
    marks_of,
    score_of,
    scores,
    uncounted,
)
from bot.extras.marks.store import MarkStore
from bot.ledger import Ledger
from bot.ledger.database import Database
from bot.response.decision.guards import check_causes_trusted
from tests.record.incidents import entry

RIGHT = VerdictMarked("i1", "io-stall", True)
WRONG = replace(RIGHT, right=False)


def told(*said: tuple[VerdictMarked | CauseLookedAt | CauseDoubted, str]) -> list[Entry]:
    return [entry(event, seq, HOUSE, by) for seq, (event, by) in enumerate(said, 1)]


def doubts_of(entries: list[Entry]) -> Doubts:
    return lambda policy, cause: score_of(entries, cause, policy).doubt


def test_person_has_one_word_a_case_under_whatever_name() -> None:
    entries = told((RIGHT, "slack:T/U1"), (WRONG, "terminal:ann"), (WRONG, "slack:T/U2"))
    assert [(mark.by, mark.right) for mark in marks_of(entries)] == [
        ("slack:T/U1", True),
        ("terminal:ann", False),
        ("slack:T/U2", False),
    ]
    tied = Policy(same_person={"terminal:ann": "slack:U1"})
    assert [(mark.by, mark.right) for mark in marks_of(entries, tied)] == [
        ("terminal:ann", False),
        ("slack:T/U2", False),
    ]
    assert (score_of(entries, "io-stall", tied).right, score_of(entries, "io-stall", tied).wrong) == (0, 2)


SEVERAL = Policy(approvers=frozenset(f"slack:U{number}" for number in range(20)), acting=True)


def words(right: int, wrong: int, first: int = 0) -> list[tuple[VerdictMarked | CauseLookedAt, str]]:
    """A word each of so many approvers, each on an incident of their own."""
    said = enumerate([True] * right + [False] * wrong, first)
    return [(VerdictMarked(f"i{number}", "io-stall", is_right), f"slack:T/U{number}") for number, is_right in said]


def test_nobody_who_may_not_approve_takes_a_plan_away_or_saves_it() -> None:
    policy = replace(SEVERAL, approvers=frozenset({"slack:U1", "terminal:ann"}))
    policy = replace(policy, same_person={"terminal:ann": "slack:U1"})
    strangers = [(WRONG, f"terminal:login-{number}") for number in range(30)]
    members = [(WRONG, f"slack:T/U9{number}") for number in range(30)]
    check_causes_trusted(policy, ("io-stall",), doubts_of(told(*strangers, *members)))
    fans = [(RIGHT, f"slack:T/U8{number}") for number in range(30)]
    entries = told(*strangers, *fans, (RIGHT, "slack:T/U1"), (WRONG, "terminal:ann"))
    score = score_of(entries, "io-stall", policy)
    assert (score.right, score.wrong, uncounted(entries, policy)) == (30, 1, 30)
    with pytest.raises(CauseInDoubt, match="1 of 1 people who may approve"):
        check_causes_trusted(policy, ("io-stall",), doubts_of(entries))  # it is the only one who may
    check_causes_trusted(
        Policy(), ("io-stall",), doubts_of(told(*strangers))
    )  # nobody may approve, so nothing hangs on it


@pytest.mark.parametrize(
    ("right", "wrong", "in_doubt"), [(0, 2, False), (0, 3, True), (11, 3, True), (12, 3, False), (17, 3, False)]
)
def test_cause_is_in_doubt_by_three_people_and_below_eighty_of_a_hundred(
    right: int, wrong: int, in_doubt: bool
) -> None:
    score = score_of(told(*words(right, wrong)), "io-stall", SEVERAL)
    assert (score.in_doubt, bool(score.doubt)) == (in_doubt, in_doubt)


@pytest.mark.parametrize("right", [True, False])
def test_one_login_decides_nothing_however_often_it_speaks(right: bool) -> None:
    often = [(VerdictMarked(f"j{number}", "io-stall", right), "slack:T/U19") for number in range(100)]
    before = [] if not right else words(0, 3)
    assert score_of(told(*before, *often), "io-stall", SEVERAL).in_doubt is right


def test_latest_word_of_a_person_counts_whatever_verdict_it_is_on() -> None:
    right, back = VerdictMarked("later", "io-stall", True), replace(WRONG, incident="later", taken_back=True)
    changed = (*words(0, 1), (right, "slack:T/U0"))
    assert not score_of(told(*changed, *words(0, 2, 1)), "io-stall", SEVERAL).in_doubt
    assert score_of(told(*changed, (back, "slack:T/U0"), *words(0, 2, 1)), "io-stall", SEVERAL).in_doubt
    again = (replace(WRONG, incident="i0"), "slack:T/U0")
    assert score_of(told(*changed, again, *words(0, 2, 1)), "io-stall", SEVERAL).in_doubt


def test_doubt_on_record_stays_until_somebody_looks_whoever_says_what_or_comes_or_leaves_meanwhile() -> None:
    doubt, looked = (CauseDoubted("io-stall", 3, 3), "bot"), (CauseLookedAt("io-stall", "raised"), "terminal:ann")
    back = [(replace(WRONG, incident=f"i{n}", taken_back=True), f"slack:T/U{n}") for n in range(3)]
    for later, policy in (([], Policy()), (back, SEVERAL), (words(9, 0), SEVERAL)):
        score = score_of(told(*words(0, 3), doubt, *later), "io-stall", policy)
        assert (score.in_doubt, score.against, score.voices) == (True, 3, 3)
        assert "3 of 3 people" in score.doubt
        assert not score_of(told(*words(0, 3), doubt, *later, looked), "io-stall", policy).in_doubt


def test_mark_that_puts_its_cause_in_doubt_says_so_on_record_once(sqlite: Database) -> None:
    marks = MarkStore(sqlite)
    for mark, by in (*words(0, 5), *words(5, 0)):
        marks.append.now(mark, by, SEVERAL)
    doubts = [(entry.seq, entry.by, entry.body) for entry in marks.read.now() if entry.kind == "CauseDoubted"]
    assert doubts == [(4, "bot", {"cause": "io-stall", "against": 3, "voices": 3, "form": 1})]
    with pytest.raises(NothingToMark, match="0 wrong among 0"):
        marks.append_review.now(CauseLookedAt("cpu-steal", "none"), "slack:T/U1", SEVERAL)
    assert marks.append_review.now(CauseLookedAt("io-stall", "raised"), "slack:T/U1", SEVERAL).against == 3
    assert not score_of(marks.read.now(), "io-stall", SEVERAL).in_doubt


def noted(marks: MarkStore) -> list[tuple[int, int]]:
    found = [entry.body for entry in marks.read.now() if entry.kind == CauseDoubted.__name__]
    return [(body["against"], body["voices"]) for body in found]


def test_mark_that_was_rolled_back_is_counted_by_nobody(sqlite: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = MarkStore(sqlite)
    for mark, by in words(0, 2):
        marks.append.now(mark, by, SEVERAL)
    with monkeypatch.context() as patch:
        patch.setattr("bot.extras.marks.store.score_of", Mock(side_effect=OSError("the disk is full")))
        with pytest.raises(OSError, match="full"):
            marks.append.now(replace(WRONG, incident="i2"), "slack:T/U2", SEVERAL)
    marks.append.now(*words(1, 0, 3)[0], SEVERAL)
    assert noted(marks) == []
    marks.append.now(*words(0, 1, 4)[0], SEVERAL)
    assert noted(marks) == [(3, 4)]


def test_doubt_that_no_entry_says_is_on_record_with_the_next_word_also_where_that_would_end_it(
    sqlite: Database,
) -> None:
    marks = MarkStore(sqlite)
    for mark, by in words(0, 3):
        marks.append.now(mark, by)  # as by an older program
    marks.append.now(replace(WRONG, incident="i0", right=True), "slack:T/U0", SEVERAL)
    assert noted(marks) == [(3, 3)]
    assert score_of(marks.read.now(), "io-stall", SEVERAL).in_doubt


def test_policy_of_one_terminal_puts_nothing_on_record_for_the_bot_that_serves(sqlite: Database) -> None:
    marks, ledger = MarkStore(sqlite), Ledger(sqlite)
    served, own = Policy(approvers=frozenset({"slack:U1"})), Policy(approvers=frozenset({"terminal:eve"}))
    for policy, found in ((served, []), (replace(own, acting=True), [(1, 1)])):  # of the same people, by another rule
        ledger.append.now(HOUSE, None, PolicyChanged(policy.digest, policy.text), "bot")
        marks.append.now(WRONG, "terminal:eve", own)
        assert noted(marks) == found


def test_word_that_may_not_approve_takes_nothing_from_that_persons_word_that_may() -> None:
    policy = replace(SEVERAL, approvers=SEVERAL.approvers | {"terminal:ann"}, same_person={"terminal:ann": "slack:U99"})
    ann, elsewhere = (WRONG, "terminal:ann"), (replace(RIGHT, incident="i7"), "slack:T/U99")
    score = score_of(told(ann, elsewhere, (RIGHT, "slack:T/U99"), *words(0, 2)), "io-stall", policy)
    assert (score.in_doubt, score.against, score.voices) == (True, 3, 3)


def test_word_of_one_who_has_left_takes_back_what_they_said_of_the_same_verdict() -> None:
    policy = Policy(approver_groups=frozenset({"slack:S1"}), acting=True)
    said = [(replace(WRONG, incident=f"i{n}", groups=("slack:S1",)), f"slack:T/U{n}") for n in range(3)]
    left = (replace(RIGHT, incident="i0"), "slack:T/U0")
    score = score_of(told(said[0], left, *said[1:]), "io-stall", policy)
    assert (score.against, score.voices) == (2, 2)


def test_same_people_can_put_a_cause_in_doubt_again_on_the_same_cards() -> None:
    looked = (CauseLookedAt("io-stall", "raised"), "terminal:ann")
    assert score_of(told(*words(0, 3), looked, *words(0, 3)), "io-stall", SEVERAL).in_doubt


def test_two_who_may_approve_are_enough_where_there_are_no_more() -> None:
    two = Policy(approvers=frozenset({"slack:U0", "slack:U1"}), acting=True)
    assert not score_of(told(*words(0, 1)), "io-stall", two).in_doubt
    assert score_of(told(*words(0, 2)), "io-stall", two).in_doubt


def test_who_was_in_a_group_that_may_approve_is_heard_as_long_as_the_policy_names_it() -> None:
    policy = Policy(approver_groups=frozenset({"slack:S1"}), acting=True)
    said = [(replace(WRONG, incident=f"i{n}", groups=("slack:S1",)), f"slack:T/U{n}") for n in range(3)]
    assert score_of(told(*said), "io-stall", policy).in_doubt
    assert not score_of(told(*said), "io-stall", replace(policy, approver_groups=frozenset({"slack:S2"}))).in_doubt
    assert not score_of(told(*((replace(mark, groups=()), by) for mark, by in said)), "io-stall", policy).in_doubt


def test_group_of_two_is_enough_where_a_mark_says_that_there_are_no_more() -> None:
    policy = Policy(approver_groups=frozenset({"slack:S1"}), acting=True)
    said = [(replace(WRONG, incident=f"i{n}", groups=("slack:S1",), approvers=2), f"slack:T/U{n}") for n in range(2)]
    assert not score_of(told(said[0]), "io-stall", policy).in_doubt
    assert score_of(told(*said), "io-stall", policy).in_doubt
    grown = (replace(WRONG, incident="i9", groups=("slack:S1",), approvers=9), "slack:T/U1")
    assert score_of(told(said[0], grown), "io-stall", policy).needed == ENOUGH, "nine may by now"
    shrunk = [(replace(grown[0], incident="i8"), "slack:T/U0"), *said]
    assert score_of(told(*shrunk), "io-stall", policy).in_doubt, "two of two, where nine could before"
    alone = (replace(said[1][0], incident="i7", right=True, approvers=1), "slack:T/U1")  # when nobody else might
    assert score_of(told(alone, grown), "io-stall", policy).needed == ENOUGH, "one of nine decides nothing"
    rota = [(replace(mark, right=n < 2, approvers=1), f"slack:T/U{n}") for n, (mark, _) in enumerate([*said, grown])]
    assert score_of(told(*rota), "io-stall", policy).needed == ENOUGH, "three are known who may approve, one at a time"
    assert not score_of(told(*rota), "io-stall", policy).in_doubt
    untold = (replace(said[1][0], approvers=0), "slack:T/U1")
    assert score_of(told((replace(said[0][0], approvers=1), said[0][1]), untold), "io-stall", policy).needed == ENOUGH
    named = replace(policy, approvers=frozenset({"teams:U9", "terminal:ann"}))
    for who in ("teams:T/U9", "terminal:ann"):  # of whom no group is, and who tell nothing of it
        assert score_of(told(said[0], (replace(WRONG, incident="i5"), who)), "io-stall", named).in_doubt
    strange = (replace(WRONG, incident="i9", approvers=1), "slack:T/U8")
    assert score_of(told(said[0], strange), "io-stall", policy).needed == 2


def test_looking_starts_the_count_anew_and_forgets_nothing() -> None:
    looked = (CauseLookedAt("io-stall", "raised"), "terminal:ann")
    after = (VerdictMarked("x", "io-stall", True), "slack:T/U1")
    score = score_of(told(*words(0, ENOUGH), looked, after), "io-stall", SEVERAL)
    assert (score.right, score.wrong, score.ever_right, score.ever_wrong) == (1, 0, 1, ENOUGH)
    assert not score.in_doubt
    assert score.looked_at is not None


def test_causes_count_apart() -> None:
    entries = told((RIGHT, "slack:T/U1"), (VerdictMarked("i2", "cpu-steal", False), "slack:T/U1"))
    assert [(each.cause, each.right, each.wrong) for each in scores(entries)] == [
        ("cpu-steal", 0, 1),
        ("io-stall", 1, 0),
    ]


def test_request_that_is_delivered_again_adds_nothing() -> None:
    by = "slack:T/U1"
    entries = told((replace(WRONG, request="c1"), by), (replace(RIGHT, request="c2"), by), (WRONG, by))
    assert delivered_before(entries, replace(WRONG, request="c1"), by) is entries[0]
    assert delivered_before(entries, replace(WRONG, request="c3"), by) is None
    assert delivered_before(entries, WRONG, by) is None, "it has no id"
    assert delivered_before(entries, replace(RIGHT, request="c2"), "slack:T/U2") is None


def test_word_that_is_taken_back_counts_no_more_and_can_be_said_again() -> None:
    by, policy = "slack:T/U1", Policy(approvers=frozenset({"slack:U9"}))
    back = replace(WRONG, taken_back=True)
    entries = told((WRONG, by), (RIGHT, "slack:T/U2"), (back, by), (WRONG, "terminal:ann"), (back, "terminal:ann"))
    assert [(mark.by, mark.right) for mark in marks_of(entries)] == [("slack:T/U2", True)]
    assert (score_of(entries, "io-stall").right, score_of(entries, "io-stall").wrong) == (1, 0)
    assert uncounted(entries, policy) == 0
    assert uncounted(entries[:4], policy) == 1


def test_mark_of_a_newer_program_is_left_out() -> None:
    newer = Entry(HOUSE, 1, entry(RIGHT, 1).at, "slack:T/U1", "VerdictMarked", {"form": 99}, "")
    assert marks_of([newer]) == ()
