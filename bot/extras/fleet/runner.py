"""Sweeps put together: for a terminal, and for a serving bot, which runs a few at a time."""

from __future__ import annotations

import asyncio
import zlib
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from bot.actions import ACTIONS
from bot.app.check import DEADLINE_BEYOND_WINDOW
from bot.app.factories import now, randomness
from bot.app.kubernetes import draining
from bot.app.version import program_name
from bot.app.workload_selection import find_selected
from bot.domain.batch import Sampling
from bot.domain.contracts import Transport
from bot.domain.errors import UsageError
from bot.domain.mute_record import MuteRecord
from bot.domain.node import Node
from bot.domain.playbook import Playbook, Playbooks
from bot.domain.sample import Randomness, Sample
from bot.domain.verdict import Status
from bot.extras.fleet.comparison import Comparison
from bot.extras.fleet.dask_scheduler import address_of, not_installed
from bot.extras.fleet.facts import unpacked
from bot.extras.fleet.fleet_request import FleetRequest
from bot.extras.fleet.report import FleetReport
from bot.extras.fleet.run import MOST_AT_ONCE, ChunkReader, FleetRun, Hears, Reads
from bot.extras.fleet.settings import WorkersSettings
from bot.extras.fleet.sweep import Sweep
from bot.extras.fleet.worker_messages import SweepQuestion
from bot.inventory import Inventory
from bot.response.diagnosis.triage import Triage
from bot.seats import KeepsFacts
from bot.settings import Settings

NODES_A_CHUNK = 200  # at most, however many are asked at once
SECONDS_A_LOOK = 2.0  # for connecting and a look, with many at once
EVERYBODY = "*"


@dataclass(frozen=True, slots=True)
class SweepDependencies:
    """What sweeps need here.

    Shape: `parallel` nodes are read at once. `mutes` say which causes are accepted, for full judgements. `remark` takes
    remarks about the workers of a scheduler.
    """

    settings: Settings
    transport: Transport
    mutes: MuteRecord | None = None
    parallel: int = MOST_AT_ONCE
    remark: Callable[[str], None] = lambda says: None

    @property
    def sampling(self) -> Sampling:
        """The window of whole checks."""
        return Sampling(self.settings.samples)

    def sweep(self, nodes: Sequence[Node], selected: int, sweep: Sweep) -> FleetRun:
        """Return the run of a sweep. Raises: SchedulerError when its scheduler may not be used."""
        window = self.sampling.window if sweep.needs_window else timedelta(0)
        deadline = self.settings.deadline or DEADLINE_BEYOND_WINDOW + window
        drains, mutes = draining(self.settings), self.mutes if sweep.is_full else None
        triage = Triage(self.transport, ACTIONS, now, self.sampling, deadline, draining=drains, mutes=mutes)
        reader = self._scheduler_reader(sweep, triage) or ChunkReader(triage, sweep, self.parallel)
        return FleetRun(tuple(nodes), selected, sweep, reader, self.parallel)

    def facts(self, nodes: Sequence[Node], playbook: Playbook) -> FleetRun:
        """Return the run that reads facts for comparing nodes. Raises: SchedulerError, as `sweep`."""
        return self.sweep(nodes, len(nodes), Sweep.of_facts(playbook))

    def _scheduler_reader(self, sweep: Sweep, triage: Triage) -> Reads | None:
        """Return the reader that uses a scheduler's workers; None without a scheduler: then nodes are read here.

        Raises: SchedulerError when its address may not be used, or the package distributed is not installed.
        """
        said = self.settings.of(WorkersSettings)
        if not said.scheduler:
            return None
        address = address_of(said)
        try:
            from bot.extras.fleet.dask_reader import DaskReader
        except ImportError as no:
            raise not_installed() from no
        size = min(self.parallel, NODES_A_CHUNK)
        question = SweepQuestion.of(sweep, program_name(), self.settings.samples, triage.deadline)
        return DaskReader(address, question, sweep, size, self.remark, triage.mutes)


# --- for a serving bot


@dataclass(frozen=True, slots=True)
class FleetRunner:
    """Takes people's questions about a fleet, finds the nodes, and runs sweeps.

    Shape: `slots` is how many run at once. `keeps` store the facts of whole checks.
    """

    known: Inventory
    playbooks: Playbooks
    means: SweepDependencies
    environment: Mapping[str, str]
    slots: asyncio.Semaphore
    chance: Randomness = field(default_factory=randomness)
    keeps: Sequence[KeepsFacts] = ()
    _storing: set[asyncio.Task[None]] = field(default_factory=set, init=False, compare=False, repr=False)

    async def select(self, ask: FleetRequest) -> tuple[Node, ...]:
        """Return the nodes that are asked for. Raises: UsageError when a selector matches no node."""
        return await find_selected(ask.words, self.known, self.means.settings, self.environment, ask.namespace)

    @property
    def cured(self) -> frozenset[str]:
        """The causes that a remedy is offered for."""
        return frozenset(used.cause.name for used in self.playbooks.get("").causes if used.remedy)

    async def prepared(self, ask: FleetRequest) -> FleetRun:
        """Return the run for a request; nothing is read yet.

        Raises: UsageError when a selector matches no node, or a cause is not evaluated.
        """
        playbook = self.playbooks.get("")
        sweep = replace(Sweep.of(playbook, ask.causes, full=ask.full), wants_facts=ask.full and bool(self.keeps))
        meant = await self.select(ask)
        drawn = Sample.of(ask.sample).draw(meant, self.chance) if ask.sample else meant
        return self.means.sweep(drawn, len(meant), sweep)

    async def run(self, run: FleetRun, heard: Hears) -> None:
        """Run it once there is room; the facts of whole checks are then stored, one by one, so that alerts go first.

        Raises: UsageError of any node, once all others are done.
        """
        async with self.slots:
            try:
                await run.run(heard)
            finally:
                if any(answer.figures for answer in run.answers):
                    self._storing.add(storing := asyncio.create_task(self._keep_facts(run)))
                    storing.add_done_callback(self._storing.discard)

    async def _keep_facts(self, run: FleetRun) -> None:
        nodes = {node.name: node for node in run.nodes}
        for answer in run.answers:
            with suppress(ValueError, RecursionError, zlib.error):  # a worker's own
                facts = unpacked(b64decode(answer.figures, validate=True)) if answer.figures else {}
                for each in self.keeps if facts else ():
                    await each.keep(nodes[answer.node], answer.status == Status.HEALTHY.value, facts)

    async def compared(self, ask: FleetRequest) -> Comparison:
        """Read the nodes once, and compare those that have the first cause with the others.

        Raises: UsageError when no node or every node has it.
        """
        run = self.means.facts(await self.select(ask), self.playbooks.get(""))
        async with self.slots:
            await run.run()
        sick = [answer.node for answer in run.answers if set(ask.causes) & set(answer.causes)]
        if not sick:
            raise UsageError(f"No node has {', '.join(ask.causes)} now, so there is nothing to compare.")
        if len(sick) == len(run.answers):
            raise UsageError(f"Every node that was asked has {', '.join(ask.causes)}, so there is nothing to compare.")
        return run.comparison(sick)

    def peers(self, node: str, cause: str) -> FleetRequest:
        """Return the request for which other nodes have a cause: nodes of the same role, or all if no selector fits.

        Raises: InventoryError when the node is gone.
        """
        role = self.known.find(node).labels.get("role", "")
        try:
            return FleetRequest((f"role={role}" if role else EVERYBODY,), (cause,)).checked()
        except UsageError:  # a cloud tag may be any text, or several roles together
            return FleetRequest((EVERYBODY,), (cause,))

    def expected_seconds(self, run: FleetRun) -> float:
        """About how many seconds it takes."""
        each = SECONDS_A_LOOK + (self.means.sampling.window.total_seconds() if run.sweep.needs_window else 0.0)
        return each * -(-len(run.nodes) // MOST_AT_ONCE)


def exit_status(report: FleetReport) -> int:
    """Return 4 when every node was unreachable, else as `check`: 1 found, 4 any unreachable, 3 any unknown, 0."""
    if report.answers and len(report.unreachable) == len(report.answers):
        return 4
    if any(status.rank > 0 for status in report.statuses) or any(count.nodes for count in report.causes):
        return 1
    if report.unreachable:
        return 4
    return 3 if report.unknown or not report.is_whole else 0
