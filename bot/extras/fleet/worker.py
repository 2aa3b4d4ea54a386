"""Where a worker takes an order, reads the nodes with its own inventory and keys, and replies. It can only read."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from bot.actions import ACTIONS
from bot.app.factories import library, now, runner_name, ssh_transport
from bot.app.version import program_name
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Completed
from bot.domain.contracts import Clock, NodeDirectory, Transport
from bot.domain.errors import InventoryError, SchedulerError, UsageError
from bot.domain.mute_record import GivenMutes
from bot.domain.node import Node
from bot.domain.playbook import Playbooks
from bot.extras.fleet.dask_scheduler import address_of, is_zone, not_installed
from bot.extras.fleet.run import ChunkReader
from bot.extras.fleet.settings import WorkersSettings
from bot.extras.fleet.sweep import NodeAnswer, Sweep
from bot.extras.fleet.worker_messages import ChunkReply, ChunkRequest, SweepQuestion
from bot.inventory import Inventory
from bot.response.diagnosis.triage import Triage
from bot.settings import Settings

KEPT_SWEEPS = 8


@dataclass(frozen=True, slots=True)
class ReadOnlyTransport:
    """Access to nodes that can only read."""

    way: Transport

    def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Do as `Transport.read`."""
        return self.way.read(node, batch, deadline)


@dataclass(frozen=True, slots=True)
class ChunkWorker:
    """Handles orders in a worker."""

    program: str
    worker: str
    nodes: NodeDirectory
    playbooks: Playbooks
    way: ReadOnlyTransport
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
            return ChunkReply(self.program, self.worker, address, refused=no.sentence).text
        known, unknown = list[Node](), list[str]()
        for name in order.nodes:
            try:
                known.append(self.nodes.find(name))
            except InventoryError:
                unknown.append(name)
        answers, wrong = list[NodeAnswer](), ""
        reader = ChunkReader(triage, sweep, len(order.nodes))
        try:
            await reader.read(known, answers.append)
        except UsageError as no:  # a key or known_hosts file; the nodes already read are reported
            wrong = str(no)
        self.remark(f"read {len(answers)} of {len(order.nodes)} nodes")
        return ChunkReply(self.program, self.worker, address, tuple(answers), "", tuple(unknown), wrong).text

    def _prepared(self, question: SweepQuestion) -> tuple[Sweep, Triage]:
        """The sweep and its triage; made once for each question, like its batch.

        Raises: UsageError when program version or playbook differ.
        """
        if question.program != self.program:
            raise SchedulerError(f"it runs {self.program}, and was asked by another version.")
        made = self._sweeps.get(key := question.text)
        if made is None:
            sweep = question.sweep(self.playbooks.get(question.playbook))
            sampling, mutes = Sampling(question.samples), GivenMutes(question.mutes)
            made = sweep, Triage(self.way, ACTIONS, self.clock, sampling, question.deadline, mutes=mutes)
            while len(self._sweeps) >= KEPT_SWEEPS:
                self._sweeps.pop(next(iter(self._sweeps)))
            self._sweeps[key] = made
        return made


# --- put together, for `zombie worker`


async def work(
    settings: Settings,
    known: Inventory,
    environment: Mapping[str, str],
    zone: str,
    at_once: int,
    remark: Callable[[str], None],
) -> None:
    """Read chunks of sweeps until a signal stops it, with this machine's own inventory and reading keys.

    Raises: SchedulerError when the scheduler does not answer, is gone or may not be used, or `zone` is invalid.
    """
    address = address_of(settings.of(WorkersSettings))
    try:
        from bot.extras.fleet.dask_worker import serve  # it imports this file, and what it needs need not be installed
    except ImportError as no:
        raise not_installed() from no
    if zone and not is_zone(zone):
        raise SchedulerError("That is not a valid zone.", "Write it like the nodes' label az or zone: us-east-1a.")
    name = runner_name()
    chunk_worker = ChunkWorker(
        program_name(),
        name,
        known,
        library(settings.playbooks),
        ReadOnlyTransport(ssh_transport(environment)),
        now,
        remark,
    )
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    where = f" of {zone}" if zone else ""
    ready = f"{name} reads nodes{where} for {address.url}, {known.says}"
    await serve(address, chunk_worker, zone, max(1, at_once // 50), stop, ready)
