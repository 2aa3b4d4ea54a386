"""Of a sweep by the clock only what is new or nearer to harm is told; who did not answer has not recovered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.domain.growth import CountSample, Growth, HarmThreshold
from bot.domain.json_form import read, to_json_types
from bot.domain.node import Node
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.report import FleetReport, report
from bot.extras.fleet.sweep import Found, JudgedBy, NodeAnswer, NodeOutcome
from bot.extras.fleet.sweeps import PostedSweep, ScheduledSweep, digest, digest_card
from bot.surfaces.slack.drawing import draw

LEAK = "leaked-memory-cgroups"
BEGAN = datetime(2026, 11, 22, 3, tzinfo=UTC)
SWEEP = ScheduledSweep("s", timedelta(hours=6), FleetRequest(("role=gpu",), (LEAK,)), "C1", ((22 * 60, 6 * 60),))


def seen(**nodes: str) -> FleetReport:
    """A report: by node "sick", "well", "silent" or "unknown"."""
    answers = []
    for name, how in nodes.items():
        outcome = {"silent": NodeOutcome.UNREACHABLE, "unknown": NodeOutcome.UNKNOWN}.get(how, NodeOutcome.ANSWERED)
        found = (Found(LEAK, "degraded", "possible", "many"),) if how == "sick" else ()
        undecided = {LEAK: "not read"} if how == "unknown" else {}
        status = {"silent": "unreachable", "unknown": "unknown", "sick": "degraded"}.get(how, "healthy")
        answers.append(NodeAnswer(name, outcome, status, found=found, undecided=undecided))
    known = [Node(name, name) for name in nodes]
    return report(known, answers, {LEAK: JudgedBy.SIGNATURE}, selected=len(known), seconds=1.0)


def growing(days_left: float) -> Mapping[tuple[str, str], Growth]:
    looks = (CountSample(BEGAN - timedelta(days=1), 1_000), CountSample(BEGAN, 2_000))
    harm = HarmThreshold(2_000 + 1_000 * days_left, "each read holds a core for 2 s")
    rate = 1_000 / 24
    return {("a", LEAK): Growth(LEAK, "dying memory cgroups", looks, 9, rate, rate * 0.9, rate * 1.1, harm)}


def test_what_is_new_is_told_once() -> None:
    first = digest(PostedSweep(), seen(a="sick", b="well"), {})
    assert first.is_news
    assert first.new == {LEAK: ("a",)}
    assert not digest(first.posted, seen(a="sick", b="well"), {}).is_news
    later = digest(first.posted, seen(a="sick", b="sick"), {})
    assert later.new == {LEAK: ("b",)}


def test_who_did_not_answer_is_neither_gone_nor_new_again() -> None:
    told = digest(PostedSweep(), seen(a="sick"), {}).posted
    for how in ("silent", "unknown"):
        away = digest(told, seen(a=how), {})
        assert (away.is_news, away.gone) == (False, {})
        assert not digest(away.posted, seen(a="sick"), {}).is_news


def test_what_is_gone_is_said_and_calls_nobody_and_is_new_when_back() -> None:
    told = digest(PostedSweep(), seen(a="sick"), {}).posted
    gone = digest(told, seen(a="well"), {})
    assert (gone.gone, gone.is_news) == ({LEAK: ("a",)}, False)
    assert digest(gone.posted, seen(a="sick"), {}).new == {LEAK: ("a",)}


def test_node_that_is_no_longer_selected_is_not_called_gone() -> None:
    told = digest(PostedSweep(), seen(a="sick", b="sick"), {}).posted
    left = digest(told, seen(b="well", c="sick"), {})
    assert (left.gone, left.unasked) == ({LEAK: ("b",)}, {LEAK: ("a",)})
    assert f"no longer asked: {LEAK}" in str(draw(digest_card(SWEEP, left)).blocks)


def test_harm_is_told_when_it_comes_within_a_week_and_again_at_half_the_time() -> None:
    told = digest(PostedSweep(), seen(a="sick"), growing(30)).posted
    assert not digest(told, seen(a="sick"), growing(8)).is_news
    near = digest(told, seen(a="sick"), growing(6))
    assert [node for node, _ in near.nearer] == ["a"]
    assert not digest(near.posted, seen(a="sick"), growing(4)).is_news
    nearer = digest(near.posted, seen(a="sick"), growing(2.9))
    assert nearer.is_news
    assert not nearer.is_urgent
    there = digest(nearer.posted, seen(a="sick"), growing(-0.5))
    assert there.is_urgent
    assert not digest(there.posted, seen(a="sick"), growing(-1)).is_news, "harm that was told is not told again"


def test_a_cured_node_is_nearer_again_when_it_leaks_again() -> None:
    told = digest(PostedSweep(), seen(a="sick"), growing(2)).posted
    cured = digest(told, seen(a="well"), {})
    assert digest(cured.posted, seen(a="sick"), growing(5)).nearer


def test_quiet_hours_go_over_midnight_and_slots_are_the_same_for_all() -> None:
    assert SWEEP.is_quiet(BEGAN)
    assert SWEEP.is_quiet(BEGAN.replace(hour=23))
    assert not SWEEP.is_quiet(BEGAN.replace(hour=6))
    assert not replace(SWEEP, quiet=()).is_quiet(BEGAN)
    assert SWEEP.slot(BEGAN) == SWEEP.slot(BEGAN + timedelta(hours=2, minutes=59))
    assert SWEEP.slot(BEGAN + timedelta(hours=3)) == SWEEP.slot(BEGAN) + 1


def test_what_was_told_is_read_as_it_was_kept() -> None:
    told = digest(PostedSweep(), seen(a="sick", b="silent"), growing(2)).posted
    assert read(PostedSweep, to_json_types(told)) == told


def test_the_digest_says_what_is_new_near_and_gone_and_names_nobody_by_markup() -> None:
    before = digest(PostedSweep(), seen(c="sick"), {}).posted
    found = digest(before, seen(a="sick", c="well"), growing(2))
    card = draw(digest_card(SWEEP, found))
    assert card.text.startswith("Sweep of role=gpu: 1 new, 1 nearer to harm.")
    whole = str(card.blocks)
    for words in ("new: leaked-memory-cgroups", "gone: leaked-memory-cgroups", "In about 2 d", "/zombie check NODE"):
        assert words in whole
