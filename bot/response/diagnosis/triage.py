"""From a node's name to its verdict: one connection, one batch, one window."""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bot.domain.action import Action
from bot.domain.batch import Batch, Sampling
from bot.domain.case import Case, CaseHeader, asked_by
from bot.domain.command import Completed, Outputs, slowness
from bot.domain.contracts import Clock, Listener, ProbeAnswered, ReadingStarted, Transport, VerdictReached
from bot.domain.errors import LedgerError, StoodStill, Unreachable
from bot.domain.evaluation import evaluate_playbook
from bot.domain.json_form import to_json_types
from bot.domain.mute import Mute
from bot.domain.mute_record import MuteRecord, mutes_in_force
from bot.domain.node import GPUS_LABEL, Node
from bot.domain.playbook import Playbook
from bot.domain.probe import Probe, Snapshot, Unread
from bot.domain.verdict import Status, Verdict
from bot.response.diagnosis.core_heat import core_heat
from bot.response.diagnosis.planning import PLAN_LABELS, DrainSettings, with_plan

BATCHES_KEPT = 8  # playbooks are few; those made for a single look are dropped again
NOT_LISTENED = "this program did not get the processor, and did not hear the answer"
CPU_SECONDS = 0.005  # at a stretch; a person's answer in a chat may wait this much longer


def _nobody(_: object) -> None:
    """Takes progress that nobody listens to."""


class CpuLock:
    """A lock for parsing and judging; after some milliseconds the event loop runs once before the next holder."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._since = 0.0
        self._spent = 0.0
        self.waiting = 0  # how many answers and nodes wait to be parsed or judged

    async def __aenter__(self) -> None:
        self.waiting += 1
        try:
            await self._lock.acquire()
        finally:
            self.waiting -= 1
        self._since = asyncio.get_running_loop().time()

    async def __aexit__(self, *_: object) -> None:
        try:
            self._spent += asyncio.get_running_loop().time() - self._since
            if self._spent >= CPU_SECONDS:
                self._spent = 0.0
                await asyncio.sleep(0)  # still locked: nothing else is parsed before the loop has run
        finally:
            self._lock.release()


@dataclass(frozen=True, slots=True)
class Triage:
    """What a diagnosis needs, handed in once; `diagnose` may run for many nodes at a time.

    Shape: `cpu_lock` is held while a probe is parsed or a node judged. When many nodes end at the same moment, other
    work of this event loop gets a turn after a few of them, not after all. `mutes` says which causes are known and
    accepted; where it cannot be read, nothing counts as accepted. `muted` are accepted beside, whatever the node: those
    of a recorded verdict. `program` names this program where snapshots keep
    their cases. What a node said is judged with its secrets, so that no name hides a line by looking like one; shown
    and stored it is without them. `parses_late`: once a node has said all, which spares memory where many are read at
    a time; its progress does not tell then which probes have no reading.
    """

    transport: Transport
    actions: Mapping[str, Action]
    clock: Clock
    sampling: Sampling = field(default_factory=Sampling)
    deadline: timedelta = timedelta(seconds=20)
    cpu_lock: CpuLock = field(default_factory=CpuLock)
    draining: DrainSettings = field(default_factory=DrainSettings)
    mutes: MuteRecord | None = None
    muted: tuple[Mute, ...] = ()
    program: str = ""
    parses_late: bool = False
    _batches: dict[int, tuple[Playbook, Batch]] = field(default_factory=dict, init=False, compare=False, repr=False)

    async def diagnose(self, node: Node, playbook: Playbook, heard: Listener = _nobody) -> Verdict:
        """Read the node and return its verdict, with progress to `heard`; an unreachable node has a verdict too.

        Raises: MissingFile when a key or known_hosts file is missing, which is not the node's fault.
        """
        taken_at = self.clock()
        try:
            snapshot = await self.snapshot(node, playbook, heard)
        except Unreachable as no:
            verdict = self._unreachable_verdict(node, no)
        else:
            verdict = await self.judged(node, playbook, snapshot)
        verdict = replace(verdict, took=self._since(taken_at))
        heard(VerdictReached(verdict))
        return verdict

    async def snapshot(self, node: Node, playbook: Playbook, heard: Listener = _nobody) -> Snapshot:
        """Read the node without judging it.

        Raises: Unreachable when it did not answer; MissingFile.
        """
        taken_at = self.clock()
        heard(ReadingStarted(node.name, tuple(probe.name for probe in playbook.probes), self.sampling.window))
        readings, runs, slow = await self._readings(node, playbook, heard)
        snapshot = Snapshot(node.name, taken_at, self.sampling.window, readings, slowness=slow)
        return replace(snapshot, case=self._case(node, playbook, snapshot, runs)) if self.program else snapshot

    async def judged(self, node: Node, playbook: Playbook, snapshot: Snapshot) -> Verdict:
        """Return the verdict on what was read."""
        mutes = await self._mutes_of(node)
        async with self.cpu_lock:
            verdict = with_plan(
                evaluate_playbook(snapshot, playbook, mutes), playbook, self.actions, node, self.draining
            )
            return replace(verdict, heat=core_heat(snapshot), slowness=snapshot.slowness)

    async def runs(self, node: Node, playbook: Playbook) -> tuple[Completed, ...]:
        """Return the node's answers to the playbook's commands, in a recording's form."""
        stream = self.transport.read(node, self._batch(playbook), self.deadline)
        return tuple([run async for run in stream])

    def head(self, node: Node, playbook: Playbook, taken_at: datetime, environment: Mapping[str, str]) -> CaseHeader:
        """Return the head of a case of that node; `environment` is its snapshot's traits."""
        return CaseHeader(
            node=node.name,
            taken_at=taken_at,
            samples=self.sampling.samples,
            program=self.program,
            playbook=playbook.name,
            playbook_version=playbook.version,
            playbook_digest=playbook.digest,
            environment=dict(environment),
            labels={name: node.labels[name] for name in (*PLAN_LABELS, GPUS_LABEL) if name in node.labels},
            draining=to_json_types(self.draining),
        )

    def _case(self, node: Node, playbook: Playbook, snapshot: Snapshot, runs: tuple[Completed, ...]) -> Case:
        head = self.head(node, playbook, snapshot.taken_at, snapshot.traits)
        return Case(head, runs, asked_by(self._batch(playbook)))

    def _batch(self, playbook: Playbook) -> Batch:
        """The batch of a playbook, the same for all nodes; made once."""
        kept = self._batches.get(id(playbook))
        if kept is None:  # kept together with its batch, so that no other object can get its id
            if len(self._batches) >= BATCHES_KEPT:
                del self._batches[next(iter(self._batches))]
            asked = [(probe.name, command) for probe in playbook.probes for command in probe.commands]
            kept = self._batches[id(playbook)] = playbook, Batch.of(asked, self.sampling, together=True)
        return kept[1]

    async def _readings(
        self, node: Node, playbook: Playbook, heard: Listener
    ) -> tuple[dict[str, Any], tuple[Completed, ...], float | None]:
        """Read the node; return its readings, its answers where its case is kept, and how slow it was."""
        batch = self._batch(playbook)
        waiting = Counter(question.probe for question in batch.questions)
        runs: dict[str, list[Completed]] = {probe.name: [*probe.told] for probe in playbook.probes}
        answered: dict[str, Any] = {}
        probes = {probe.name: probe for probe in playbook.probes}
        stream = self.transport.read(node, batch, self.deadline)
        missing, took = "", list[float]()
        try:
            async with aclosing(stream) as arriving:
                async for run in arriving:
                    runs[run.probe].append(run)
                    waiting[run.probe] -= 1
                    if run.took is not None:
                        insort(took, run.took.total_seconds())
                    if not waiting[run.probe] and self.parses_late:
                        heard(ProbeAnswered(node.name, run.probe, None, slowness(took)))
                    elif not waiting[run.probe]:
                        async with self.cpu_lock:
                            answered[run.probe] = self._parse_probe(
                                node, probes[run.probe], runs[run.probe], heard, slowness(took)
                            )
        except StoodStill:
            missing = NOT_LISTENED
        except Unreachable:
            if not any(len(runs[probe.name]) > len(probe.told) for probe in playbook.probes):
                raise
            # It answered before the connection broke: what came is read, the rest is unread.
        hears_rest = _nobody if self.parses_late else heard
        async with self.cpu_lock:
            readings = {
                probe.name: answered.get(probe.name)
                or self._parse_probe(node, probe, runs[probe.name], hears_rest, None, missing)
                for probe in playbook.probes
            }
        return readings, tuple(run for of_probe in runs.values() for run in of_probe), slowness(took)

    def _parse_probe(
        self, node: Node, probe: Probe, runs: list[Completed], heard: Listener, slow: float | None, missing: str = ""
    ) -> Any:
        reading = probe.read(Outputs(*runs))
        if missing and isinstance(reading, Unread):
            reading = Unread(probe.name, missing)
        heard(ProbeAnswered(node.name, probe.name, reading if isinstance(reading, Unread) else None, slow))
        return reading

    async def _mutes_of(self, node: Node) -> tuple[Mute, ...]:
        try:
            entries = await self.mutes.mutes() if self.mutes is not None else ()
        except LedgerError:
            entries = ()
        return (*self.muted, *(mute for mute in mutes_in_force(entries, self.clock()) if mute.covers(node)))

    def _unreachable_verdict(self, node: Node, no: Unreachable) -> Verdict:
        return Verdict(
            node=node.name,
            status=Status.UNREACHABLE,
            cause=None,
            confidence=None,
            summary=f"{no.sentence} [{no.kind}]",
            try_next=no.try_next,
        )

    def _since(self, start: datetime) -> timedelta:
        return self.clock() - start
