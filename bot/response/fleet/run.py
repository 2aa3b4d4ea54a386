"""A sweep, from its nodes to their answers, however it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from bot.domain.node import Node
from bot.response.diagnosis.triage import Triage
from bot.response.fleet.answer import NodeAnswer
from bot.response.fleet.chunk import ChunkReader, Hears
from bot.response.fleet.difference import Comparison, compare
from bot.response.fleet.report import NAMES, FleetReport, report
from bot.response.fleet.sweep import Sweep

MOST_AT_ONCE = 50


class Reads(Protocol):
    """Reads the nodes of a sweep, here or on other machines."""

    async def answers(self, nodes: Sequence[Node], heard: Hears) -> list[NodeAnswer]:
        """Return an answer for each node, passed on as they come. Raises: UsageError, once all others are done."""


@dataclass(slots=True)
class FleetRun:
    """A running sweep. `answers` grow as they come, and stay when it is stopped.

    Shape: of `selected` nodes, `nodes` are asked. `triage` reads and judges a node; `elsewhere`
    lets workers read them instead.
    """

    nodes: tuple[Node, ...]
    selected: int
    sweep: Sweep
    triage: Triage
    parallel: int = MOST_AT_ONCE
    wants_facts: bool = False
    elsewhere: Reads | None = None
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
            reader = self.elsewhere or ChunkReader(self.triage, self.sweep, self.parallel, self.wants_facts)
            await reader.answers(self.nodes, came)
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
                    **{f"label.{name}": said for name, said in labels[answer.node].items() if name not in NAMES},
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
