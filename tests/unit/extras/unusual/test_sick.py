"""Sick nodes that no cause names: how often what is wrong is among the three, beside healthy ones of the same kind."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import pytest

from bot.domain.verdict import Status, Verdict
from bot.extras.fleet.facts import Fact, figures_of
from bot.extras.unusual.unusual_facts import SAID, NodeFacts, Peers, compare
from tests.contract import test_independent_nodes
from tests.contract.asked import evaluated, judged
from tests.contract.level_rows import rows
from tests.contract.made_nodes import FOLDER, made
from tests.independent import kinds
from tests.independent.machine import Machine
from tests.known import known
from tests.unit.extras.unusual.fleets import AT, fleet, peers_of

Kind: TypeAlias = tuple[str, str, str]
PEERS = 60


def sick() -> Iterator[tuple[Machine, Verdict]]:
    """Every invented node whose label says that it is sick, once, where no cause is named."""
    asked = {each.title: each for each in rows("sick.txt", "degraded critical")}
    for path in sorted(FOLDER.glob("sick-*.txt")):
        asked |= {each.title: each for each in made(path.stem) if each.status != "healthy"}
    labels = [label for label in test_independent_nodes.ALL if label.ill or label.causes]
    for machine, verdict in (
        *((each.machine, judged(each)) for each in asked.values()),
        *((label.machine, test_independent_nodes.judged(label)) for label in labels),
    ):
        if verdict.cause is None and verdict.snapshot is not None:
            yield machine, verdict


def kind(machine: Machine) -> Kind:
    return machine.facts.kernel, machine.facts.system, machine.facts.product


@functools.cache
def healthy() -> Mapping[Kind, Callable[[], Machine]]:
    found: list[tuple[str, Callable[[], Machine]]] = inspect.getmembers(kinds, inspect.isfunction)
    makers: list[Callable[[], Machine]] = [Machine, *(make for name, make in found if name != "nano")]
    return {kind(make()): make for make in reversed(makers)}


@functools.cache
def peers(which: Kind, quiet: bool) -> Peers:
    """Healthy nodes of a kind; `quiet` are those whose kernels say nothing, the others have words with a long tail."""
    verdict = evaluated(healthy()[which]().case())
    nodes = fleet(figures_of(known(verdict.snapshot)), PEERS, 7)
    if quiet:
        nodes = [replace(each, facts={f: v for f, v in each.facts.items() if not f.startswith(SAID)}) for each in nodes]
    return peers_of(nodes)


@pytest.mark.long
def test_what_is_wrong_is_among_the_three(record_property: Callable[[str, object], None]) -> None:
    counts = Counter[str]()
    for machine, verdict in sick():
        assert verdict.snapshot is not None
        status = "unknown" if verdict.status is Status.UNKNOWN else "degraded"
        if kind(machine) not in healthy():
            counts["of a kind that no healthy one is made of"] += 1
            continue
        facts: Mapping[str, Fact] = figures_of(verdict.snapshot)
        counts[f"{status}, all"] += 1
        for quiet in (True, False):
            told = compare(NodeFacts("sick", AT, False, facts), peers(kind(machine), quiet)).unusual
            beside = f"{status}, beside {'quiet' if quiet else 'talkative'} peers"
            counts[f"{beside}: a line of the fault"] += any(each.fact.startswith(SAID) for each in told)
            counts[f"{beside}: something else alone"] += bool(told) and not any(x.fact.startswith(SAID) for x in told)
    record_property("table", "\n".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    assert counts["degraded, beside quiet peers: a line of the fault"] >= 0.8 * counts["degraded, all"] > 50
