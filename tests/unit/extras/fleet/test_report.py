"""Counts over a fleet: shares with intervals that hold, groups by label, names never merged, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from bot.actions import ACTIONS
from bot.app.cases import surroundings
from bot.app.factories import library
from bot.domain.batch import Sampling
from bot.domain.entry import Entry, body_of, kind_of
from bot.domain.house_events import HOUSE, CauseMuted
from bot.domain.mute_record import GivenMutes
from bot.domain.node import Node
from bot.domain.sample import Sample
from bot.extras.fleet.report import FleetReport, Prevalence, answer_line, fleet_body, fleet_text, report, rest_text
from bot.extras.fleet.run import ChunkReader
from bot.extras.fleet.sweep import Found, JudgedBy, NodeAnswer, NodeOutcome, Sweep
from bot.response.diagnosis.triage import Triage
from bot.transport.case_file import load
from bot.transport.replay import ReplayTransport
from tests.contract.test_why import FOUNDING

LEAK = "leaked-memory-cgroups"
JUDGED = {LEAK: JudgedBy.SIGNATURE}
SEEDS = range(200)


def nodes(count: int) -> list[Node]:
    return [
        Node(f"n{at}", "10.0.0.1", labels={"az": "abc"[at % 3], "instance_id": f"i-{at}", "rack": f"r{at}"})
        for at in range(count)
    ]


def answer(name: str, *, sick: bool = False, **more: object) -> NodeAnswer:
    found = (Found(LEAK, "degraded", "possible", "70,000 dying"),) if sick else ()
    return NodeAnswer(name, NodeOutcome.ANSWERED, "degraded" if sick else "healthy", found=found, **more)  # type: ignore[arg-type]


def unreachable(name: str) -> NodeAnswer:
    return NodeAnswer(name, NodeOutcome.UNREACHABLE, "unreachable", unreachable_class="refused")


def counted(asked: list[Node], answers: list[NodeAnswer], selected: int | None = None) -> FleetReport:
    return report(asked, answers, JUDGED, selected=len(asked) if selected is None else selected, seconds=1.0)


@pytest.mark.parametrize(("sample", "asked"), [("5%", 100), ("60", 60)])
def test_planted_prevalence_lies_inside_the_interval_of_a_sample_in_91_of_100_seeds(sample: str, asked: int) -> None:
    fleet = nodes(2_000)
    inside = 0
    for seed in SEEDS:
        random = Random(seed)
        sick = {node.name for node in random.sample(fleet, 160)}  # 8 %
        drawn = list(Sample.of(sample).draw(fleet, random))
        told = counted(drawn, [answer(node.name, sick=node.name in sick) for node in drawn], len(fleet))
        low, high = told.causes[0].prevalence.interval
        assert told.asked == asked
        assert not told.causes[0].prevalence.is_exact
        inside += low <= 0.08 <= high
    assert inside >= 0.91 * len(SEEDS), inside


def test_whole_fleet_that_was_read_is_exact() -> None:
    fleet = nodes(50)
    told = counted(fleet, [answer(node.name, sick=node.name in ("n1", "n2", "n3", "n4")) for node in fleet])
    assert (told.causes[0].prevalence.share, told.causes[0].prevalence.is_exact) == (0.08, True)
    assert "every node was read" in told.causes[0].prevalence.says


def test_fleet_of_which_one_node_cannot_be_told_is_not_exact() -> None:
    fleet = nodes(3)
    open_ = NodeAnswer("n2", NodeOutcome.ANSWERED, "healthy", undecided={LEAK: "permission denied"})
    told = counted(fleet, [answer("n0", sick=True), answer("n1"), open_]).causes[0]
    assert (told.undecided, told.prevalence.is_exact) == (("n2",), False)
    assert told.prevalence.says == "1 of 3: 33 % (6 to 79 % of all)"


def test_share_is_of_those_who_answered_and_who_did_not_is_not_healthy() -> None:
    fleet = nodes(6)
    unknown = NodeAnswer("n2", NodeOutcome.UNKNOWN, "unknown", undecided={LEAK: "permission denied"})
    told = counted(fleet, [answer("n0", sick=True), answer("n1"), unknown, unreachable("n3")])
    count = told.causes[0]
    assert (told.asked, told.answered, told.is_whole) == (6, 3, False)
    assert (count.prevalence.found, count.prevalence.asked, count.undecided) == (1, 3, ("n2",))
    assert not count.prevalence.is_exact
    assert [told.unknown[0].node, told.unreachable[0].node] == ["n2", "n3"]


def test_groups_are_those_that_group_and_not_those_that_name() -> None:
    fleet = nodes(60)
    told = counted(
        fleet, [answer(node.name, sick=node.labels["az"] == "a", traits={"kernel": "5.4"}) for node in fleet]
    )
    assert set(told.by) == {"az", "kernel"}
    assert [(group.asked, group.answered, group.causes) for group in told.by["az"].values()] == [
        (20, 20, {LEAK: 20}), (20, 20, {}), (20, 20, {})
    ]  # fmt: skip


def test_answer_that_came_twice_counts_once_and_equal_machines_are_told_and_not_merged() -> None:
    fleet = nodes(3)
    same = [answer(node.name, sick=True, machine_id="m1") for node in fleet[:2]]
    told = counted(fleet, [*same, same[0], answer("n2", machine_id="m2")])
    assert told.causes[0].nodes == ("n0", "n1")
    assert told.same_machines == (("m1", ("n0", "n1")),)


def test_interval_is_wilsons() -> None:
    # statsmodels.stats.proportion.proportion_confint(k, n, method="wilson")
    for found, asked, low, high in ((0, 20, 0.0, 0.161125), (8, 100, 0.041090, 0.149980), (20, 20, 0.838875, 1.0)):
        assert Prevalence(found, asked).interval == pytest.approx((low, high), abs=1e-5)
    assert Prevalence(0, 0).interval == (0.0, 1.0)


def text(*answers: NodeAnswer) -> str:
    nodes = [Node("n1", "10.0.0.1"), Node("n2", "10.0.0.2")]
    return fleet_text(report(nodes, answers, {LEAK: JudgedBy.SIGNATURE}, selected=2, seconds=1.0), 100)


def test_nothing_counts_as_not_found_where_nobody_answered() -> None:
    gone = NodeAnswer("n2", NodeOutcome.UNREACHABLE, "unreachable", unreachable_class="refused")
    assert f"Not found: {LEAK}" in text(NodeAnswer("n1", NodeOutcome.ANSWERED, "healthy"), gone)
    assert "Not found" not in text(gone)
    assert "Not found" not in text()


def test_share_of_nobody_is_not_zero() -> None:
    gone = NodeAnswer("n1", NodeOutcome.UNREACHABLE, "unreachable", unreachable_class="refused")
    found = report([Node("n1", "10.0.0.1")], [gone], {LEAK: JudgedBy.SIGNATURE}, selected=1, seconds=1.0)
    assert [cause["share"] for cause in fleet_body(found)["causes"]] == [None]


SAYS = "57,382 dying memory cgroups beside 240 alive: present, not proven; no harm seen on this kernel"
HAS = NodeAnswer("n1", NodeOutcome.ANSWERED, "degraded", LEAK, found=(Found(LEAK, "degraded", "possible", SAYS),))
WELL = NodeAnswer("n2", NodeOutcome.ANSWERED, "healthy")
GONE = NodeAnswer(
    "n2", NodeOutcome.UNREACHABLE, "unreachable", because="n2 is silent", unreachable_class="banner-stall"
)


def test_single_look_says_what_was_seen_and_no_status() -> None:
    assert answer_line(HAS, verdicts=False) == f"n1  {LEAK}: 57,382 dying memory cgroups beside 240 alive"
    assert answer_line(WELL, verdicts=False) == "n2  none of it was seen"
    assert answer_line(GONE, verdicts=False) == "n2  UNREACHABLE  n2 is silent"
    assert answer_line(HAS) == f"n1  DEGRADED  {LEAK} (possible)", "a whole check has a verdict"
    told = text(HAS, WELL)
    assert "    n1  57,382 dying memory cgroups beside 240 alive\n" in told
    for judged in ("degraded", "healthy", "no harm", "present, not proven"):
        assert judged not in told.lower()


def test_what_a_node_says_is_shown_as_it_is_and_cut_at_the_width() -> None:
    hostile = Found(LEAK, "degraded", "possible", "\x1b[31mred \u202e" + "x" * 200)
    told = text(NodeAnswer("n1", NodeOutcome.ANSWERED, "degraded", LEAK, found=(hostile,)), WELL)
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert max(map(len, told.splitlines())) <= 100


def test_what_answered_is_shown_with_who_follows_and_repeated_only_where_the_counts_change() -> None:
    nodes = [Node("n1", "10.0.0.1"), Node("n2", "10.0.0.2")]
    judged = {LEAK: JudgedBy.SIGNATURE}
    early = report(nodes, [HAS], judged, selected=2, seconds=1.2)
    assert fleet_text(early, goes_on=True).startswith("1 of 2 nodes answered so far, in 1.2 s. These follow: n2\n")
    assert fleet_text(early).startswith("1 of 2 nodes answered; stopped after 1 of them, in 1.2 s\n")
    for late in (GONE, WELL):
        whole = report(nodes, [HAS, late], judged, selected=2, seconds=9.5)
        assert rest_text(whole, {"n1"}) == f"\n{whole.answered} of 2 nodes answered, in 9.5 s\n"
    also = NodeAnswer("n2", NodeOutcome.ANSWERED, "degraded", LEAK, found=HAS.found)
    whole = report(nodes, [HAS, also], judged, selected=2, seconds=4.0)
    assert rest_text(whole, {"n1"}) == "\n" + fleet_text(whole)


async def test_sweep_of_whole_checks_says_on_which_nodes_a_cause_is_muted() -> None:
    case = load(FOUNDING)
    at, sweep = case.head.taken_at, Sweep.of(library().get("node-health"), full=True)
    known, _ = surroundings(case.head)
    accepted, other = replace(known, name="n1"), replace(known, name="n2")
    muted = CauseMuted(LEAK, "n1", at + timedelta(days=1), "known")
    mutes = GivenMutes((Entry(HOUSE, 1, at, "terminal:ann", kind_of(muted), body_of(muted), ""),))
    triage = Triage(ReplayTransport(case), ACTIONS, lambda: at, Sampling(case.head.samples), mutes=mutes)
    answers = list[NodeAnswer]()
    await ChunkReader(triage, sweep, 2).read([accepted, other], answers.append)
    found = report([accepted, other], answers, sweep.judged, selected=2, seconds=1.0)
    (leak,) = (count for count in found.causes if count.cause == LEAK)
    assert (leak.nodes, leak.muted) == (("n1", "n2"), ("n1",))
    assert "muted on 1 of them: n1" in fleet_text(found)
    assert [cause["muted"] for cause in fleet_body(found)["causes"] if cause["cause"] == LEAK] == [["n1"]]
    assert {answer.node: f"{LEAK} (confirmed, muted)" in answer_line(answer) for answer in found.answers} == {
        "n1": True,
        "n2": False,
    }
