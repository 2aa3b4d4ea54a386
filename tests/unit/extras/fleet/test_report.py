"""Counts over a fleet: shares with intervals that hold, groups by label, and names that are never merged."""

from random import Random

import pytest

from bot.domain.node import Node
from bot.domain.sample import Sample
from bot.extras.fleet.report import FleetReport, Prevalence, report
from bot.extras.fleet.sweep import Found, JudgedBy, NodeAnswer, NodeOutcome

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
