"""A sweep, from its nodes to their answers, however it ended."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from bot.app.many_nodes import each_node
from bot.domain.errors import Unreachable
from bot.domain.node import Node
from bot.domain.probe import Snapshot
from bot.domain.safe_text import redacted_line
from bot.domain.verdict import Finding, Status, Undecided, Verdict
from bot.extras.fleet.comparison import Comparison, compare
from bot.extras.fleet.facts import fact_value, facts_of, figures_of, packed
from bot.extras.fleet.report import NAMES, FleetReport, report
from bot.extras.fleet.sweep import Counted, Found, NodeAnswer, NodeOutcome, Sweep
from bot.probes.host import HostReading
from bot.response.diagnosis.triage import Triage

MOST_AT_ONCE = 50


class Reads(Protocol):
    """Reads the nodes of a sweep, here or on other machines."""

    async def read(self, nodes: Sequence[Node], heard: Hears) -> None:
        """Pass on an answer for each node, as they come. Raises: UsageError, once all others are done."""


@dataclass(slots=True)
class FleetRun:
    """A running sweep. `answers` grow as they come, and stay when it is stopped.

    Shape: of `selected` nodes, `nodes` are asked, `parallel` at once.
    """

    nodes: tuple[Node, ...]
    selected: int
    sweep: Sweep
    reader: Reads
    parallel: int = MOST_AT_ONCE
    answers: list[NodeAnswer] = field(default_factory=list)
    seconds: float = 0.0

    async def run(self, heard: Hears = lambda answer: None) -> None:
        """Ask every node; each answer is kept and passed on as it comes.

        Raises: UsageError of any node, once all others are done.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()

        def came(answer: NodeAnswer) -> None:
            self.answers.append(answer)
            self.seconds = loop.time() - began
            heard(answer)

        try:
            await self.reader.read(self.nodes, came)
        finally:
            self.seconds = loop.time() - began

    @property
    def report(self) -> FleetReport:
        """The report of the answers so far."""
        return report(self.nodes, self.answers, self.sweep.judged, selected=self.selected, seconds=self.seconds)

    def comparison(self, here: Sequence[str]) -> Comparison:
        """Compare the nodes of these names with the others, by readings and labels."""
        labels = {node.name: node.labels for node in self.nodes}
        answers = [
            replace(
                answer,
                facts={
                    **answer.facts,
                    **{
                        f"label.{name}": fact_value(said)
                        for name, said in labels[answer.node].items()
                        if name not in NAMES
                    },
                },
            )
            for answer in sorted(self.answers, key=lambda answer: answer.node)
        ]
        names = set(here)
        return compare(
            [answer for answer in answers if answer.node in names],
            [answer for answer in answers if answer.node not in names],
            {used.cause.name: used.cause.signature for used in self.sweep.playbook.causes},
        )


# --- nodes in, answers out: the same in this process and in a worker


Hears: TypeAlias = Callable[[NodeAnswer], None]
LONGEST = 300  # characters of a sentence


@dataclass(frozen=True, slots=True)
class ChunkReader:
    """Reads the nodes of a chunk, a limited number at once."""

    triage: Triage
    sweep: Sweep
    parallel: int

    async def read(self, nodes: Sequence[Node], heard: Hears) -> None:
        """Pass on an answer for each node, as they come; an unreachable node is an answer too.

        Raises: UsageError (a missing key or known_hosts file) of any node, once all others are done.
        """

        async def ask(node: Node) -> None:
            heard(await self.answer(node))

        await each_node(nodes, self.parallel, ask)

    async def answer(self, node: Node) -> NodeAnswer:
        """Return a node's answer; an unreachable node is an answer too.

        Raises: UsageError when a key or known_hosts file is missing.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            snapshot = await self.triage.snapshot(node, self.sweep.playbook)
        except Unreachable as no:
            return NodeAnswer(
                node.name,
                NodeOutcome.UNREACHABLE,
                Status.UNREACHABLE.value,
                because=_redacted_line(no.sentence),
                unreachable_class=no.kind,
                seconds=loop.time() - began,
            )
        verdict = await self._verdict(node, snapshot)
        return self._node_answer(verdict, snapshot, loop.time() - began)

    async def _verdict(self, node: Node, snapshot: Snapshot) -> Verdict:
        if self.sweep.is_full:
            return await self.triage.judged(node, self.sweep.playbook, snapshot)
        async with self.triage.cpu_lock:
            verdict = self.sweep.verdict(snapshot)
            await asyncio.sleep(0)  # other work on this event loop gets a turn
            return verdict

    def _node_answer(self, verdict: Verdict, snapshot: Snapshot, seconds: float) -> NodeAnswer:
        wants = self.sweep.wants_facts
        results, muted = self.sweep.cause_results(snapshot), {mute.cause for mute in verdict.muted}
        host = snapshot.get(HostReading)
        return NodeAnswer(
            node=verdict.node,
            outcome=NodeOutcome.UNKNOWN if verdict.status is Status.UNKNOWN else NodeOutcome.ANSWERED,
            status=verdict.status.value,
            cause=verdict.cause or "",
            confidence=verdict.confidence.value if verdict.confidence is not None else "",
            because=_redacted_line(verdict.summary),
            found=tuple(
                Found(
                    result.cause or "",
                    result.status.value,
                    result.confidence.value if result.confidence is not None else "",
                    _redacted_line(result.summary),
                    tuple(map(_redacted_line, result.suspects)),
                    result.cause in muted,
                )
                for result in results
                if isinstance(result, Finding)
            ),
            undecided={
                result.cause: _redacted_line(result.because) for result in results if isinstance(result, Undecided)
            },
            machine_id=host.machine_id.lower() if isinstance(host, HostReading) else "",
            traits=_traits(snapshot, host if isinstance(host, HostReading) else None),
            facts=facts_of(snapshot) if wants and not self.sweep.is_full else {},
            figures=b64encode(packed(figures_of(snapshot))).decode() if wants and self.sweep.is_full else "",
            counted=tuple(_growing_counts(self.sweep, snapshot, host.boot_id if isinstance(host, HostReading) else "")),
            seconds=seconds,
        )


def _growing_counts(sweep: Sweep, snapshot: Snapshot, boot: str) -> Iterator[Counted]:
    for used in sweep.playbook.causes:
        grows = used.cause.grows
        if grows is not None and used.cause.name in sweep.judged and (value := grows.read(snapshot)) is not None:
            yield Counted(used.cause.name, value, boot, grows.harm(snapshot, used.tuning))


def _traits(snapshot: Snapshot, host: HostReading | None) -> Mapping[str, str]:
    """What fleets are compared by, beside labels: kernel, image and the like; nothing that differs for each node."""
    shown = {name: _redacted_line(said) for name, said in snapshot.traits.items() if name not in ("up", "kernel")}
    return ({"kernel": _redacted_line(host.kernel)} if host is not None else {}) | shown


def _redacted_line(text: str) -> str:
    return redacted_line(text, LONGEST)
