"""A sweep over a fleet, put together: what is asked, how the nodes are reached, and what came, however it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from bot.actions import ACTIONS
from bot.app.parts import now
from bot.domain.batch import Sampling
from bot.domain.contracts import Transport
from bot.domain.mute import MuteRecord
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.probes import PROBES
from bot.response.diagnosis.planning import Draining
from bot.response.diagnosis.triage import Triage
from bot.response.fleet.answer import NodeAnswer
from bot.response.fleet.chunk import ChunkReader
from bot.response.fleet.difference import Comparison, compare
from bot.response.fleet.report import NAMES, FleetReport, report
from bot.response.fleet.sweep import Sweep

BEYOND_WINDOW = timedelta(seconds=15)  # connecting, logging in, and the slowest command's own limit
MOST_AT_ONCE = 50


@dataclass(slots=True)
class FleetRun:
    """One sweep under way. `answers` grow as they come, and stay when it is broken off.

    Shape: `selected` nodes were meant, of which `nodes` are asked.
    """

    nodes: tuple[Node, ...]
    selected: int
    sweep: Sweep
    transport: Transport
    sampling: Sampling
    deadline: timedelta
    parallel: int = MOST_AT_ONCE
    draining: Draining = field(default_factory=Draining)
    mutes: MuteRecord | None = None
    wants_facts: bool = False
    answers: list[NodeAnswer] = field(default_factory=list)
    seconds: float = 0.0

    def reader(self) -> ChunkReader:
        """What reads a chunk of the nodes."""
        triage = Triage(
            self.transport, ACTIONS, now, self.sampling, self.deadline, draining=self.draining, mutes=self.mutes
        )
        return ChunkReader(triage, self.sweep, self.parallel, self.wants_facts)

    async def run(self, heard: Callable[[NodeAnswer], None]) -> None:
        """Ask every node; each answer is kept and handed over as it comes.

        Raises: UsageError of any node, once all others are through.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()

        def came(answer: NodeAnswer) -> None:
            self.answers.append(answer)
            self.seconds = loop.time() - began
            heard(answer)

        try:
            await self.reader().answers(self.nodes, came)
        finally:
            self.seconds = loop.time() - began

    @property
    def report(self) -> FleetReport:
        """What came so far."""
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
            for answer in self.answers
        ]
        names = set(here)
        answers.sort(key=lambda answer: answer.node)
        return compare(
            [answer for answer in answers if answer.node in names],
            [answer for answer in answers if answer.node not in names],
            {used.cause.name: used.cause.signature for used in self.sweep.playbook.causes},
        )


def facts_run(
    nodes: Sequence[Node],
    playbook: Playbook,
    transport: Transport,
    deadline: timedelta | None = None,
    parallel: int | None = None,
) -> FleetRun:
    """Return the run that reads what nodes are compared by."""
    return FleetRun(
        tuple(nodes),
        len(nodes),
        Sweep.of_facts(playbook, (PROBES["boot_units"],)),
        transport,
        Sampling(),
        deadline or BEYOND_WINDOW,
        parallel or MOST_AT_ONCE,
        wants_facts=True,
    )


def exit_status(told: FleetReport) -> int:
    """Return 4 when every node was unreachable, else as `check`: 1 found, 4 any unreachable, 3 any unknown, 0."""
    if told.answers and len(told.unreachable) == len(told.answers):
        return 4
    if any(status.rank > 0 for status in told.statuses) or any(count.nodes for count in told.causes):
        return 1
    if told.unreachable:
        return 4
    return 3 if told.unknown or not told.is_whole else 0
