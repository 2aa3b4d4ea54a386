"""Fleets with the variety that ordinary ones have, and nodes in them with one planted difference of known size.

The facts of a kind of machine are those of a whole check of it (`tests/independent/kinds.py`). What varies from node to
node is drawn for each kind of fact: most states are the same everywhere, a tenth are a mixture of versions; of figures
three tenths are the same, a quarter vary by a sixth, three tenths like counters, and the rest with a tail so long that
there is no mean. Nodes have units of their own.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from bot.extras.fleet.facts import PRESENT, READ, Fact, figures_of
from bot.extras.unusual.comparison import NodeFacts, Peers, compare, kind_of
from tests.contract.asked import evaluated
from tests.independent import kinds

AT = datetime(2026, 11, 1, tzinfo=UTC)
KINDS = (
    kinds.gpu_node,
    kinds.founding,
    kinds.amazon2,
    kinds.database,
    kinds.metal,
    kinds.google,
    kinds.arm,
    kinds.azure,
)
PLANTED = ("entry gone", "entry added", "state", "figure x2", "figure x10")


@functools.cache
def base(which: int) -> Mapping[str, Fact]:
    """The facts of a healthy machine of a kind."""
    verdict = evaluated(KINDS[which]().case())
    assert (verdict.status, verdict.snapshot is None) == ("healthy", False)
    assert verdict.snapshot is not None
    return figures_of(verdict.snapshot)


def fleet(which: int, count: int, seed: int) -> list[NodeFacts]:
    """That many healthy nodes of a kind."""
    chance = random.Random(seed)
    varies: dict[str, str] = {}
    shares: dict[str, float] = {}
    nodes = []
    for number in range(count):
        facts: dict[str, Fact] = {}
        for fact, value in base(which).items():
            how = varies.setdefault(kind_of(fact), _variety(value, chance))
            facts[fact] = _varied(value, how, shares.setdefault(fact, chance.uniform(0.5, 0.97)), chance)
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            unit = f"units.services[site-{chance.randint(0, 40)}.service]"
            facts |= {unit: PRESENT, f"{unit}.active": "active"}
        nodes.append(NodeFacts(f"node-{number}", AT, True, facts))
    return nodes


def peers_of(nodes: list[NodeFacts]) -> Peers:
    """The nodes as peers, each checked once before."""
    peers = Peers()
    for node in nodes:
        peers.add(node)
    for node in nodes:
        peers.remove(node.node)
        peers.add(replace(node, stood_out=compare(node, peers).stood_out))
    return peers


def planted(node: NodeFacts, what: str, chance: random.Random) -> tuple[str, NodeFacts]:
    """The node with one difference, and the fact that it is in."""
    facts = dict(node.facts)
    if what == "entry added":
        fact = "units.services[left-behind.service]"
        facts[fact] = PRESENT
    elif what == "entry gone":
        fact = chance.choice([each for each in facts if each.endswith("]")])
        facts = {each: value for each, value in facts.items() if not each.startswith(fact)}
    elif what == "state":
        words = (each for each, value in facts.items() if isinstance(value, str) and value not in (PRESENT, READ))
        fact = chance.choice([each for each in words if "." in each])
        facts[fact] = "something else"
    else:
        fact, figure = chance.choice([(f, v) for f, v in facts.items() if isinstance(v, float) and v >= 4])
        times = float(what.rpartition("x")[2])
        facts[fact] = figure * times if chance.random() < 0.5 else round(figure / times, 3)
    return fact, NodeFacts(node.node, node.at, False, facts)


def _variety(value: Fact, chance: random.Random) -> str:
    if isinstance(value, str):
        return chance.choices(("same", "mixture"), (9, 1))[0]
    return chance.choices(("same", "little", "counter", "tail"), (30, 25, 30, 15))[0]


def _varied(value: Fact, how: str, share: float, chance: random.Random) -> Fact:
    if isinstance(value, str):
        if how == "same" or value in (PRESENT, READ) or (drawn := chance.random()) < share:
            return value
        return f"{value}-b" if drawn < 0.9 + share / 10 else f"{value}-c"
    if how == "same":
        return value
    if how == "little":
        return round(value * chance.gauss(1, 0.15), 3 if value % 1 else 0)
    if how == "counter":
        return float(round(value * chance.lognormvariate(0, 1))) if value else float(chance.random() < 0.1)
    return float(round((value + 1) * chance.paretovariate(1) - 1))
