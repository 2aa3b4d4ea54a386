"""Where an alert leads: to which nodes, and by which route.

Nodes: whole names and label values of the inventory in its text; never a guess. Route: which playbook and channel, and
whether a plan may be offered; the first route that fits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from bot.domain.alert import AlertGroup, SourceAlert
from bot.domain.node import Node
from bot.domain.safe_text import one_line

READ_ONLY = "read-only"
# Labels of the inventory that hold other names of a node.
LABELS = ("instance_id", "private_dns", "hostname", "kubernetes_node")
MOST_TEXT = 2 * 1024 * 1024  # characters searched in an alert
_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9_-])?")
_LOOPBACK = re.compile(r"127\.|::1\Z|localhost\Z|0\.0\.0\.0\Z")
_DEEPEST = 40
_JSON_BEGINS = ("{", "[", '"')


@dataclass(frozen=True, slots=True)
class NamedNodes:
    """What was found: nodes in the order of their names in the text, and values that several nodes share.

    Shape: `ambiguous` maps a value to the nodes it may mean, none of which is named beside it.
    """

    nodes: tuple[str, ...] = ()
    ambiguous: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NamePlaces:
    """Where names are searched; everywhere without any.

    Shape: a path is keys with dots between, `*` any key: `body.details.host`, `labels.instance`. A pattern is a regular
    expression whose first group, or whole, is a name.
    """

    paths: tuple[tuple[str, ...], ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, paths: Iterable[str], patterns: Iterable[re.Pattern[str]]) -> NamePlaces:
        """Return the places that the settings name."""
        return cls(tuple(tuple(path.split(".")) for path in paths), tuple(patterns))


class Names:
    """Every name of every node, rebuilt when the inventory changes."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._names: set[str] = set()
        self._folded: dict[str, set[str]] = {}
        self._at: dict[str, set[str]] = {}
        for node in nodes:
            self._names.add(node.name)
            for value in (node.name, *(node.labels[label] for label in LABELS if node.labels.get(label))):
                self._folded.setdefault(value.casefold(), set()).add(node.name)
            self._at.setdefault(node.address.casefold(), set()).add(node.name)

    def nodes_of_word(self, word: str) -> frozenset[str]:
        """Return the nodes that a word may mean, ignoring case; an exact match wins over names that differ in case."""
        alike = self._folded.get(word.casefold(), set())
        if word in self._names and all(name.casefold() == word.casefold() for name in alike):
            return frozenset((word,))
        at = self._at.get(word.casefold(), set())
        # An address is a name only if a single node has it: many may share an address, and loopback names nobody.
        return frozenset(alike or (at if len(at) == 1 and not _LOOPBACK.match(word) else ()))

    def words_in(self, text: str) -> Iterator[str]:
        """Yield the words of a text that may mean nodes."""
        return filter(self.nodes_of_word, _WORD.findall(text))

    def found(self, alarm: AlertGroup, signals: Sequence[SourceAlert], places: NamePlaces) -> NamedNodes:
        """Return the nodes that an alert group and these alerts of it name."""
        nodes: dict[str, None] = {}
        shared: dict[str, frozenset[str]] = {}
        for word in dict.fromkeys(_possible_names(alarm, signals, places)):
            meant = self.nodes_of_word(word)
            if len(meant) == 1:
                nodes[next(iter(meant))] = None
            elif meant:
                shared[word] = meant
        open_ones = {word: tuple(sorted(meant)) for word, meant in shared.items() if not meant & nodes.keys()}
        return NamedNodes(tuple(nodes), open_ones)

    def parts(self, alarm: AlertGroup, places: NamePlaces) -> tuple[NamedNodes, Mapping[str, AlertGroup]]:
        """Return the nodes that an alert group names, and for each node of its alerts the group without the others.

        An alert that names no node of the inventory is about those that only the group's own words name; a group whose
        alerts are not known is one alert itself, by what happened to it and when. A node whose alerts are over while
        others fire is not named, whatever the group's own words are: its title is often that of its first alert. Which
        node an alert means, another alert of the group does not say.
        """
        named = self.found(alarm, alarm.firing or alarm.signals, places)
        bare = replace(alarm, title="", body={}, labels={})
        signals = alarm.signals or (SourceAlert(alarm.happening.value, since=alarm.occurred_at),)
        own = [(signal, self.found(bare, (signal,), places)) for signal in signals]
        named_itself = {node for _, found in own for node in found.nodes}
        rest = tuple(node for node in named.nodes if node not in named_itself)
        ambiguous = dict(named.ambiguous)
        alerts: dict[str, list[SourceAlert]] = {}
        for signal, found in own:
            theirs = found.nodes or rest
            for node in theirs:
                alerts.setdefault(node, []).append(signal)
            if signal.firing or not alarm.firing:
                ambiguous |= {word: meant for word, meant in found.ambiguous.items() if not {*meant} & {*theirs}}
        parts = {node: replace(alarm, signals=tuple(mine)) for node, mine in alerts.items()}
        nodes = tuple(node for node in named.nodes if not alarm.firing or parts.get(node, alarm).firing)
        return NamedNodes(nodes, ambiguous), parts


def _possible_names(alarm: AlertGroup, signals: Sequence[SourceAlert], places: NamePlaces) -> Iterator[str]:
    for text in _texts_to_search(alarm, signals, places.paths):
        if not places.patterns:
            yield from (found.group() for found in _WORD.finditer(text))
        for pattern in places.patterns:
            for found in pattern.finditer(text):
                name = found.group(1) if pattern.groups else found.group()
                if name:
                    yield name


def _texts_to_search(
    alarm: AlertGroup, signals: Sequence[SourceAlert], paths: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Every text to search, the case's own first, within the limit."""
    bodies: list[Mapping[str, Any]] = [{"title": alarm.title, "labels": alarm.labels, **alarm.body}]
    bodies += [{"title": signal.title, "labels": signal.labels, **signal.body} for signal in signals]
    room = MOST_TEXT
    for body in bodies:
        chosen = [value for path in paths for value in _values_at(body, path)] if paths else [body]
        for value in chosen:
            for text in _texts_within(value, 0):
                yield text[:room]
                room -= len(text)
                if room <= 0:
                    return


def _values_at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    """The values at a path; list items are visited, and JSON within a text is parsed on the way."""
    if isinstance(value, str) and path:
        value = _parsed_json(value)
    if isinstance(value, list):
        for item in value:
            yield from _values_at(item, path)
    elif not path:
        yield value
    elif isinstance(value, Mapping):
        for item in value.values() if path[0] == "*" else [value[path[0]]] if path[0] in value else []:
            yield from _values_at(item, path[1:])


def _texts_within(value: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        yield value
        if value.lstrip()[:1] in _JSON_BEGINS and (inner := _parsed_json(value)) is not None and inner != value:
            yield from _texts_within(inner, depth + 1)  # its escapes may be in the middle of a name
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts_within(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_within(item, depth + 1)


def _parsed_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class Route:
    """A [[route]]: what has to match, and where that leads.

    Shape: `match` maps labels to values, in which `*` matches anything; `source` is the source's name, `service` and
    the rest are labels. `number` counts the routes from 1; 0 is the default where no route fits.
    """

    number: int
    match: Mapping[str, str]
    playbook: str
    channel: str
    mode: str

    def fits(self, labels: Mapping[str, str]) -> bool:
        """True if every label has the value that the route asks for."""
        return all(label in labels and fnmatchcase(labels[label], value) for label, value in self.match.items())

    @property
    def withheld(self) -> str:
        """Why no plan is offered on this route; empty where it may be."""
        return (
            f"Route {self.number} is read-only: it shows what would help and offers nothing."
            if self.is_read_only
            else ""
        )

    @property
    def is_read_only(self) -> bool:
        """True if no plan is offered."""
        return self.mode == READ_ONLY

    @property
    def words(self) -> str:
        """What it matches, in a few words."""
        return ", ".join(f"{label} = {one_line(value, 60)}" for label, value in self.match.items()) or "anything"


@dataclass(frozen=True, slots=True)
class Routes:
    """Every route in order, and the default for alerts that no route fits."""

    routes: tuple[Route, ...]
    otherwise: Route

    def of_alarm(self, alarm: AlertGroup) -> Route:
        """Return the first route that fits an alert of the group."""
        return self.of_labels([{**labels, "source": alarm.source} for labels in alarm.label_sets()])

    def of_labels(self, label_sets: Sequence[Mapping[str, str]]) -> Route:
        """Return the first route that fits any of these."""
        return next((route for route in self.routes if any(map(route.fits, label_sets))), self.otherwise)

    def playbooks(self) -> Iterable[str]:
        """Return the names of all playbooks in routes."""
        return dict.fromkeys(route.playbook for route in (*self.routes, self.otherwise))
