"""Reads the nodes of a sweep on the workers of a Dask scheduler: chunks go out, each answer comes in once.

Defined in: https://distributed.dask.org/en/stable/client.html. A chunk whose worker dies is run again by the scheduler;
a chunk that a worker refuses goes to the others. Nodes that nobody could read are named, never counted.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from distributed import Client, KilledWorker

from bot.domain.errors import LedgerError, SchedulerError, UsageError
from bot.domain.mute_record import MuteRecord
from bot.domain.node import Node
from bot.domain.safe_text import counted, listed, one_line, redacted_line
from bot.extras.fleet.dask_scheduler import Roster, SchedulerAddress, resource
from bot.extras.fleet.dask_worker import CONNECT_SECONDS, dask_options, read_chunk, security
from bot.extras.fleet.run import Hears
from bot.extras.fleet.sweep import Sweep
from bot.extras.fleet.worker_messages import ChunkReply, ChunkRequest, SweepQuestion

WAITS_FOR_WORKERS = 30.0  # seconds without any worker that could read what is left
LOOKS_EVERY = 1.0
BEYOND_DEADLINE = 60.0  # seconds without a single reply, beyond what a chunk may take
NAMES_TOLD = 8


@dataclass(slots=True)
class DaskReader:
    """Reads nodes on workers, as `ChunkReader` reads them here.

    Shape: a chunk has `size` nodes. `remark` takes remarks for people beside the answers. `mutes` are sent along.
    Units: `waits` is how many seconds a chunk waits for a worker that may read it.
    """

    address: SchedulerAddress
    question: SweepQuestion
    sweep: Sweep
    size: int
    remark: Callable[[str], None] = lambda says: None
    mutes: MuteRecord | None = None
    waits: float = WAITS_FOR_WORKERS
    _refused: dict[str, str] = field(default_factory=dict, init=False)
    _lost: dict[str, list[str]] = field(default_factory=dict, init=False)
    _remarked: set[str] = field(default_factory=set, init=False)

    async def read(self, nodes: Sequence[Node], heard: Hears) -> None:
        """Pass on an answer for each node, those of a chunk as it comes.

        Raises: SchedulerError when the scheduler does not answer or is gone; or, once all others are done, when nodes
        were read by nobody, with the reason.
        """
        for name in ("distributed", "distributed.client"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is said in sentences
        try:
            entries = await self.mutes.mutes() if self.mutes is not None else ()
        except LedgerError:  # then nothing counts as accepted
            entries = ()
        self.question = replace(self.question, mutes=tuple(entries))
        with dask_options():
            await self._read(nodes, heard)

    async def _read(self, nodes: Sequence[Node], heard: Hears) -> None:
        client = Client(
            self.address.url,
            asynchronous=True,
            security=security(self.address),
            timeout=CONNECT_SECONDS,
            set_as_default=False,
            name="zombie",
        )
        try:
            await client
        except (OSError, TimeoutError, ValueError) as no:
            await client.close(timeout=1)
            raise SchedulerError(
                f"The scheduler {self.address.url} does not answer: {one_line(str(no) or type(no).__name__, 160)}.",
                "Is it running? Without --scheduler and ZOMBIE_SCHEDULER this machine reads the nodes by itself.",
            ) from no
        try:
            are_any_read = await self._hand_out_chunks(client, nodes, heard)
        finally:
            await client.close(timeout=2)
        if self._lost:
            rest = "The others were read, and are counted." if are_any_read else "No node was read."
            raise SchedulerError(" ".join(self._says_lost()), rest)

    async def _hand_out_chunks(self, client: Client, nodes: Sequence[Node], heard: Hears) -> bool:
        """Have the nodes read; return whether any was."""
        run = _Run(client, await self._roster(client), asyncio.get_running_loop().time())
        self._remark_workers(run.roster, client)
        seen = set[str]()

        async def read(chunk: Chunk) -> None:
            reply = await self._reply(run, chunk)
            run.heard_at = asyncio.get_running_loop().time()
            for answer in reply.answers if reply is not None else ():
                if answer.node not in seen:  # a chunk that ran twice is counted once
                    seen.add(answer.node)
                    heard(answer)

        chunks = chunks_of(nodes, self.size)
        reading = {asyncio.create_task(read(chunk)) for chunk in chunks}
        watching = asyncio.create_task(self._watch_workers(run))
        try:
            waiting = set(reading)
            while waiting:
                done, waiting = await asyncio.wait({*waiting, watching}, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                waiting.discard(watching)
        finally:
            for task in (*reading, watching):
                task.cancel()
            await asyncio.gather(*reading, watching, return_exceptions=True)
        return bool(seen)

    async def _reply(self, run: _Run, chunk: Chunk) -> ChunkReply | None:
        """Return a worker's reply to a chunk; None where there is none, which is noted."""
        while True:
            zone = await self._wait_for_reader_zone(run, chunk.zone)
            if zone is None:
                self._give_up_chunk(chunk, self._why_nobody(run, chunk.zone))
                return None
            order = ChunkRequest(self.question, chunk.nodes)
            # The resource says which workers may; addresses only after refusals: they tie a chunk to present workers.
            only = self._workers_of_zone(run, zone) if self._refused else None
            key = f"zombie-chunk-{id(run)}-{next(run.numbers)}"
            future = run.client.submit(
                read_chunk,
                order.text,
                key=key,
                pure=False,
                resources={resource(self.question.program, zone): 1},
                workers=only,
            )
            run.under_way[key] = (future, zone)
            try:
                text = await future
            except KilledWorker:
                self._give_up_chunk(chunk, "the workers that read them died one after another")
                return None
            except concurrent.futures.CancelledError as no:  # Dask's, not this task's
                if key in run.given_up:
                    continue
                raise self._scheduler_gone() from no
            except Exception as no:  # noqa: BLE001 - whatever a worker raises comes here, and it may be anything
                self._give_up_chunk(chunk, f"a worker failed: {redacted_line(f'{type(no).__name__}: {no}', 160)}")
                return None
            finally:
                run.under_way.pop(key, None)
            if (reply := self._accept_reply(chunk, text)) is not None:
                return reply

    def _accept_reply(self, chunk: Chunk, text: object) -> ChunkReply | None:
        """Return the reply if it is valid; None when another worker has to be asked."""
        try:
            reply = ChunkReply.of(text, chunk.nodes, self.sweep)
        except SchedulerError as no:
            self._give_up_chunk(chunk, f"a worker's reply is impossible: {no.sentence}")
            return ChunkReply("", "", "")
        if not reply.refused and reply.program != self.question.program:
            reply = replace(reply, refused=f"it runs {reply.program}")
        if reply.refused:
            self._refused[reply.address] = f"{reply.worker}: {reply.refused}"
            self._remark(f"Not read by {reply.worker}: {reply.refused}")
            return None
        if reply.unknown:
            self._give_up_chunk(Chunk(chunk.zone, reply.unknown), f"the inventory of {reply.worker} does not have them")
        answered = {answer.node for answer in reply.answers}
        missing = tuple(name for name in chunk.nodes if name not in answered and name not in reply.unknown)
        if missing:
            self._give_up_chunk(
                Chunk(chunk.zone, missing), f"{reply.worker} did not report them. {reply.wrong}".strip()
            )
        return reply

    async def _wait_for_reader_zone(self, run: _Run, zone: str) -> str | None:
        """Return which workers read a zone's chunk: those of the zone, else those without a zone ("").

        None if for some time no suitable worker came, or all present workers refused.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + self.waits
        while True:
            for theirs in (zone, ""):
                if self._workers_of_zone(run, theirs):
                    return theirs
            is_refused = bool(run.roster.readers(zone) or run.roster.readers(""))
            if is_refused or loop.time() >= until:
                return None
            await asyncio.sleep(min(LOOKS_EVERY, self.waits / 4))

    def _workers_of_zone(self, run: _Run, zone: str) -> list[str]:
        return [at for at in run.roster.readers(zone) if at not in self._refused]

    async def _watch_workers(self, run: _Run) -> None:
        """Watch the workers until cancelled; give up chunks that nobody can read, and everything when nothing comes.

        Raises: SchedulerError when the scheduler is gone, or no worker replies for too long.
        """
        loop = asyncio.get_running_loop()
        bound = self.question.deadline.total_seconds() * 2 + BEYOND_DEADLINE
        alone: dict[str, float] = {}
        while True:
            await asyncio.sleep(min(LOOKS_EVERY, self.waits / 4))
            run.roster = await self._roster(run.client)
            for zone in {zone for _, zone in run.under_way.values()}:
                if run.roster.readers(zone):
                    alone.pop(zone, None)
                elif loop.time() - alone.setdefault(zone, loop.time()) > self.waits:
                    left = {key: future for key, (future, theirs) in run.under_way.items() if theirs == zone}
                    run.given_up |= set(left)
                    await run.client.cancel(list(left.values()), force=True)
            if loop.time() - run.heard_at > bound:
                raise SchedulerError(
                    f"No worker replied for {bound:.0f} s.", "Look at the workers' own lines, and at the dashboard."
                )

    async def _roster(self, client: Client) -> Roster:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                identity = await client.scheduler.identity(n_workers=-1)  # type: ignore[union-attr]
        except (OSError, TimeoutError, AttributeError) as no:
            raise self._scheduler_gone() from no
        roster = Roster.of(identity, self.question.program)
        for name, runs in roster.others.items():
            self._remark(f"The worker {name} is not used: it is {runs}, and this is {self.question.program}.")
        return roster

    def _remark_workers(self, roster: Roster, client: Client) -> None:
        zones = sorted(zone for zone in set(roster.zones.values()) if zone)
        where = f", in {one_line(', '.join(zones), 120)}" if zones else ""
        link = client.dashboard_link  # also where its scheduler has none, which it does not say
        dashboard = f"; its dashboard, where bokeh is installed: {one_line(link, 120)}" if link else ""
        self.remark(f"{counted(len(roster.zones), 'worker')} at {self.address.url}{where}{dashboard}")

    def _why_nobody(self, run: _Run, zone: str) -> str:
        if self._refused:
            return "; ".join(self._refused.values())
        others = "; ".join(f"{name} is {runs}" for name, runs in run.roster.others.items())
        there = f"no worker of {self.question.program} {f'for the zone {zone}' if zone else 'without a zone'} came"
        return f"{there} ({others})" if others else there

    def _give_up_chunk(self, chunk: Chunk, because: str) -> None:
        self._lost.setdefault(because, []).extend(chunk.nodes)

    def _says_lost(self) -> Iterator[str]:
        for because, names in self._lost.items():
            yield f"Not read: {listed(names, NAMES_TOLD)}: {because.rstrip('.')}."

    def _scheduler_gone(self) -> UsageError:
        return SchedulerError(
            f"The scheduler {self.address.url} is gone.", "The answers until then are counted; start it and ask again."
        )

    def _remark(self, says: str) -> None:
        if says not in self._remarked:
            self._remarked.add(says)
            self.remark(says)


@dataclass(slots=True)
class _Run:
    """A sweep running at a scheduler. Shape: `under_way` are futures by key, with their zone."""

    client: Client
    roster: Roster
    heard_at: float
    under_way: dict[str, tuple[Any, str]] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))


# --- The nodes of a sweep in chunks, each within a zone: what a worker gets at a time


ZONE_LABELS = ("zone", "az")  # of the inventory; the first that a node has counts


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some nodes of a zone."""

    zone: str
    nodes: tuple[str, ...]


def chunks_of(nodes: Sequence[Node], size: int) -> list[Chunk]:
    """Return the chunks, of at most `size` nodes each."""
    zones: dict[str, list[str]] = {}
    for node in nodes:
        zone = next((node.labels[label] for label in ZONE_LABELS if node.labels.get(label)), "")
        zones.setdefault(zone, []).append(node.name)
    return [
        Chunk(zone, tuple(names[at : at + size])) for zone, names in zones.items() for at in range(0, len(names), size)
    ]
