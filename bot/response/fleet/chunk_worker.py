"""Where a worker takes an order, reads the nodes with its own inventory and keys, and replies. It can only read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import timedelta

from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.contracts import Clock, NodeDirectory, Transport
from bot.domain.errors import InventoryError, SchedulerError, UsageError
from bot.domain.node import Node
from bot.domain.playbook import Playbooks
from bot.domain.probe import Probe
from bot.response.diagnosis.triage import Triage
from bot.response.fleet.answer import NodeAnswer
from bot.response.fleet.chunk import ChunkReader
from bot.response.fleet.chunk_reply import ChunkReply
from bot.response.fleet.chunk_request import ChunkRequest, Question
from bot.response.fleet.sweep import Sweep

KEPT_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class ReadingOnly:
    """Access to nodes that can only read."""

    way: Transport

    def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Do as `Transport.read`."""
        return self.way.read(node, batch, deadline)


@dataclass(frozen=True, slots=True)
class ChunkWorker:
    """Handles orders in a worker. Shape: `triage_of` makes the triage for a question and a sweep."""

    program: str
    worker: str
    nodes: NodeDirectory
    playbooks: Playbooks
    more_facts: tuple[Probe, ...]
    triage_of: Callable[[Question, Sweep], Triage]
    clock: Clock
    remark: Callable[[str], None] = lambda says: None
    _sweeps: dict[str, tuple[Sweep, Triage]] = field(default_factory=dict, init=False, compare=False, repr=False)

    async def reply(self, text: str, address: str) -> str:
        """Return the reply to an order, both as documents; the reply names what cannot be done."""
        try:
            order = ChunkRequest.of(text)
            sweep, triage = self._prepared(order.question)
        except UsageError as no:
            self.remark(f"refused: {no.sentence}")
            return ChunkReply(self.program, self.worker, address, self.clock(), refused=no.sentence).text
        known, unknown = list[Node](), list[str]()
        for name in order.nodes:
            try:
                known.append(self.nodes.find(name))
            except InventoryError:
                unknown.append(name)
        answers, wrong = list[NodeAnswer](), ""
        reader = ChunkReader(triage, sweep, order.parallel, order.question.kind == "facts")
        try:
            if known:
                await reader.answers(known, answers.append)
        except UsageError as no:  # a key or known_hosts file; the nodes already read are reported
            wrong = str(no)
        self.remark(f"read {len(answers)} of {len(order.nodes)} nodes")
        return ChunkReply(
            self.program, self.worker, address, self.clock(), tuple(answers), "", tuple(unknown), wrong
        ).text

    def _prepared(self, question: Question) -> tuple[Sweep, Triage]:
        """The sweep and its triage; made once for each question, like its batch.

        Raises: UsageError when program version or playbook differ.
        """
        if question.program != self.program:
            raise SchedulerError(f"it runs {self.program}, and was asked by another version.")
        made = self._sweeps.get(key := question.text)
        if made is None:
            sweep = question.sweep(self.playbooks.get(question.playbook), self.more_facts)
            made = sweep, self.triage_of(question, sweep)
            while len(self._sweeps) >= KEPT_SWEEPS:
                self._sweeps.pop(next(iter(self._sweeps)))
            self._sweeps[key] = made
        return made
