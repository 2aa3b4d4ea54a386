"""The result of a sweep: which nodes have which cause, how common it is, and in which groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.node import Node
from bot.domain.prevalence import Prevalence
from bot.domain.verdict import Status
from bot.response.fleet.answer import NodeAnswer, NodeOutcome
from bot.response.fleet.sweep import JudgedBy

# Labels that name a node; counting by them would say nothing.
NAMES = frozenset({"instance_id", "private_dns", "hostname", "kubernetes_node"})
MANY_VALUES = 20  # more values, with fewer than two nodes each, are names too
TRAITS = ("kernel", "distribution", "driver", "cgroup")  # from readings, beside the labels


@dataclass(frozen=True, slots=True)
class CauseCount:
    """A cause in the fleet: `nodes` have it, on `muted` of them people accept it; of `undecided` it is not known."""

    cause: str
    judged: JudgedBy
    nodes: tuple[str, ...]
    prevalence: Prevalence
    undecided: tuple[str, ...] = ()
    muted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupCount:
    """The nodes that share a value of a label: how many were asked and answered, and how many have each cause."""

    asked: int
    answered: int
    causes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FleetReport:
    """The result of a sweep so far.

    Shape: of `selected` nodes, `asked` were drawn. `answered` also counts the unknown ones. `causes`
    begin with the most common. `by` maps a label to its values to their counts. `is_whole`: no answer is missing.
    `labels` are the inventory's, by node.
    """

    selected: int
    asked: int
    answers: tuple[NodeAnswer, ...]
    causes: tuple[CauseCount, ...]
    by: Mapping[str, Mapping[str, GroupCount]]
    seconds: float
    is_whole: bool
    labels: Mapping[str, Mapping[str, str]]

    @property
    def answered(self) -> int:
        """How many answered, including unknown ones."""
        return sum(answer.outcome is not NodeOutcome.UNREACHABLE for answer in self.answers)

    @property
    def unreachable(self) -> tuple[NodeAnswer, ...]:
        """The unreachable nodes."""
        return tuple(answer for answer in self.answers if answer.outcome is NodeOutcome.UNREACHABLE)

    @property
    def unknown(self) -> tuple[NodeAnswer, ...]:
        """The nodes that answered, but the question stays open."""
        return tuple(answer for answer in self.answers if answer.outcome is NodeOutcome.UNKNOWN)

    @property
    def unread(self) -> tuple[str, ...]:
        """The names of the nodes without an answer: nobody read them, or not yet."""
        answered = {answer.node for answer in self.answers}
        return tuple(name for name in self.labels if name not in answered)

    @property
    def figures(self) -> Mapping[str, int | float]:
        """What a line of the log tells of it; `answered` are those of which it can be told."""
        unknown, unreachable = len(self.unknown), len(self.unreachable)
        return {
            "asked": self.asked,
            "answered": self.answered - unknown,
            "unknown": unknown,
            "unreachable": unreachable,
            "seconds": round(self.seconds, 3),
            "whole": self.is_whole,
        }

    @property
    def statuses(self) -> frozenset[Status]:
        """The statuses of all nodes."""
        return frozenset(Status(answer.status) for answer in self.answers)

    @property
    def same_machines(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Machine-ids that several names share. They are reported, never merged: an image may contain it."""
        names: dict[str, list[str]] = {}
        for answer in self.answers:
            if answer.machine_id:
                names.setdefault(answer.machine_id, []).append(answer.node)
        return tuple((machine_id, tuple(several)) for machine_id, several in names.items() if len(several) > 1)


def report(
    nodes: Sequence[Node],
    answers: Sequence[NodeAnswer],
    judged: Mapping[str, JudgedBy],
    *,
    selected: int,
    seconds: float,
) -> FleetReport:
    """Count the answers. Shape: `nodes` were asked, of `selected` nodes; a repeated answer counts once."""
    order = {node.name: at for at, node in enumerate(nodes)}
    answered = {answer.node: answer for answer in answers if answer.node in order}
    answers = sorted(answered.values(), key=lambda answer: order[answer.node])
    reached = [answer for answer in answers if answer.outcome is not NodeOutcome.UNREACHABLE]
    is_exact = selected == len(nodes) == len(reached)
    causes = []
    for cause, how in judged.items():
        having = tuple(answer.node for answer in reached if cause in answer.causes)
        undecided = tuple(answer.node for answer in reached if cause in answer.undecided)
        # A node of which it cannot be told may have it: then not every node was read.
        share = Prevalence(len(having), len(reached), is_exact and not undecided)
        muted = tuple(
            answer.node for answer in reached if any(found.muted and found.cause == cause for found in answer.found)
        )
        causes.append(CauseCount(cause, how, having, share, undecided, muted))
    causes.sort(key=lambda count: -len(count.nodes))
    return FleetReport(
        selected,
        len(nodes),
        tuple(answers),
        tuple(causes),
        _by(nodes, answers),
        seconds,
        len(answers) == len(nodes),
        {node.name: node.labels for node in nodes},
    )


def _by(nodes: Sequence[Node], answers: Sequence[NodeAnswer]) -> Mapping[str, Mapping[str, GroupCount]]:
    """Count by each label that groups nodes, and by the nodes' own traits."""
    answered = {answer.node: answer for answer in answers}
    groups: dict[str, dict[str, list[str]]] = {}
    for node in nodes:
        traits = answered[node.name].traits if node.name in answered else {}
        for label, value in {
            **{name: traits[name] for name in TRAITS if name in traits},
            **{name: value for name, value in node.labels.items() if name not in NAMES},
        }.items():
            groups.setdefault(label, {}).setdefault(value, []).append(node.name)
    return {
        label: {value: _group(names, answered) for value, names in sorted(values.items())}
        for label, values in groups.items()
        if not (len(values) > MANY_VALUES and len(values) * 2 > len(nodes))
    }


def _group(names: Sequence[str], answered: Mapping[str, NodeAnswer]) -> GroupCount:
    answers = [answered[name] for name in names if name in answered]
    counts: dict[str, int] = {}
    for answer in answers:
        for cause in answer.causes:
            counts[cause] = counts.get(cause, 0) + 1
    return GroupCount(len(names), sum(answer.outcome is not NodeOutcome.UNREACHABLE for answer in answers), counts)
