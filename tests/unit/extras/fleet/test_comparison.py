"""A planted difference is found among noise, and nobody is called sick, healthy or the same without a reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.extras.fleet.chat_card import comparison_message
from bot.extras.fleet.comparison import (
    Comparison,
    compare,
    difference_body,
    difference_text,
    fisher,
    peers,
    says,
    without_cause,
)
from bot.extras.fleet.facts import facts_of, is_band, power_of_ten
from bot.extras.fleet.sweep import Found, NodeAnswer, NodeOutcome
from bot.surfaces.slack.drawing import draw
from bot.surfaces.teams.drawing import draw as draw_for_teams
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


CURED = NodeAnswer("cured", NodeOutcome.ANSWERED, "healthy", facts={"host": "read"})
WELL = NodeAnswer("well", NodeOutcome.ANSWERED, "healthy", facts={"host": "read"})


def sick(name: str) -> NodeAnswer:
    found = (Found(LEAK, "degraded", "possible", ""),)
    return NodeAnswer(name, NodeOutcome.ANSWERED, "degraded", found=found, facts={"host": "read"})


def test_named_node_without_the_cause_is_told() -> None:
    told = compare([sick("s"), CURED], [WELL])
    assert (told.without, peers(told)) == (("cured",), "1 peer without leaked-memory-cgroups by its signature")
    assert (
        without_cause(told) == "cured has none of these causes itself, and blurs the comparison: name the sick alone."
    )
    assert "cured has none" in difference_text(told, 200)


def test_no_peer_is_called_healthy_where_no_cause_could_leave_one_out() -> None:
    told = compare([CURED], [sick("s"), WELL])
    assert told.there == ("s", "well")
    for said in (difference_text(told, 200), draw(comparison_message(told)).text):
        assert "2 peers" in said
        assert "healthy peers" not in said
    assert "none need be healthy" in difference_text(told, 200)


def test_node_of_which_the_cause_is_not_known_is_not_told_as_without() -> None:
    in_doubt = NodeAnswer("d", NodeOutcome.UNKNOWN, facts={"host": "read"}, undecided={LEAK: "permission denied"})
    assert compare([in_doubt], [WELL]).without == ()


def test_nobody_to_compare_with_is_not_called_no_difference() -> None:
    told = compare([sick("s")], [sick("sick-too")])
    for said in (difference_text(told, 200), draw(comparison_message(told)).text):
        assert "nothing to compare with" in said
        assert f"sick-too (has {LEAK} too)" in said
        assert "differs" not in said


def node(name: str, facts: Mapping[str, str], *causes: str) -> NodeAnswer:
    found = tuple(Found(cause, "degraded", "possible", "") for cause in causes)
    probes = {"host": "read", "cgroups": "read", "units": "read"}
    facts = {**probes, **{f"host.same{at}": "x" for at in range(20)}, **facts}
    return NodeAnswer(name, NodeOutcome.ANSWERED, "degraded" if causes else "healthy", found=found, facts=facts)


ODD = {
    "cgroups.alive": "1,000 to 9,999",
    "cgroups.mode": "v1",
    "host.kernel": "5.4.0-1084-aws",
    "units.services[ecs.service]": "there",
}
USUAL = {"cgroups.alive": "100 to 999", "cgroups.mode": "v2", "host.kernel": "6.1.0-13-amd64"}


def said_of(told: Comparison) -> tuple[str, str, str]:
    """What the terminal says, in one line, and what the cards of Slack and Teams say."""
    cards = [drawn(comparison_message(told)) for drawn in (draw, draw_for_teams)]
    slack, teams = (f"{card.text} {json.dumps(card.blocks, ensure_ascii=False)}" for card in cards)
    return " ".join(difference_text(told, 200).split()), slack, teams


def test_one_node_against_one_lists_plain_differences_as_such_settings_first_and_numbers_last() -> None:
    told = compare([node("gpu-1", ODD)], [node("gpu-2", USUAL)])
    assert (told.is_too_few, told.at_best) == (True, 1.0)
    lines = [line.strip() for line in difference_text(told, 200).splitlines()]
    assert lines[-4:] == [
        "cgroups.mode: v1 here, v2 on the only peer",
        "host.kernel: 5.4.0-1084-aws here, 6.1.0-13-amd64 on the only peer",
        "units.services[ecs.service]: present here, absent on the only peer",
        "cgroups.alive: 1,000 to 9,999 here, 100 to 999 on the only peer",
    ]
    too_few = (
        "Too few to tell from chance: with 1 beside 1, even the clearest difference has a corrected p of 1, and only "
        "below 0.05 is telling. Plain differences, numbers last:"
    )
    assert lines[-5] == too_few
    for said in said_of(told):
        assert too_few in said
        assert "Nothing" not in said
        assert "unlikely by chance, even among so many" not in said


def test_cards_of_too_few_have_the_words_of_the_terminal() -> None:
    told = compare([node("gpu-1", ODD, LEAK)], [node(f"p{at}", USUAL) for at in range(29)])
    said = said_of(told)
    for words in (
        "beside 29 peers without leaked-memory-cgroups by its signature",
        "with 1 beside 29, even the clearest difference has a corrected p of 0.13",
        "cgroups.mode: v1 here, v2 on all 29 peers",
        "units.services[ecs.service]: present here, absent on all 29 peers",
    ):
        assert all(words in each for each in said), words
    for cell in ("present here", "absent on all 29 peers"):
        assert all(f'"{cell}"' in card for card in said[1:])
    assert not [word for word in ("healthy", "there none", "here there") if any(word in each for each in said)]


def test_what_is_telling_is_listed_and_what_may_be_chance_only_with_full() -> None:
    here = [node(f"gpu-{at}", ODD | {"host.zone": "ab"[at % 3 == 0]}, LEAK) for at in range(5)]
    told = compare(here, [node(f"p{at}", USUAL | {"host.zone": "ab"[at % 4 == 0]}) for at in range(29)])
    text = difference_text(told, 200)
    assert "4 telling among 25 facts compared with 29 peers: unlikely by chance, even among so many." in text
    assert "    host.kernel: 5.4.0-1084-aws here, 6.1.0-13-amd64 on all 29 peers (surprise 5.4, telling)" in text
    assert "… and 1 more: zombie diff --full" in text
    assert "host.zone" not in text
    full = difference_text(told, 200, full=True)
    assert "host.zone: a (3 of 5), b (2 of 5) here, a (21 of 29), b (8 of 29) among 29 peers (surprise 0.2)" in full
    assert "--full" not in full
    assert [each["fact"] for each in difference_body(told)["differences"]][-1] == "host.zone"


def test_nothing_telling_is_one_line() -> None:
    here = [node(f"gpu-{at}", {"host.zone": "ab"[at % 3 == 0]}, LEAK) for at in range(5)]
    told = compare(here, [node(f"p{at}", {"host.zone": "ab"[at % 4 == 0]}) for at in range(29)])
    one = "Nothing telling among 21 facts compared with 29 peers; 1 may be chance (zombie diff --full)."
    assert difference_text(told, 200).splitlines()[1:] == ["", f"  {one}"]
    assert all(one in said for said in said_of(told))
    assert difference_body(told)["says"] == one
    same = compare([node("a", {}, LEAK)], [node("b", {})])
    assert difference_text(same, 200).splitlines()[1:] == ["", "  Nothing differs among 20 facts compared with 1 peer."]


def test_too_few_whose_values_overlap_are_told_as_such_and_not_as_the_same() -> None:
    told = compare(
        [node("a", {"host.zone": "a"}, LEAK)], [node("p", {"host.zone": "a"}), node("q", {"host.zone": "b"})]
    )
    assert difference_text(told, 200).rstrip().endswith("No value sets the two sides apart.")


def test_node_that_was_not_read_is_not_counted_among_those_that_have_a_value() -> None:
    unread = NodeAnswer("p9", NodeOutcome.ANSWERED, facts={"host": "read"})
    told = compare([node("a", ODD), unread], [node("p0", USUAL), node("p1", USUAL), replace(unread, node="p2")])
    mode = next(each for each in told.differences if each.fact == "cgroups.mode")
    assert says(mode, told) == "cgroups.mode: v1 on 1 of 2 here, v2 on 2 of 3 peers"


def test_several_causes_are_named_with_their_signatures() -> None:
    told = compare([node("a", {}, LEAK, "disk-full")], [node(f"p{at}", {}) for at in range(2)])
    assert peers(told) == "2 peers without leaked-memory-cgroups or disk-full by their signatures"


def test_document_for_programs_keeps_its_keys_and_values() -> None:
    body = difference_body(compare([node("a", ODD, LEAK)], [node("p", USUAL)]))
    assert body["schema"] == 1
    assert {"here", "there", "causes", "without_cause", "left_out", "not_evidence_of_health", "tried"} <= set(body)
    assert (body["too_few"], body["compared"], body["tried"]) == (True, 24, 4)
    unit = next(each for each in body["differences"] if each["fact"] == "units.services[ecs.service]")
    assert unit == {
        "fact": "units.services[ecs.service]",
        "here": "there",
        "there": "none",
        "says": "units.services[ecs.service]: present here, absent on the only peer",
        "surprise": 0.0,
        "corrected": 1.0,
        "telling": False,
    }


COUNTS = st.tuples(st.integers(1, 12), st.integers(1, 30), st.integers(1, 40))


@given(COUNTS, st.data())
def test_nothing_is_telling_where_too_few_are_compared_and_the_clearest_is_where_they_are_not(
    counts: tuple[int, int, int], data: st.DataObject
) -> None:
    sick, spared, facts = counts
    names = [f"host.f{at}" for at in range(facts)]
    value = st.sampled_from("ab")
    here = [node(f"s{at}", {name: data.draw(value) for name in names}, LEAK) for at in range(sick)]
    there = [node(f"p{at}", {name: data.draw(value) for name in names}) for at in range(spared)]
    told = compare(here, there)
    if told.is_too_few:
        assert not [each for each in told.differences if each.is_telling]
    clear = compare(
        [replace(each, facts={**each.facts, "host.clear": "x"}) for each in here],
        [replace(each, facts={**each.facts, "host.clear": "y"}) for each in there],
    )
    if not clear.is_too_few:
        assert next(each for each in clear.differences if each.fact == "host.clear").is_telling
