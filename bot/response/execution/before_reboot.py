"""Reads what a reboot destroys just before it, and stores it with the incident: within seconds, or not at all.

Nothing here decides anything. If the node or the database does not answer, that is reported and the reboot goes on: it
was approved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import timedelta

from bot.domain.batch import Batch, Sampling
from bot.domain.case import Case, CaseHeader, asked_by
from bot.domain.command import Command, Completed, SampleTimes
from bot.domain.contracts import ActingTransport, Clock
from bot.domain.errors import CannotRead, LedgerError, MissingFile, Unreachable
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.safe_text import one_line
from bot.ledger import CaseStore
from bot.probes import cgroups, kernel_log, processes

LIMIT = timedelta(seconds=8)  # with connecting: what comes later is not stored
SPARE = timedelta(seconds=20)  # time for the step itself: with less left of the approval, nothing is read
GOOD_FOR = timedelta(minutes=1)  # a delayed step, for example by the brake, does not read again at each look
MOST_BYTES = 64 * 1024  # of a command's output
_MEMORY = ("/proc/loadavg", "/proc/meminfo", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io")

# Each in its own lane, so that a stalled command delays no other.
QUESTIONS: tuple[tuple[str, Command], ...] = tuple(
    (about, replace(command, lane=about, output_limit_bytes=min(MOST_BYTES, command.output_limit_bytes)))
    for about, command in (
        ("kernel log", kernel_log.TAIL),
        ("memory cgroups", replace(cgroups.PROBE.commands[0], looks=SampleTimes.ONCE)),
        ("processes", processes.PROBE.commands[0]),
        ("memory", Command("memory", ("tail", "-v", "-n", "+1", *_MEMORY))),
    )
)


@dataclass(frozen=True, slots=True)
class StoredReadings:
    """What was stored: its content hash, and what it is in words; both empty where nothing was asked for."""

    case: str = ""
    says: str = ""


NOTHING = StoredReadings()


@dataclass(slots=True)
class PreRebootReader:
    """Reads what a reboot destroys and stores it; `program` names this program in what is stored."""

    transport: ActingTransport
    cases: CaseStore
    clock: Clock
    program: str
    limit: timedelta = LIMIT
    _lately: dict[tuple[str, int], tuple[float, StoredReadings]] = field(default_factory=dict)

    async def read_and_store(self, incident: Incident, node: Node, left: timedelta) -> StoredReadings:
        """Read and store, within the limit; `left` is how long the step may still begin. It never raises."""
        if left < self.limit + SPARE:
            return StoredReadings(says="nothing was read: the approval's time is nearly over")
        key, now = (incident.id, incident.next_step), asyncio.get_running_loop().time()
        self._lately = {k: told for k, told in self._lately.items() if now - told[0] < GOOD_FOR.total_seconds()}
        if key not in self._lately:
            self._lately[key] = (now, await self._read(incident, node))
        return self._lately[key][1]

    async def _read(self, incident: Incident, node: Node) -> StoredReadings:
        batch, runs = Batch.of(QUESTIONS, Sampling(1)), list[Completed]()
        taken_at, began = self.clock(), asyncio.get_running_loop().time()
        why = ""
        host_key = dict(incident.proposal.binds).get("host_key") or None if incident.proposal is not None else None
        try:
            async with asyncio.timeout(self.limit.total_seconds()):
                async with aclosing(self.transport.read(node, batch, self.limit, host_key)) as arriving:
                    async for run in arriving:
                        runs.append(run)
        except TimeoutError:
            why = f"the rest did not come within {self.limit.total_seconds():.0f} s"
        except (Unreachable, CannotRead, MissingFile) as no:
            why = no.sentence
        said = [run for run in runs if run.stdout.strip()]
        if not said:
            return StoredReadings(says=one_line(f"nothing was kept: {why or 'the node said nothing'}", 300))
        try:
            head = CaseHeader(node.name, taken_at, 1, self.program)
            async with asyncio.timeout(self.limit.total_seconds()):
                case = await self.cases.keep(incident.id, Case(head, tuple(said), asked_by(batch)))
        except LedgerError as no:
            return StoredReadings(says=one_line(f"nothing was kept: {no.sentence}", 300))
        except TimeoutError:
            return StoredReadings(says="nothing was kept: the database took too long")
        took = asyncio.get_running_loop().time() - began
        return StoredReadings(case, _stored_words(said, took, why) if case else "nothing was kept: it is too large")


def _stored_words(said: Sequence[Completed], took: float, why: str) -> str:
    """What was stored, and what was not.

    Example: "kernel log, processes and memory, 18 kB in 1.3 s; not: memory cgroups".
    """
    names = {run.probe for run in said}
    kept = [about for about, _ in QUESTIONS if about in names]
    missing = [about for about, _ in QUESTIONS if about not in names]
    size = sum(len(run.stdout.encode()) for run in said)
    listed = f"{', '.join(kept[:-1])} and {kept[-1]}" if kept[1:] else kept[0]
    words = f"{listed}, {size / 1000:,.0f} kB in {took:.1f} s"
    return one_line(
        "; ".join((words, *([f"not: {', '.join(missing)}"] if missing else []), *filter(None, (why,)))), 300
    )
