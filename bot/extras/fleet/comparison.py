"""How nodes differ from their peers: every fact compared, the most surprising first.

Each value of each fact is a two by two table (here or there, has it or not) and is judged by Fisher's exact test. The
result is corrected for the number of tables tried (Bonferroni). Ties are ordered by log-odds. Peers are only looked at
once: they are without a cause by its signature, which is not a healthy node's verdict, so nobody is called healthy.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from bot.domain.safe_text import counted, listed, safe
from bot.extras.fleet.facts import ABSENT, READ, WORDS, is_band
from bot.extras.fleet.sweep import NodeAnswer, NodeOutcome
from bot.surfaces.verdict_text import wrapped

FEW_PEERS = 4  # with this many peers, a fact with nearly a different value for each peer is left out
OWN_SHARE = 0.75
CERTAIN = 0.05
SURE = 1 - 1e-9  # a chance of 1, however its terms were rounded


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact that differs.

    Shape: `here` and `there` count the values among nodes with the fact, the most common first. `p` is Fisher's for a
    single table; `corrected` bounds the chance that any table tried is this extreme if nothing differs. `remark` says
    why it is no evidence, where that is so.
    """

    fact: str
    here: Mapping[str, int]
    there: Mapping[str, int]
    p: float
    corrected: float
    log_odds: float
    remark: str = ""

    @property
    def surprise(self) -> float:
        """How surprising a single table is: 1 for a chance of 1 in 10, 2 for 1 in 100, and so on."""
        return -math.log10(max(self.p, 1e-300))

    @property
    def is_telling(self) -> bool:
        """True if chance would rarely do this among so many facts."""
        return self.corrected < CERTAIN


@dataclass(frozen=True, slots=True)
class LeftOutNode:
    """A node that is not compared, and why."""

    node: str
    because: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Nodes beside their peers. `tried` tables were made; `differences` begin with the most surprising.

    Shape: `compared` facts were known on both sides, and tables were made of those that differ. `without` are those of
    `here` of which no cause is found, nor any left open; somebody named them. Where `causes` is empty, no peer was left
    out for one.
    """

    here: tuple[str, ...]
    there: tuple[str, ...]
    left_out: tuple[LeftOutNode, ...]
    causes: tuple[str, ...]
    tried: int
    differences: tuple[Difference, ...]
    accidents: tuple[Accident, ...] = ()
    without: tuple[str, ...] = ()
    compared: int = 0

    @property
    def at_best(self) -> float:
        """The smallest corrected p with so many nodes: of a value that all nodes here have, and no peer."""
        return min(1.0, fisher(len(self.here), 0, 0, len(self.there)) * self.tried)

    @property
    def is_too_few(self) -> bool:
        """True if not even the clearest difference could be telling."""
        return self.at_best >= CERTAIN

    @property
    def shown(self) -> tuple[Difference, ...]:
        """What is worth a line: the telling; with too few to tell, all, settings and states first, numbers last."""
        if self.is_too_few:
            return tuple(sorted(self.differences, key=_is_a_count))
        return tuple(difference for difference in self.differences if difference.is_telling)


def compare(
    here: Sequence[NodeAnswer], peers: Sequence[NodeAnswer], signatures: Mapping[str, Sequence[str]] | None = None
) -> Comparison:
    """Compare nodes with their peers.

    Shape: a peer is left out if it has a cause that a node here has, if that is not known, or if it did not answer.
    `signatures` are the probes of causes: their counts are the cause itself, not a difference. A peer that is
    spared only by accident is left out too, as long as another peer is there.
    """
    signatures = signatures or {}
    sick = [answer for answer in here if answer.outcome is not NodeOutcome.UNREACHABLE]
    left_out = [LeftOutNode(answer.node, f"unreachable: {answer.because}") for answer in here if answer not in sick]
    causes = tuple(dict.fromkeys(cause for answer in sick for cause in answer.causes))
    named, spared = {answer.node for answer in here}, list[NodeAnswer]()
    for peer in peers:
        if peer.node in named:
            continue
        if because := _not_compared(peer, causes):
            left_out.append(LeftOutNode(peer.node, because))
        else:
            spared.append(peer)
    found = accidents(sick, spared)
    by_accident = {node for accident in found for node in accident.nodes}
    true_peers = [peer for peer in spared if peer.node not in by_accident]
    if true_peers:
        left_out += [LeftOutNode(name, "spared only by accident") for name in sorted(by_accident)]
        spared = true_peers
    symptoms = frozenset(probe for name in causes for probe in signatures.get(name, ()))
    compared, tried, differences = _differences(sick, spared, symptoms)
    return Comparison(
        tuple(answer.node for answer in sick),
        tuple(peer.node for peer in spared),
        tuple(left_out),
        causes,
        tried,
        tuple(_with_remark(difference, spared, found) for difference in differences),
        found,
        tuple(answer.node for answer in sick if not answer.causes and not answer.undecided),
        compared,
    )


def fisher(a: int, b: int, c: int, d: int) -> float:
    """Return the two-sided p of a table [[a, b], [c, d]] by Fisher's exact test.

    Example:
    >>> round(fisher(3, 1, 1, 3), 4), fisher(0, 5, 0, 7), round(fisher(10, 0, 0, 10), 8)
    (0.4857, 1.0, 1.083e-05)
    """
    row, column, whole = a + b, a + c, a + b + c + d
    ways = _log_choose(whole, column)
    chances = [
        math.exp(_log_choose(row, x) + _log_choose(whole - row, column - x) - ways)
        for x in range(max(0, row + column - whole), min(row, column) + 1)
    ]
    seen = chances[a - max(0, row + column - whole)]
    return min(1.0, sum(chance for chance in chances if chance <= seen * (1 + 1e-9)))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _not_compared(peer: NodeAnswer, causes: Sequence[str]) -> str:
    """Why a peer does not count; empty if it has none of the causes of the sick."""
    if peer.outcome is NodeOutcome.UNREACHABLE:
        return f"unreachable: {peer.because}"
    if has := [cause for cause in causes if cause in peer.causes]:
        return f"has {', '.join(has)} too"
    if open_ := [cause for cause in causes if cause in peer.undecided]:
        return f"{open_[0]} is not known for it: {peer.undecided[open_[0]]}"
    return ""


def _differences(
    sick: Sequence[NodeAnswer], spared: Sequence[NodeAnswer], symptoms: AbstractSet[str]
) -> tuple[int, int, list[Difference]]:
    """Return how many facts were compared, how many tables were made of those that differ, and these."""
    compared, tried, found = 0, 0, list[Difference]()
    for fact in sorted({fact for answer in (*sick, *spared) for fact in answer.facts if "." in fact}):
        here, there = _value_counts(fact, sick), _value_counts(fact, spared)
        if not here or not there or _differs_on_every_peer(there):
            continue
        if fact.partition(".")[0] in symptoms and all(map(is_band, (*here, *there))):
            continue
        compared += 1
        if set(here) == set(there) and len(here) == 1:
            continue
        tables = [_fisher_and_log_odds(value, here, there) for value in {**here, **there}]
        tried += len(tables) if len(tables) > 2 else 1  # two values make a single table, seen from either side
        p, log_odds = min(tables, key=lambda table: (table[0], -table[1]))
        found.append(Difference(fact, here, there, p, 1.0, log_odds))
    found = [replace(difference, corrected=min(1.0, difference.p * tried)) for difference in found]
    found.sort(key=lambda told: (told.p, -told.log_odds, _is_a_count(told), -_commonest_share(told.there), told.fact))
    return compared, tried, [told for told in found if told.p < SURE or not set(told.here) & set(told.there)]


def _value_counts(fact: str, answers: Sequence[NodeAnswer]) -> Counter[str]:
    """The values of a fact among the nodes that have it: an unread probe gives no value."""
    values = Counter[str]()
    probe, entry = fact.partition(".")[0], fact.rpartition("]")[0] + "]" if "]." in fact else ""
    for answer in answers:
        if fact in answer.facts:
            values[answer.facts[fact]] += 1
        elif answer.facts.get(probe) == READ and not (entry and entry not in answer.facts):
            values[ABSENT] += 1  # a missing entry has its own fact; its parts add nothing
    return Counter(dict(values.most_common()))


def _differs_on_every_peer(there: Mapping[str, int]) -> bool:
    """True for a fact that is different on nearly every peer."""
    count = sum(there.values())
    return count >= FEW_PEERS and len(there) > OWN_SHARE * count


def _fisher_and_log_odds(value: str, here: Mapping[str, int], there: Mapping[str, int]) -> tuple[float, float]:
    """Fisher's p of having this value, and how far the log-odds are from even."""
    a, c = here.get(value, 0), there.get(value, 0)
    b, d = sum(here.values()) - a, sum(there.values()) - c
    odds = math.log((a + 0.5) * (d + 0.5) / ((b + 0.5) * (c + 0.5)))
    return fisher(a, b, c, d), abs(odds)


def _is_a_count(told: Difference) -> bool:
    """True for a count: among equal surprise settings come first, because they may cause the counts."""
    return all(map(is_band, (*told.here, *told.there)))


def _commonest_share(values: Mapping[str, int]) -> float:
    return max(values.values()) / sum(values.values())


def _with_remark(difference: Difference, peers: Sequence[NodeAnswer], found: Sequence[Accident]) -> Difference:
    """Add the reason to a difference that is no evidence of health."""
    usual = next(iter(difference.there))
    having = {peer.node for peer in peers if peer.facts.get(difference.fact, ABSENT) == usual}
    for accident in found:
        if not {peer.node for peer in peers} & set(accident.nodes):
            continue  # they are left out
        of_unit = f"[{accident.unit}]" in difference.fact
        if of_unit or (having and len(having & set(accident.nodes)) * 2 > len(having)):
            return replace(difference, remark=accident.says)
    return difference


# --- Peers that are spared by accident: the unit that makes others sick is enabled there too, but did not start
#
# This happened in the first case: a zone had no zombies, and it was tempting to look for what was right there. Nothing
# was: another fault kept the agent from starting. Such a node is no evidence of health, and falls ill once that is
# mended.


_ENTRY = re.compile(r"(?P<where>(?:units|agents)\.[a-z_]+)\[(?P<name>[^\[\]]+)\]\.(?P<field>sub|used)\Z")
_DOWN = frozenset({"inactive", "failed"})
_AT_BOOT = frozenset({"enabled", "enabled-runtime", "linked", "linked-runtime", "alias", "generated"})
NAMED = 6


@dataclass(frozen=True, slots=True)
class Accident:
    """A unit that is suspected on sick nodes, and enabled but down on these peers; `result` is how it ended."""

    unit: str
    nodes: tuple[str, ...]
    result: str = ""

    @property
    def says(self) -> str:
        """What this means, in a sentence."""
        named = listed(self.nodes, NAMED)
        how = f" ({self.result})" if self.result and self.result != "success" else ""
        return (
            f"Not evidence of health: {self.unit} is enabled on {named} too, and is down there{how}. "
            "Once it starts, they may get the same fault."
        )


def accidents(sick: Sequence[NodeAnswer], spared: Sequence[NodeAnswer]) -> tuple[Accident, ...]:
    """Return units that are suspected or loop on sick nodes, and are enabled but down on their peers."""
    found = []
    for unit in sorted(_suspected_units(sick)):
        down = [peer for peer in spared if _is_down_though_enabled(peer.facts, unit)]
        if down:
            results = {peer.facts.get(f"units.services[{unit}].result", "") for peer in down}
            found.append(Accident(unit, tuple(peer.node for peer in down), results.pop() if len(results) == 1 else ""))
    return tuple(found)


def _suspected_units(sick: Sequence[NodeAnswer]) -> set[str]:
    """The units that causes suspect on sick nodes, unused agents, and units that start over and over."""
    units = {suspect for answer in sick for found in answer.found for suspect in found.suspects}
    for answer in sick:
        for fact, value in answer.facts.items():
            entry = _ENTRY.match(fact)
            if entry is None:
                continue
            if entry["field"] == "sub" and value == "auto-restart":
                units.add(entry["name"])
            elif entry["field"] == "used" and value == "no":
                units.add(answer.facts.get(f"{entry['where']}[{entry['name']}].unit", ""))
    return {unit for unit in units if unit.endswith(".service")}


def _is_down_though_enabled(facts: Mapping[str, str], unit: str) -> bool:
    """True if the next boot or a repair would start it."""
    agents = [
        entry.rpartition(".")[0] for entry, value in facts.items() if entry.startswith("agents.") and value == unit
    ]
    for entry in (f"units.services[{unit}]", *agents):
        if f"{entry}.active" in facts:
            return facts[f"{entry}.active"] in _DOWN and facts.get(f"{entry}.enabled") in _AT_BOOT
    # Only active and failed services are listed.
    return f"boot_units.enabled[{unit}]" in facts and "units" in facts


# --- as JSON for scripts, and as text for a terminal


SCHEMA_VERSION = 1
NODES_NAMED = 8
CAUSES_NAMED = 3
TOLD = 12  # in text; --full and the JSON have all


def difference_body(comparison: Comparison) -> dict[str, Any]:
    """Return the document. Shape: `surprise` is -log10 of Fisher's p; `corrected` is p times the tables tried."""
    return {
        "schema": SCHEMA_VERSION,
        "here": list(comparison.here),
        "there": list(comparison.there),
        "causes": list(comparison.causes),
        "without_cause": list(comparison.without),
        "left_out": [{"node": out.node, "because": safe(out.because)} for out in comparison.left_out],
        "not_evidence_of_health": [
            {"unit": safe(accident.unit), "nodes": list(accident.nodes), "says": safe(accident.says)}
            for accident in comparison.accidents
        ],
        "says": summary(comparison),
        "too_few": comparison.is_too_few,
        "compared": comparison.compared,
        "tried": comparison.tried,
        "differences": [_difference(difference, comparison) for difference in comparison.differences],
    }


def _difference(difference: Difference, comparison: Comparison) -> dict[str, Any]:
    body: dict[str, Any] = {
        "fact": safe(difference.fact),
        "here": values(difference.here),
        "there": values(difference.there),
        "says": says(difference, comparison),
        "surprise": round(difference.surprise, 3),
        "corrected": float(f"{difference.corrected:.3g}"),
        "telling": difference.is_telling,
    }
    return body | ({"remark": safe(difference.remark)} if difference.remark else {})


def values(counts: Mapping[str, int]) -> str:
    """Return the values: a value alone where all nodes share it, else each with its count.

    Example:
    >>> values({"enabled": 3}), values({"enabled": 3, "none": 1})
    ('enabled', 'enabled (3 of 4), none (1 of 4)')
    """
    whole = sum(counts.values())
    if len(counts) == 1:
        return safe(next(iter(counts)))
    return listed([f"{safe(value)} ({count} of {whole})" for value, count in counts.items()], NODES_NAMED)


def sides(difference: Difference, comparison: Comparison) -> tuple[str, str]:
    """Return in words what the nodes have, and what their peers have: of those that were read."""
    ours, theirs = (
        values({WORDS.get(value, value): count for value, count in counts.items()})
        for counts in (difference.here, difference.there)
    )
    known, nodes = sum(difference.here.values()), len(comparison.here)
    here = "here" if known == nodes else f"on {known:,} of {nodes:,} here"
    known, nodes = sum(difference.there.values()), len(comparison.there)
    on, all_ = ("on", "all ") if len(difference.there) == 1 else ("among", "")
    of = all_ if known == nodes else f"{known:,} of "
    return f"{ours} {here}", f"{theirs} on the only peer" if nodes == 1 else f"{theirs} {on} {of}{nodes:,} peers"


def says(difference: Difference, comparison: Comparison) -> str:
    """Return a difference in words, such as `units.services[ecs.service]: present here, absent on all 29 peers`."""
    return f"{safe(difference.fact)}: {', '.join(sides(difference, comparison))}"


def difference_text(comparison: Comparison, width: int = 80, *, full: bool = False) -> str:
    """Return the comparison as text; `full`: with what may be chance, too."""
    return "\n".join(_comparison_lines(comparison, max(40, width), full)) + "\n"


def _comparison_lines(comparison: Comparison, width: int, full: bool) -> Iterator[str]:
    yield from wrapped(f"{listed(comparison.here, NODES_NAMED)} beside {peers(comparison)}", width, "  ", first="")
    if said := without_cause(comparison):
        yield from wrapped(said, width, "    ", first="  ! ")
    for accident in comparison.accidents:
        yield ""
        yield from wrapped(accident.says, width, "    ", first="  ! ")
    yield ""
    yield from wrapped(summary(comparison), width, "  ", first="  ")
    shown = comparison.shown if comparison.is_too_few or not full else comparison.differences
    shown = shown if full else shown[:TOLD]
    for difference in shown:
        how = "" if comparison.is_too_few else f" (surprise {surprise(difference)})"
        yield from wrapped(f"{says(difference, comparison)}{how}", width, "      ", first="    ")
        if difference.remark:
            yield from wrapped(difference.remark, width, "        ", first="      ! ")
    if more := rest(comparison, len(shown)):
        yield f"  {more}"
    if said := left_out(comparison):
        yield ""
        yield from wrapped(said, width, "    ", first="  ")


def peers(comparison: Comparison) -> str:
    """Return how many peers there are, and what is known of them: a signature is no verdict, so none is healthy."""
    count, causes = len(comparison.there), comparison.causes
    by = "its signature" if len(causes) == 1 else "their signatures"
    without = f" without {listed(causes, CAUSES_NAMED, ' or ')} by {by}" if causes else ""
    return f"{counted(count, 'peer')}{without}"


def summary(comparison: Comparison) -> str:
    """Return what the comparison can tell, in a sentence: whatever follows it is to be read so."""
    told = len(comparison.shown)
    among = f"among {comparison.compared:,} facts compared with {counted(len(comparison.there), 'peer')}"
    if not comparison.there:
        return "There is nothing to compare with: every peer is left out."
    if not comparison.tried:
        return f"Nothing differs {among}."
    if comparison.is_too_few:
        return (
            f"Too few to tell from chance: with {len(comparison.here):,} beside {len(comparison.there):,}, even the "
            f"clearest difference has a corrected p of {comparison.at_best:.2g}, and only below {CERTAIN} is telling. "
            + ("Plain differences, numbers last:" if told else "No value sets the two sides apart.")
        )
    if not told:
        chance = len(comparison.differences)
        return f"Nothing telling {among}{f'; {chance:,} may be chance (zombie diff --full)' if chance else ''}."
    return f"{told:,} telling {among}: unlikely by chance, even among so many."


def surprise(difference: Difference) -> str:
    """Return how surprising it is by itself, and whether it is telling among all facts compared."""
    return f"{difference.surprise:.1f}" + (", telling" if difference.is_telling else "")


def rest(comparison: Comparison, told: int) -> str:
    """Return how many more differences there are than those told, and how to see them; empty if `summary` says so."""
    more = len(comparison.differences) - told
    return f"… and {more:,} more: zombie diff --full" if told and more else ""


def without_cause(comparison: Comparison) -> str:
    """Return which of the nodes have no cause themselves, and what then becomes of the peers; empty if each has one."""
    if not comparison.without:
        return ""
    if not comparison.causes:
        return (
            "No cause shows on these nodes in a single look. So no peer was left out for one, and none need be healthy."
        )
    of_these = "has none of these causes itself" if len(comparison.without) == 1 else "have none of these causes"
    return f"{listed(comparison.without, NODES_NAMED)} {of_these}, and blurs the comparison: name the sick alone."


def left_out(comparison: Comparison) -> str:
    """Return the nodes that were not compared, grouped by reason; empty if all were."""
    by_reason: dict[str, list[str]] = {}
    for out in comparison.left_out:
        by_reason.setdefault(out.because, []).append(out.node)
    said = [f"{listed(nodes, NODES_NAMED)} ({because})" for because, nodes in by_reason.items()]
    return f"Left out: {listed(said, NODES_NAMED, '; ')}" if said else ""
