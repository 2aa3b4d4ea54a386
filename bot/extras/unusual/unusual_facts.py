"""What is unusual about a node: its facts beside those of its healthy peers, and its own earlier ones.

The peers themselves tell two kinds of facts apart. *Settled* are those that are the same on all of them, in every fact
of that kind: there a node that differs is told. Of the others, figures alone are judged: by how far a node lies beyond
all peers, set against how long their own tail is, and told only where it stands out more than any peer did when it was
checked. So what every node has of its own (units, interfaces, counters) stays silent without a list of names, and a
fleet of much variety raises the bar by itself.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from bot.domain.verdict import Unusual
from bot.extras.fleet.facts import ABSENT, PRESENT, READ, WORDS, Fact

FEWEST_PEERS = 40  # with 24, something was said of a healthy node in one check of fifty; with these, of a hundred
FEWEST_OF_SICK = 24  # where something is wrong anyway
FEWEST_WHO_SAY = 100  # by whom the words of a healthy node are judged; by 40 they were unusual in one check of fifty
FEWEST_LOOKS = 3  # of the node's own past
MOST_TOLD = 3
ORDINARY = 0.005  # of the peers may differ in what is settled, or stand out more than what is told
RESOLUTION = 0.1  # of a figure's median: less is the same
CHANCE = 3.0  # roots of a count that it may be off
STEEPEST = 4.0  # how fast a tail may fall, as a power
ANOTHER_KIND = 0.1  # of the kinds of facts stand out: these are no peers
SHORTEST = 0.05  # hours between two checks that a rate is worked out of
SAID = "kernel_log.events["
_COUNTS = re.compile(
    r".*(?:\.counters\[.*\]|\.vmstat\[(?:allocstall|compact_fail|oom_kill|pswp).*\]|\.corrected|\.restarts)"
)
# A fact's path in words, and the form of its figures.
_TITLES = tuple(
    (re.compile(rf"{path}( per hour)?"), f"{words}{{{re.compile(path).groups}}}", form)
    for path, words, form in (
        (r"hardware\.links\[([^]]+)\]\.width", "PCIe width of {0}", "x{}"),
        (r"hardware\.links\[([^]]+)\]\.speed", "PCIe speed of {0}", "{} GT/s"),
        (r"hardware\.links\[([^]]+)\]\.most_width", "PCIe width that {0} can do", "x{}"),
        (r"hardware\.links\[([^]]+)\]\.most_speed", "PCIe speed that {0} can do", "{} GT/s"),
        (r"hardware\.links\[([^]]+)\]", "PCIe device {0}", "{}"),
        (r"hardware\.settings\[([^]]+)\]", "{0}", "{}"),
        (r"kernel_log\.events\[\S+ ([^]]+)\]", "the kernel's “{0}”", "{}"),
        (r"filesystems\.mounts\[([^]]+)\]\.options\[([^]]+)\]", "mount option {1} of {0}", "{}"),
        (r"filesystems\.mounts\[([^]]+)\]", "mount {0}", "{}"),
        (r"gpu\.gpus\[([^]]+)\]\.settings\[([^]]+)\]", "{1} of GPU {0}", "{}"),
        (r"gpu\.gpus\[([^]]+)\]", "GPU {0}", "{}"),
        (r"nic\.nics\[([^]]+)\]\.counters\[([^]]+)\]", "{1} of {0}", "{}"),
        (r"reclaim\.meminfo_kib\[([^]]+)\]", "{0} (kiB)", "{}"),
        (r"reclaim\.vmstat\[([^]]+)\]", "{0}", "{}"),
        (r"storage\.disks\[([^]]+)\]\.completed", "requests that {0} completed", "{}"),
        (r"processes\.(uninterruptible|waiting)\[([^]]+)\]", "{0} process {1}", "{}"),
        (r"\w+\.(?:services|units|enabled)\[([^]]+)\](?:\.(?:active|enabled))?", "unit {0}", "{}"),
        (r"\w+\.\w+\[([^]]+)\]\.(\w+)", "{1} of {0}", "{}"),
        (r"host\.(kernel|distribution|virtualisation|clocksource)", "{0}", "{}"),
    )
)
_ENTRY = re.compile(r"(?<!settings)\[[^\]]*\]")  # one setting is not like another


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The facts of a check.

    Shape: `is_healthy` by a verdict of all causes; `stood_out` is by how much a figure of it did then, at most.
    """

    node: str
    at: datetime
    is_healthy: bool
    facts: Mapping[str, Fact]
    stood_out: float = 0.0


@lru_cache(2**15)
def kind_of(fact: str) -> str:
    """Return the kind of a fact: its path without the names of entries; each setting is a kind of its own.

    Example:
    >>> kind_of("units.services[ecs.service].enabled"), kind_of("hardware.settings[vm.swappiness]")
    ('units.services[].enabled', 'hardware.settings[vm.swappiness]')
    """
    return _ENTRY.sub("[]", fact)


class Peers:
    """The latest facts of nodes of one kind, added and taken out one by one: a verdict goes through no other node's."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeFacts] = {}
        self._states: dict[str, Counter[str]] = defaultdict(Counter)
        self._figures: dict[str, list[float]] = defaultdict(list)  # in order
        self._unsettled: frozenset[str] | None = None

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, facts: NodeFacts) -> None:
        """Take these facts of a node in place of its earlier ones."""
        self.remove(facts.node)
        self.nodes[facts.node] = facts
        self._unsettled = None
        for fact, value in facts.facts.items():
            if isinstance(value, str):
                self._states[fact][value] += 1
            else:
                insort(self._figures[fact], value)

    def remove(self, node: str) -> None:
        """Forget a node."""
        if (earlier := self.nodes.pop(node, None)) is None:
            return
        self._unsettled = None
        for fact, value in earlier.facts.items():
            if isinstance(value, str):
                if (states := self._states[fact])[value] > 1:
                    states[value] -= 1
                else:
                    del states[value]
            else:
                del (figures := self._figures[fact])[bisect_left(figures, value)]

    def states(self, fact: str) -> Counter[str]:
        """Return how many peers have which state; a missing entry is absent where its probe was read."""
        states = Counter(self._states.get(fact, {}))
        if figures := self.figures(fact):
            states[PRESENT] += len(figures)
        if fact.endswith("]") or "[" not in fact:  # the parts of a missing entry add nothing
            states[ABSENT] += max(0, self._states.get(fact.partition(".")[0], Counter())[READ] - states.total())
        return +states

    def figures(self, fact: str) -> Sequence[float]:
        """Return the peers' figures, the smallest first."""
        return self._figures.get(fact, ())

    @property
    def entries(self) -> Iterator[str]:
        """The entries of lists (units, devices) that a peer has."""
        for known in (self._states, self._figures):
            yield from (fact for fact, there in known.items() if fact.endswith("]") and there)

    def is_settled(self, fact: str, value: Fact = "") -> bool:
        """True where the peers are alike in every fact of this kind; in having all, where an entry is absent."""
        if self._unsettled is None:
            self._unsettled = frozenset(self._differing())
        return _difference_kind(fact, value) not in self._unsettled

    @property
    def threshold(self) -> float:
        """By how much a figure has to stand out: more than those of nearly all peers did."""
        stood_out = sorted((each.stood_out for each in self.nodes.values()), reverse=True)
        return max(2.0, stood_out[int(ORDINARY * len(self))]) + 1 + 30 / len(self)

    def _differing(self) -> Iterator[str]:
        others = Counter[str]()
        for fact in self._states:
            if "." in fact and (states := self.states(fact)):
                usual = max(states, key=lambda state: states[state])
                for state, count in states.items():
                    if fact.startswith(SAID):  # many nodes say the same; how often a line is new is told by single ones
                        others[_difference_kind(fact, state)] += count == 1
                    elif state != usual:
                        others[_difference_kind(fact, state)] += count
        for fact, figures in self._figures.items():
            if figures:
                near = resolution(middle := figures[len(figures) // 2])
                alike = bisect_right(figures, middle + near) - bisect_left(figures, middle - near)
                others[_difference_kind(fact, middle)] += len(figures) - alike
        yield from (kind for kind, count in others.items() if count > ORDINARY * len(self))


def _difference_kind(fact: str, value: Fact) -> str:
    """The kind of a fact and how it differs: nodes that have units of their own may all have those of the others."""
    if fact.startswith(SAID):
        return f"{fact.partition(' ')[0]} {value}"  # lines of a kind: some kinds are rare
    return f"{kind_of(fact)} {value}" if value in (PRESENT, ABSENT) else kind_of(fact)


def rates(now: NodeFacts, before: NodeFacts) -> Mapping[str, Fact]:
    """Return how fast counts of trouble rose since an earlier check, by the hour; none of what began anew."""
    hours = (now.at - before.at).total_seconds() / 3600
    rises = dict[str, Fact]()
    for fact, value in now.facts.items() if hours >= SHORTEST else ():
        earlier = before.facts.get(fact)
        if isinstance(value, float) and isinstance(earlier, float) and value >= earlier and _COUNTS.search(fact):
            rises[f"{fact} per hour"] = round((value - earlier) / hours, 1)
    return rises


def resolution(figure: float) -> float:
    """Return by how much a figure may be off this one and still be the same.

    Example:
    >>> resolution(16.0), resolution(2.0), resolution(0.5)
    (1.6, 1.0, 0.05)
    """
    return max(RESOLUTION * abs(figure), 0.0 if figure % 1 else 1.0)


def outlier_score(figure: float, others: Sequence[float]) -> float:
    """Return by how much a figure stands out: 1 where one of ten peers might be as far off by chance, 2 of a hundred.

    Shape: `others` in order. What lies beyond them is judged by how fast their own tail falls (Hill's estimate, lowered
    by what so few can be off); a figure among them does not stand out.

    Example:
    >>> round(outlier_score(90.0, [10.0, 11.0, 12.0, 13.0, 14.0] * 5), 1), outlier_score(15.0, [10.0, 20.0])
    (4.9, 0.0)
    """
    if others[0] <= figure <= others[-1]:
        return 0.0
    middle = others[len(others) // 2]
    off = sorted((abs(other - middle) for other in others), reverse=True)
    near = resolution(middle)
    if off[0] > near or not middle:  # it varies: what is counted is off by its root, by chance alone
        near = max(near, CHANCE * math.sqrt(max(1.0, abs(middle))))
    farthest = max(off[0], near)
    if (gap := abs(figure - middle)) <= farthest:
        return 0.0
    count = max(3, len(others) // 10)
    base = max(off[min(count, len(off) - 1)], near)
    length = sum(math.log(max(each, base) / base) for each in off[:count]) / count
    falls = min(STEEPEST, (1 - 1 / math.sqrt(count)) / length) if length else STEEPEST
    return math.log10(len(others) + 1) + falls * math.log10(gap / farthest)


@dataclass(frozen=True, slots=True)
class PeerComparison:
    """A node beside its peers.

    Shape: `unusual` is what is told, the most unusual first; `stood_out` by how much a figure stands out, at most.
    `with_whom` says how many facts were judged by whom; it is empty where nothing can be said, not even that all is
    usual.
    """

    unusual: tuple[Unusual, ...] = ()
    stood_out: float = 0.0
    with_whom: str = ""


def compare(
    here: NodeFacts, peers: Peers, past: Sequence[NodeFacts] = (), booted: datetime | None = None
) -> PeerComparison:
    """Compare a node with its peers.

    Shape: `peers` without the node itself; `past` are its own earlier checks, the oldest first: they say since when it
    is so, and what the kernel said then is its habit. `booted` is when it did. With too few peers a node that is not
    healthy is compared with its past alone.
    """
    them = f"its {len(peers):,} peers"
    if len(peers) < (FEWEST_PEERS if here.is_healthy else FEWEST_OF_SICK):
        if here.is_healthy or len(past) < FEWEST_LOOKS:
            return PeerComparison()
        peers = Peers()
        for number, look in enumerate(past):
            peers.add(replace(look, node=str(number), stood_out=math.inf))
        them = f"its {len(past):,} earlier checks"
    most = dict[str, tuple[float, str, Fact]]()
    kinds, standing, stood_out, threshold, judged = set[str](), set[str](), 0.0, peers.threshold, 0
    for fact, value, by in _differing(here, peers):
        kinds.add(kind_of(fact))
        if fact.startswith(SAID) and (_is_habit(fact, past) or (here.is_healthy and len(peers) < FEWEST_WHO_SAY)):
            continue  # so few cannot have said everything that is usual
        is_settled = peers.is_settled(fact, value)
        judged += is_settled or isinstance(value, float)
        if not by:
            continue
        if not (told := is_settled) and isinstance(value, float):
            stood_out, told = max(stood_out, by), by > threshold
        if told:
            standing.add(kind_of(fact))
            entry = f"{fact.rpartition(']')[0]}]" if "]" in fact else fact
            most[entry] = max(most.get(entry, (0.0, "", "")), (by, fact, value), key=lambda each: each[0])
    if len(standing) > ANOTHER_KIND * len(kinds):
        return PeerComparison(stood_out=stood_out)
    ranked = sorted(most.values(), key=lambda each: (-each[0], each[1]))[:MOST_TOLD]
    ranked.sort(key=lambda each: not isinstance(each[2], str))  # a state says more of itself than a figure does
    return PeerComparison(
        tuple(
            _unusual(fact, value, f"{_of_peers(fact, value, peers)} on {them}", past, booted)
            for _, fact, value in ranked
        ),
        stood_out,
        f"{judged:,} facts beside {them}" if judged else "",
    )


def _unusual(fact: str, value: Fact, peers: str, past: Sequence[NodeFacts], booted: datetime | None) -> Unusual:
    first, before = first_seen(fact, value, past)
    by_boot = booted is not None and before is not None and before < booted and (first is None or booted <= first)
    return Unusual(
        fact,
        value_text(fact, value),
        peers,
        "" if before is None else "now" if first is None else first.isoformat(timespec="minutes"),
        words_of(fact)[0],
        booted.isoformat(timespec="minutes") if by_boot and booted is not None else "",
    )


def _differing(here: NodeFacts, peers: Peers) -> Iterator[tuple[str, Fact, float]]:
    """Every fact that is known here and of most peers: its value, and by how much it stands out."""
    for fact, value in here.facts.items():
        if "." not in fact:
            continue
        if isinstance(value, str):
            yield from _state(fact, value, peers)
        elif (figures := peers.figures(fact)) and len(figures) * 2 >= len(peers):
            yield fact, value, outlier_score(value, figures)
    for fact in peers.entries:
        if fact in here.facts or fact.startswith(SAID) or here.facts.get(fact.partition(".")[0]) != READ:
            continue
        whole = fact[: fact.rfind("[")].rpartition("]")[0]  # what it is a part of
        if not whole or f"{whole}]" in here.facts:
            yield from _state(fact, ABSENT, peers)


def _is_habit(fact: str, past: Sequence[NodeFacts]) -> bool:
    """True for what was said at the first known check, or was said and then was not."""
    known = [fact in look.facts for look in past]
    return any(known) and (known[0] or known != sorted(known))


def _state(fact: str, value: str, peers: Peers) -> Iterator[tuple[str, Fact, float]]:
    states = peers.states(fact)
    if (known := states.total()) * 2 >= len(peers):
        yield fact, value, 0.0 if value in states else 2 + math.log10(known + 1)


def _of_peers(fact: str, value: Fact, peers: Peers) -> str:
    """What the peers have, in words: their most common state, or the middle of their figures and how far they go."""
    if isinstance(value, str):
        states = peers.states(fact)
        if len(states) > 1 and value == ABSENT:  # each has its own
            return WORDS[PRESENT]
        (usual, count), *_ = states.most_common(1)
        return value_text(fact, usual) + (f" (on {count:,})" if len(states) > 1 else "")
    figures = peers.figures(fact)
    least, middle, most = (value_text(fact, figures[at]) for at in (0, len(figures) // 2, -1))
    return middle if least == most else f"{middle} ({least} to {most})"


def first_seen(fact: str, value: Fact, past: Sequence[NodeFacts]) -> tuple[datetime | None, datetime | None]:
    """Return the first check since which it is so, and the one before, which differed.

    Shape: the first is None for this check; the one before is None where none is known to differ.
    """
    first = None
    for look in reversed(past):
        if fact not in look.facts and fact.partition(".")[0] not in look.facts:
            continue  # its probe was not read
        then = look.facts.get(fact, ABSENT)
        if isinstance(then, float) and isinstance(value, float):
            alike = abs(then - value) <= resolution(value)
        else:
            alike = then == value
        if not alike:
            return first, look.at
        first = look.at
    return None, None


def words_of(fact: str) -> tuple[str, str]:
    """Return a fact's path in words, empty where none are known, and the form of its figures.

    Example:
    >>> words_of("hardware.links[mlx5_core 0000:17:00.0].width"), words_of("hardware.settings[vm.swappiness]")
    (('PCIe width of mlx5_core 0000:17:00.0', 'x{}'), ('vm.swappiness', '{}'))
    >>> words_of("units.services[chrony.service]"), words_of("reclaim.meminfo_kib[MemTotal]")
    (('unit chrony.service', '{}'), ('MemTotal (kiB)', '{}'))
    """
    for pattern, words, form in _TITLES:
        if found := pattern.fullmatch(fact):
            return words.format(*found.groups("")), form
    return "", "{}"


def value_text(fact: str, value: Fact) -> str:
    """Return a fact's value in words, such as `x16` for the width of a link."""
    return WORDS.get(value, value) if isinstance(value, str) else words_of(fact)[1].format(f"{value:,.10g}")
