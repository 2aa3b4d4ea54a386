"""What is told of a node beside its peers: planted differences are found, and healthy nodes are left in peace."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.extras.fleet.facts import ABSENT, PRESENT, READ, Fact
from bot.extras.unusual.unusual_facts import FEWEST_OF_SICK, FEWEST_PEERS, SAID, NodeFacts, Peers, compare, rates
from tests.unit.extras.unusual.fleets import AT, KINDS, PLANTED, base, fleet, peers_of, planted

CHECKED = 20  # nodes of each fleet
TOO_SMALL = "3 errors an hour"  # within what a count may be off by chance
WIDTH, DRIVER, SSH = "gpu.width", "gpu.driver", "units.u[ssh]"
USUAL: dict[str, Fact] = {"gpu": READ, "units": READ, WIDTH: 16.0, DRIVER: "570.1", SSH: PRESENT}
MANY: dict[str, Fact] = {f"gpu.fact{number}": "yes" for number in range(60)}
NARROW: dict[str, Fact] = {WIDTH: 8.0}


def node(
    name: str = "here", facts: dict[str, Fact] | None = None, *, healthy: bool = False, days: int = 0
) -> NodeFacts:
    return NodeFacts(name, AT + timedelta(days=days), healthy, USUAL | MANY | (facts or {}))


def alike(count: int, *others: NodeFacts) -> Peers:
    peers = Peers()
    for each in (*(node(f"peer-{number}", healthy=True) for number in range(count)), *others):
        peers.add(each)
    return peers


def varied() -> list[NodeFacts]:
    return [node(f"v{number}", {WIDTH: float(number)}, healthy=True) for number in range(1, 61)]


def says(here: NodeFacts, peers: Peers, *past: NodeFacts) -> list[str]:
    return [each.says for each in compare(here, peers, past).unusual]


def without(here: NodeFacts, *beginnings: str) -> NodeFacts:
    return replace(here, facts={fact: value for fact, value in here.facts.items() if not fact.startswith(beginnings)})


def test_figure_and_state_are_told_with_what_the_peers_have() -> None:
    assert sorted(says(node("n", {WIDTH: 8.0, DRIVER: "535"}), alike(211))) == [
        "gpu.driver: 535 here, 570.1 on its 211 peers",
        "gpu.width: 8 here, 16 on its 211 peers",
    ]


def test_entry_that_is_here_alone_or_here_alone_lacking_is_told() -> None:
    assert says(without(node(), SSH), alike(50)) == ["units.u[ssh]: absent here, present on its 50 peers"]
    assert says(node("n", {"units.u[miner]": PRESENT}), alike(50)) == [
        "units.u[miner]: present here, absent on its 50 peers"
    ]


def test_entry_of_a_probe_that_was_not_read_is_not_absent() -> None:
    assert says(without(node(), "units"), alike(50)) == []


def test_where_a_peer_differs_too_standing_out_is_ordinary() -> None:
    own = (node("p1", {"units.u[one]": PRESENT}, healthy=True), node("p2", {DRIVER: "550"}, healthy=True))
    assert says(node("n", {DRIVER: "535", "units.u[two]": PRESENT}), alike(50, *own)) == []


@pytest.mark.parametrize(("figure", "is_told"), [(30.5, False), (60.0, False), (70.0, False), (60_000.0, True)])
def test_figure_is_told_beyond_its_peers_farther_than_they_vary(figure: float, is_told: bool) -> None:
    assert [each.partition(":")[0] for each in says(node("n", {WIDTH: figure}), alike(0, *varied()))] == [
        WIDTH
    ] * is_told


def test_peers_that_stood_out_raise_the_bar() -> None:
    peers = alike(0, *varied(), replace(node("v0", healthy=True), stood_out=30.0))
    assert says(node("n", {WIDTH: 60_000.0}), peers) == []


@pytest.mark.parametrize(("healthy", "fewest"), [(True, FEWEST_PEERS), (False, FEWEST_OF_SICK)])
def test_too_few_peers_say_nothing(healthy: bool, fewest: int) -> None:
    odd = node("n", NARROW, healthy=healthy)
    assert says(odd, alike(fewest - 1)) == []
    assert says(odd, alike(fewest)) == [f"gpu.width: 8 here, 16 on its {fewest} peers"]


def test_node_without_peers_is_compared_with_its_own_past_where_something_is_wrong() -> None:
    past = [node(healthy=True, days=day) for day in range(3)]
    odd = node("n", NARROW, days=4)
    assert says(odd, Peers(), *past) == ["gpu.width: 8 here, 16 on its 3 earlier checks, not so at the check before"]
    assert says(replace(odd, is_healthy=True), Peers(), *past) == []
    assert says(odd, Peers(), *past[:2]) == []


def test_it_says_since_which_check_it_is_so() -> None:
    past = [node(days=0), node(days=1), node("n", NARROW, days=2), node("n", NARROW, days=3)]
    (told,) = compare(node("n", NARROW, days=4), alike(50), past).unusual
    assert told.since == (AT + timedelta(days=2)).isoformat(timespec="minutes")
    (told,) = compare(node("n", NARROW, days=4), alike(50), past[2:]).unusual
    assert told.since == "", "nobody knows since when"


def test_where_nodes_have_units_of_their_own_a_unit_of_all_others_is_missed() -> None:
    own = [node(f"o{number}", {f"units.u[own-{number}]": PRESENT}, healthy=True) for number in range(9)]
    assert says(without(node(facts={"units.u[mine]": PRESENT}), SSH), alike(50, *own)) == [
        "units.u[ssh]: absent here, present on its 59 peers"
    ]


def test_of_a_unit_that_is_absent_its_parts_are_not_told_too() -> None:
    parts: dict[str, Fact] = {f"{SSH}.wanted_by[multi-user.target]": PRESENT}
    peers = alike(0, *(node(f"p{number}", parts, healthy=True) for number in range(50)))
    assert says(without(node(), SSH), peers) == ["units.u[ssh]: absent here, present on its 50 peers"]
    assert len(says(node(), peers)) == 1, "of one that is there they are"


def test_each_setting_is_judged_by_itself() -> None:
    setting = "hardware.settings[{}]"
    usual: dict[str, Fact] = {setting.format("vm.swappiness"): "60"}
    peers = [node(f"s{n}", usual | {setting.format("boot option root"): f"UUID={n}"}, healthy=True) for n in range(50)]
    odd: dict[str, Fact] = {setting.format("vm.swappiness"): "1", setting.format("boot option root"): "UUID=here"}
    assert says(node("n", odd), alike(0, *peers)) == ["vm.swappiness: 1 here, 60 on its 50 peers"]


def test_what_the_kernel_says_here_alone_is_told_unless_it_has_said_so_before() -> None:
    new, often = f"{SAID}error nvme nvme#: I/O # timeout]", f"{SAID}error audit: backlog limit exceeded]"
    half = [node(f"h{number}", {often: PRESENT}, healthy=True) for number in range(30)]
    log: dict[str, Fact] = {"kernel_log": READ, new: PRESENT}
    told = ["the kernel's “nvme nvme#: I/O # timeout”: present here, absent on its 60 peers"]
    peers = alike(0, *half, *(node(f"p{number}", {"kernel_log": READ}, healthy=True) for number in range(30)))
    for peer in half:
        peers.add(replace(peer, facts={**peer.facts, "kernel_log": READ}))
    assert says(node("n", log), peers) == told
    quiet, loud = node("n", {"kernel_log": READ}), node("n", log)
    assert says(loud, peers, loud) == says(loud, peers, quiet, loud, quiet) == says(loud, peers, loud, quiet) == []
    assert says(loud, peers, quiet, loud) == [f"{told[0]}, first seen on Sun 01 Nov at 00:00 UTC"]
    assert says(replace(loud, is_healthy=True), peers) == [], "sixty do not say all that is usual"
    alone: dict[str, Fact] = {"kernel_log": READ, f"{SAID}complaint only here]": PRESENT}
    peers.add(node("p0", alone, healthy=True))
    assert says(node("n", log), peers) == told, "that is a line of another kind"
    peers.add(node("p0", {"kernel_log": READ, f"{SAID}error only here]": PRESENT}, healthy=True))
    assert says(node("n", log), peers) == [], "a healthy peer has words of its own, too"


def test_rate_is_what_rose_between_two_checks_by_the_hour_and_nothing_of_what_began_anew() -> None:
    def counted(errors: float, restarts: float, days: int) -> NodeFacts:
        facts: dict[str, Fact] = {"nic.nics[eth0].counters[crc]": errors, "units.u[a].restarts": restarts, WIDTH: 16.0}
        return replace(node(days=days), facts=facts)

    assert rates(counted(4810.0, 1.0, 2), counted(10.0, 7.0, 0)) == {"nic.nics[eth0].counters[crc] per hour": 100.0}
    assert rates(counted(4810.0, 9.0, 2), counted(10.0, 7.0, 2)) == {}, "no time between them"
    fact = "nic.nics[eth0].counters[crc] per hour"
    peers = alike(0, *(node(f"p{number}", {fact: 0.0}, healthy=True) for number in range(50)))
    assert says(node("n", {fact: 100.0}), peers) == ["crc of eth0 per hour: 100 here, 0 on its 50 peers"]


def test_boot_after_which_it_is_so_is_named() -> None:
    width = "hardware.links[mlx5_core 0000:17:00.0].width"
    peers = alike(0, *(node(f"p{number}", {width: 16.0}, healthy=True) for number in range(50)))
    past = [node(facts={width: 16.0}, days=0), node(facts={width: 8.0}, days=2)]
    booted = AT + timedelta(days=1)
    (told,) = compare(node("n", {width: 8.0}, days=3), peers, past, booted).unusual
    words = "PCIe width of mlx5_core 0000:17:00.0: x8 here, x16 on its 50 peers, since "
    assert told.says == f"{words}Monday's boot (02 Nov)"
    (told,) = compare(node("n", {width: 8.0}, days=3), peers, past, booted + timedelta(days=1, hours=1)).unusual
    assert told.says == words.replace("since ", "first seen on Tue 03 Nov at 00:00 UTC"), "it was so before that boot"
    (told,) = compare(node("n", {width: 8.0}, days=3), peers, past[:1], booted).unusual
    assert (told.since, told.boot) == ("now", "2026-11-02T00:00+00:00")


def test_node_of_another_kind_is_no_peer_and_nothing_is_said_of_it() -> None:
    assert len(says(node("n", {"gpu.fact1": "no"}), alike(60))) == 1
    assert says(node("n", dict.fromkeys(MANY, "no")), alike(60)) == []


def test_no_more_than_three_are_told_and_of_an_entry_one() -> None:
    entry: dict[str, Fact] = {f"{SSH}.active": "active", f"{SSH}.enabled": "enabled"}
    peers = alike(0, *(node(f"p{number}", entry, healthy=True) for number in range(60)))
    odd: dict[str, Fact] = {f"{SSH}.active": "failed", f"{SSH}.enabled": "masked"}
    assert len(says(node("n", odd), peers)) == 1
    odd |= {f"gpu.fact{number}": "no" for number in range(4)}
    assert len(says(node("n", odd), peers)) == 3


def test_taken_out_is_as_if_it_had_never_been_there() -> None:
    ours, theirs = alike(45), alike(45, node("odd", {WIDTH: 8.0, "units.u[x]": PRESENT}, healthy=True))
    theirs.remove("odd")
    odd = node("n", {WIDTH: 9.0, "units.u[y]": PRESENT})
    assert compare(odd, theirs) == compare(odd, ours)
    assert len(compare(odd, ours).unusual) == 2


@pytest.mark.parametrize(
    ("fleets", "counts"),
    [pytest.param(0.5, (60,), id="some"), pytest.param(9, (40, 80, 200), id="many", marks=pytest.mark.long)],
)
def test_planted_differences_are_found_and_healthy_nodes_left_in_peace(
    fleets: float, counts: tuple[int, ...], record_property: Callable[[str, object], None]
) -> None:
    found, due, falsely, checks = Counter[str](), Counter[str](), 0, 0
    for count in counts:
        for seed in range(round(fleets * len(KINDS))):
            chance = random.Random(seed)
            nodes = fleet(base(seed % len(KINDS)), count + 1, 1000 * count + seed)
            peers = peers_of(nodes)
            for each in chance.sample(nodes, CHECKED):
                whole = peers.nodes[each.node]
                peers.remove(each.node)
                checks, falsely = checks + 1, falsely + bool(compare(each, peers).unusual)
                what = chance.choice(PLANTED)
                fact, odd = planted(each, what, chance)
                settled = peers.is_settled(fact, odd.facts.get(fact, ABSENT))
                kind = f"{what}, where peers are {'alike' if settled else 'not alike'}"
                entry = f"{fact.rpartition(']')[0]}]" if "]" in fact else fact
                due[kind] += 1
                found[kind] += any(told.fact.startswith(entry) for told in compare(odd, peers).unusual)
                peers.add(whole)
    rows = [f"{kind}: {found[kind]} of {due[kind]}" for kind in sorted(due)]
    head = f"Planted differences told, of one in fleets of {', '.join(map(str, counts))} nodes:"
    record_property("table", "\n".join((head, *rows, f"healthy nodes said to be unusual: {falsely} of {checks}")))
    assert falsely * 100 <= checks * (1 if fleets > 1 else 2)
    states = [kind for kind in due if kind.endswith("are alike") and not kind.startswith(("figure", TOO_SMALL))]
    assert sum(found[kind] for kind in states) >= 0.95 * sum(due[kind] for kind in states) > 10
    figures = [kind for kind in due if kind.endswith("are alike") and kind.startswith("figure")]
    assert sum(found[kind] for kind in figures) >= 0.4 * sum(due[kind] for kind in figures) > 1
