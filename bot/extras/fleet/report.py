"""The result of a sweep, and its words: which nodes have which cause, how common it is, and in which groups."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.chat.document import clipped
from bot.domain.node import Node
from bot.domain.safe_text import listed, one_line, safe, safe_value
from bot.domain.verdict import Status
from bot.extras.fleet.sweep import Found, JudgedBy, NodeAnswer, NodeOutcome
from bot.surfaces.verdict_text import wrapped

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
        """The nodes that answered, but the question stays open: of none of the causes is it known there."""
        counted = {count.cause for count in self.causes}
        return tuple(
            answer
            for answer in self.answers
            if answer.outcome is NodeOutcome.UNKNOWN or (answer.undecided and counted.issubset(answer.undecided))
        )

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
        _counts_by_label(nodes, answers),
        seconds,
        len(answers) == len(nodes),
        {node.name: node.labels for node in nodes},
    )


def _counts_by_label(nodes: Sequence[Node], answers: Sequence[NodeAnswer]) -> Mapping[str, Mapping[str, GroupCount]]:
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
        label: {value: _group_count(names, answered) for value, names in sorted(values.items())}
        for label, values in groups.items()
        if not (len(values) > MANY_VALUES and len(values) * 2 > len(nodes))
    }


def _group_count(names: Sequence[str], answered: Mapping[str, NodeAnswer]) -> GroupCount:
    answers = [answered[name] for name in names if name in answered]
    counts: dict[str, int] = {}
    for answer in answers:
        for cause in answer.causes:
            counts[cause] = counts.get(cause, 0) + 1
    return GroupCount(len(names), sum(answer.outcome is not NodeOutcome.UNREACHABLE for answer in answers), counts)


# --- as JSON for scripts, and as text for a terminal


SCHEMA_VERSION = 1
NODES_NAMED = 8  # of a cause, in text; the JSON names all
GROUPS_TOLD = 6
LONGEST = 300  # characters of what was seen


def fleet_body(report: FleetReport, *, verdicts: bool = False) -> dict[str, Any]:
    """Return the document.

    Shape: `share` is of the nodes that answered, null where none did; `interval` is Wilson's 95 %. `exact`: every
    selected node was read. `unread` are the nodes that nobody read; they are not among those that answered.
    """
    body: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "selected": report.selected,
        "asked": report.asked,
        "answered": report.answered,
        "unreachable": [
            {"node": answer.node, "class": answer.unreachable_class, "because": answer.because}
            for answer in report.unreachable
        ],
        "unknown": [answer.node for answer in report.unknown],
        "unread": list(report.unread),
        "causes": [_cause_document(count, bool(report.answered)) for count in report.causes],
        "by": {
            label: {
                value: {"asked": group.asked, "answered": group.answered, "causes": dict(group.causes)}
                for value, group in values.items()
            }
            for label, values in report.by.items()
        },
        "complete": report.is_whole,
        "seconds": round(report.seconds, 3),
    }
    if report.same_machines:
        body["remarks"] = list(remarks(report))
    if verdicts:
        body["nodes"] = [_node_document(answer) for answer in report.answers]
    cleaned: dict[str, Any] = safe_value(body)
    return cleaned


def _cause_document(count: CauseCount, is_known: bool) -> dict[str, Any]:
    return {
        "cause": count.cause,
        "judged": count.judged.value,
        "nodes": list(count.nodes),
        "share": round(count.prevalence.share, 6) if is_known else None,
        "interval": [round(bound, 6) for bound in count.prevalence.interval],
        "exact": count.prevalence.is_exact,
        "undecided": list(count.undecided),
        "muted": list(count.muted),
    }


def _node_document(answer: NodeAnswer) -> dict[str, Any]:
    return {
        "node": answer.node,
        "status": answer.status,
        "cause": answer.cause or None,
        "confidence": answer.confidence or None,
        "summary": answer.because,
    }


def remarks(report: FleetReport) -> tuple[str, ...]:
    """Return a sentence for each machine-id that several nodes share."""
    return tuple(
        f"{', '.join(names[:NODES_NAMED])} share the machine-id {machine_id}: the same machine, or a copied image. "
        "They are counted separately."
        for machine_id, names in report.same_machines
    )


def answer_line(answer: NodeAnswer, verdicts: bool = True) -> str:
    """Return a node's answer as a complete line: its verdict where it was checked, else what was seen."""
    if answer.unreachable_class:
        return f"{safe(answer.node)}  UNREACHABLE  {safe(answer.because)}"
    if not verdicts:
        seen = "; ".join(f"{found.cause}: {seen_words(found)}" for found in answer.found)
        open_ = f"; not known: {', '.join(answer.undecided)}" if answer.undecided else ""
        return f"{safe(answer.node)}  {safe(seen or f'none of it was seen{open_}')}"
    if answer.found:
        causes = ", ".join(
            f"{found.cause} ({found.confidence}{', muted' if found.muted else ''})" for found in answer.found
        )
        return f"{safe(answer.node)}  {answer.status.upper()}  {safe(causes)}"
    return f"{safe(answer.node)}  {answer.status.upper()}"


def seen_words(found: Found) -> str:
    """Return what was seen of a cause, up to its first colon or semicolon: what follows judges it, as only a check may.

    Example:
    >>> seen_words(Found("leak", "degraded", "possible", "57,382 dying beside 240 alive: present, not proven"))
    '57,382 dying beside 240 alive'
    """
    return re.split(r"[:;] ", one_line(found.says, LONGEST), maxsplit=1)[0]


def fleet_text(report: FleetReport, width: int = 80, *, goes_on: bool = False) -> str:
    """Return the whole report; `goes_on`: it is of those that have answered so far."""
    return "\n".join(_report_lines(report, max(40, width), goes_on)) + "\n"


def rest_text(report: FleetReport, shown: Collection[str], width: int = 80) -> str:
    """Return what is left to say once all are through, where the report of `shown` nodes was printed before."""
    late = [answer for answer in report.answers if answer.node not in shown]
    if any(answer.found or answer.undecided for answer in late):
        return f"\n{fleet_text(report, width)}"  # the counts are other ones now
    return "\n" + "".join(f"{line}\n" for line in wrapped(headline(report), width, ""))


def _report_lines(report: FleetReport, width: int, goes_on: bool) -> Iterator[str]:
    yield from wrapped(headline(report, goes_on), width, "")
    found = [count for count in report.causes if count.nodes]
    for count in found:
        yield ""
        how = "" if count.judged.value == "full" else ", by its signature: possible, not proven"
        yield f"  {count.cause}{how}"
        yield from wrapped(f"{count.prevalence.says}", width, "    ")
        if count.judged is JudgedBy.SIGNATURE:
            yield from _seen_lines(report, count, width)
        else:
            yield from wrapped(listed(count.nodes, NODES_NAMED), width, "      ", first="    on ")
        if count.muted:
            said = f"muted on {len(count.muted):,} of them: {listed(count.muted, NODES_NAMED)}"
            yield from wrapped(said, width, "      ", first="    ")
        for label, counts in among(report, count.cause):
            yield from wrapped(f"by {label}: {counts}", width, "      ", first="    ")
        if count.undecided:
            yield from wrapped(f"not known for {listed(count.undecided, NODES_NAMED)}", width, "      ", first="    ")
    clear = [count for count in report.causes if not count.nodes and not count.undecided]
    if clear and report.answered:  # without answers nothing can be said
        yield ""
        yield from wrapped("Not found: " + ", ".join(count.cause for count in clear), width, "    ", first="  ")
    if unsure := [count for count in report.causes if not count.nodes and count.undecided]:
        said = "; ".join(f"{count.cause} of {listed(count.undecided, 3)}" for count in unsure)
        yield from wrapped(f"Not found, but not known for every node: {said}", width, "    ", first="  ")
    if report.unreachable:
        silent = [f"{answer.node} ({answer.unreachable_class})" for answer in report.unreachable]
        yield from wrapped(f"Nobody could talk to {listed(silent, NODES_NAMED, '; ')}", width, "    ", first="  ")
    if report.unknown:
        yield from wrapped(
            f"Not known for {listed([answer.node for answer in report.unknown], NODES_NAMED)}",
            width,
            "    ",
            first="  ",
        )
    for remark in remarks(report):
        yield from wrapped(remark, width, "    ", first="  ")
    if any(count.judged.value == "signature" for count in found):
        yield ""
        yield from wrapped("For verdicts: zombie check NODE, or this again with --full.", width, "  ", first="  ")


def _seen_lines(report: FleetReport, count: CauseCount, width: int) -> Iterator[str]:
    """What was seen on each of the first nodes that have a cause."""
    found = {answer.node: each for answer in report.answers for each in answer.found if each.cause == count.cause}
    named = count.nodes[:NODES_NAMED]
    longest = max(len(safe(node)) for node in named)
    for node in named:
        yield clipped(f"    {safe(node):<{longest}}  {safe(seen_words(found[node]))}", width)
    if more := len(count.nodes) - len(named):
        yield f"    and {more:,} more"


def headline(report: FleetReport, goes_on: bool = False) -> str:
    """Return a line: how many nodes were selected, asked and answered; `goes_on`: others still may."""
    if goes_on:
        said = f"{report.answered:,} of {report.asked:,} nodes answered so far, in {report.seconds:.1f} s"
        return f"{said}. These follow: {listed(report.unread, NODES_NAMED)}"
    drawn = f", a sample of {report.selected:,}" if report.asked < report.selected else ""
    broken_off = "" if report.is_whole else f"; stopped after {len(report.answers):,} of them"
    return f"{report.answered:,} of {report.asked:,} nodes answered{drawn}{broken_off}, in {report.seconds:.1f} s"


def among(report: FleetReport, cause: str) -> Iterator[tuple[str, str]]:
    """Yield, by label, which nodes have a cause; a label with the same value on all nodes is left out."""
    for label, values in report.by.items():
        if len(values) < 2:
            continue
        ordered = sorted(values.items(), key=lambda item: -item[1].causes.get(cause, 0))
        counts = [f"{value} {group.causes.get(cause, 0)} of {group.answered}" for value, group in ordered]
        yield label, listed(counts, GROUPS_TOLD)


# --- how many of the nodes asked have a fault, and the bounds of its share among all nodes


Z95 = 1.959963984540054  # of the normal distribution: 95 % lie within this many standard deviations


@dataclass(frozen=True, slots=True)
class Prevalence:
    """`found` of `asked` nodes. `is_exact`: every selected node was read, so that nothing is estimated."""

    found: int
    asked: int
    is_exact: bool = False

    @property
    def share(self) -> float:
        """The share among the nodes asked, 0 if none was asked."""
        return self.found / self.asked if self.asked else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share; 0 to 1 if no node was asked.

        Source: E. B. Wilson, 1927; it also holds near 0 and 1 and for few nodes, unlike the usual interval.

        Example:
        >>> low, high = Prevalence(8, 100).interval
        >>> f"{low:.4f} {high:.4f}"
        '0.0411 0.1500'
        """
        if not self.asked:
            return 0.0, 1.0
        n, share, square = self.asked, self.share, Z95 * Z95
        middle = (share + square / (2 * n)) / (1 + square / n)
        half = Z95 / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
        # Rounding at the ends must not exclude the share that was seen.
        return (0.0 if not self.found else max(0.0, middle - half)), (
            1.0 if self.found == n else min(1.0, middle + half)
        )

    @property
    def says(self) -> str:
        """The share in words, always with its bounds.

        Example:
        >>> Prevalence(8, 100).says, Prevalence(8, 40, is_exact=True).says
        ('8 of 100: 8 % (4 to 15 % of all)', '8 of 40: 20 %, every node was read')
        """
        words = f"{self.found:,} of {self.asked:,}"
        if not self.asked:
            return f"{words}: nobody answered"
        words += f": {_percent(self.share)} %"
        low, high = self.interval
        return (
            f"{words}, every node was read"
            if self.is_exact
            else f"{words} ({_percent(low)} to {_percent(high)} % of all)"
        )


def _percent(share: float) -> str:
    percent = share * 100
    return f"{percent:.1f}" if 0 < percent < 1 or 99 < percent < 100 else f"{percent:.0f}"
