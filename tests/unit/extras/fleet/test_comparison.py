"""A planted difference is found among noise, chance is called chance, and accidents are no evidence of health."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.extras.fleet.comparison import compare, fisher
from bot.extras.fleet.facts import facts_of, is_band, power_of_ten
from bot.extras.fleet.sweep import Found, NodeAnswer, NodeOutcome
from tests.unit.causes import builders as b

LEAK = "leaked-memory-cgroups"
SEEDS = range(100)


def answer(name: str, facts: Mapping[str, str], *causes: str, **more: Any) -> NodeAnswer:
    found = tuple(Found(cause, "degraded", "possible", "", ("ecs.service",)) for cause in causes)
    return NodeAnswer(name, NodeOutcome.ANSWERED, "degraded" if causes else "healthy", found=found, facts=facts, **more)


def noisy(random: Random, planted: float) -> dict[str, str]:
    """Thirty facts as they fall, and one that has to do with it; the frequencies are the facts' own."""
    facts = {"host": "read"}
    for at in range(30):
        often = 0.1 + 0.8 * (at / 29)
        facts[f"host.noise{at:02}"] = random.choices(["a", "b", "c"], [often, 1 - often, 0.05])[0]
    facts["host.planted"] = "yes" if random.random() < planted else "no"
    return facts


@pytest.mark.parametrize(("sick", "healthy"), [(8, 40), (20, 20)])
def test_planted_difference_is_among_the_first_three_of_thirty_noisy_facts_in_95_of_100_seeds(
    sick: int, healthy: int
) -> None:
    first_three = 0
    for seed in SEEDS:
        random = Random(seed)
        here = [answer(f"s{at}", noisy(random, 0.9), LEAK) for at in range(sick)]
        there = [answer(f"h{at}", noisy(random, 0.15)) for at in range(healthy)]
        told = [difference.fact for difference in compare(here, there).differences[:3]]
        first_three += "host.planted" in told
    assert first_three >= 0.95 * len(SEEDS), first_three


def test_chance_is_rarely_called_telling() -> None:
    wrong = 0
    for seed in SEEDS:
        random = Random(1_000 + seed)
        here = [answer(f"s{at}", noisy(random, 0.5), LEAK) for at in range(10)]
        there = [answer(f"h{at}", noisy(random, 0.5)) for at in range(30)]
        wrong += any(difference.is_telling for difference in compare(here, there).differences)
    assert wrong <= 0.05 * len(SEEDS), wrong


def test_what_is_every_nodes_own_and_what_was_not_read_is_no_difference() -> None:
    here = [answer("s0", {"host": "read", "host.serial": "S0", "units": "read", "units.x": "1"}, LEAK)]
    there = [answer(f"h{at}", {"host": "read", "host.serial": f"H{at}"}) for at in range(9)]
    told = compare(here, there)
    assert (told.differences, told.tried) == ((), 0)


def test_entry_that_is_missing_where_its_probe_was_read_is_absent_and_told_once() -> None:
    entry = {"units.services[ecs.service]": "there", "units.services[ecs.service].active": "active"}
    here = [answer(f"s{at}", {"units": "read", **entry}, LEAK) for at in range(3)]
    told = compare(here, [answer(f"h{at}", {"units": "read"}) for at in range(9)])
    assert [(d.fact, dict(d.here), dict(d.there)) for d in told.differences] == [
        ("units.services[ecs.service]", {"there": 3}, {"none": 9})
    ]
    assert told.differences[0].is_telling


def test_peers_that_are_not_healthy_are_left_out_and_said() -> None:
    peers = [
        answer("sick-too", {"host": "read"}, LEAK),
        answer("open", {"host": "read"}, undecided={LEAK: "permission denied"}),
        NodeAnswer("gone", NodeOutcome.UNREACHABLE, "unreachable", because="refused", unreachable_class="refused"),
        answer("well", {"host": "read"}),
    ]
    told = compare([answer("s", {"host": "read"}, LEAK)], peers)
    assert told.there == ("well",)
    assert {out.node: out.because.split(":")[0] for out in told.left_out} == {
        "sick-too": f"has {LEAK} too",
        "open": f"{LEAK} is not known for it",
        "gone": "unreachable",
    }


def zone(name: str, active: str, result: str = "success", enabled: str = "enabled") -> dict[str, str]:
    entry = "units.services[ecs.service]"
    unit = {entry: "there", f"{entry}.active": active, f"{entry}.enabled": enabled, f"{entry}.result": result}
    return {"units": "read", **unit, "label.az": name}


FAILED_ZONE = [answer(f"c{at}", zone("1c", "failed", "resources")) for at in range(5)]
LEAKING = [answer(f"a{at}", zone("1a", "activating"), LEAK) for at in range(5)]


def test_zone_that_is_healthy_because_another_fault_kept_the_agent_down_is_no_evidence_of_health() -> None:
    told = compare(LEAKING, FAILED_ZONE)
    assert [(accident.unit, accident.result, len(accident.nodes)) for accident in told.accidents] == [
        ("ecs.service", "resources", 5)
    ]
    assert told.there == ("c0", "c1", "c2", "c3", "c4")  # nobody else is there to compare with
    assert {difference.fact for difference in told.differences} >= {"label.az", "units.services[ecs.service].active"}
    assert all(difference.remark.startswith("Not evidence of health") for difference in told.differences)


def test_true_peers_are_compared_without_those_that_are_healthy_by_accident() -> None:
    disabled = [answer(f"b{at}", zone("1b", "inactive", enabled="disabled")) for at in range(5)]
    told = compare(LEAKING, [*FAILED_ZONE, *disabled])
    assert told.there == tuple(f"b{at}" for at in range(5))
    assert [out.because for out in told.left_out] == ["spared only by accident"] * 5
    facts = {difference.fact: difference for difference in told.differences}
    assert dict(facts["units.services[ecs.service].enabled"].there) == {"disabled": 5}
    assert facts["units.services[ecs.service].enabled"].remark == ""


def test_counts_of_the_causes_own_signature_are_the_cause_and_no_difference() -> None:
    many, few = ({"cgroups": "read", "cgroups.dying": power_of_ten(count)} for count in (70_000, 20))
    here = [answer(f"s{at}", many | {"cgroups.mode": "v1"}, LEAK) for at in range(4)]
    there = [answer(f"h{at}", few | {"cgroups.mode": "v2"}) for at in range(9)]
    told = compare(here, there, {LEAK: ("cgroups", "host")})
    assert [difference.fact for difference in told.differences] == ["cgroups.mode"]


@given(*[st.integers(0, 40)] * 4)
def test_fisher_is_a_probability_and_the_same_from_every_side(a: int, b_: int, c: int, d: int) -> None:
    p = fisher(a, b_, c, d)
    assert 0.0 <= p <= 1.0
    assert p == pytest.approx(fisher(c, d, a, b_)) == pytest.approx(fisher(a, c, b_, d))


def test_fisher_against_known_tables() -> None:
    # The first as scipy.stats.fisher_exact tells it, the last as R's fisher.test(Convictions).
    for table, p in (((8, 2, 1, 5), 0.034965), ((1, 0, 0, 40), 1 / 41), ((2, 15, 10, 3), 0.0005367)):
        assert fisher(*table) == pytest.approx(p, rel=1e-3)


def test_facts_of_a_node_name_no_machine_and_two_healthy_ones_say_nearly_the_same() -> None:
    first, second = (facts_of(b.node(b.host(hostname=name, machine_id=name * 8))) for name in ("x1", "x2"))
    assert first == second
    assert first["units"] == "read"
    assert first["units.services[kubelet.service].active"] == "active"
    assert first["host.kernel"] == "5.4.0-1084-aws"
    assert all(len(value) <= 80 and "\n" not in value for value in first.values())


def test_what_was_not_read_has_no_facts() -> None:
    facts = facts_of(b.node(b.unread("units")))
    assert not [fact for fact in facts if fact.startswith("units")]


@given(st.integers(-5, 10**9))
def test_every_number_is_a_band(number: int) -> None:
    assert is_band(power_of_ten(number))
