"""What parses and weighs nodes in a process of its own, for `weighing_pool.py`.

It reads jobs from stdin and writes the verdicts to stdout, each a pickle after its length; it reaches no node and opens
no file but the playbooks. At the end of stdin it ends, also where whoever began it was killed.
"""

from __future__ import annotations

import asyncio
import operator
import pickle
import struct
import sys
import zlib
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bot.actions import ACTIONS
from bot.app.check import brief, growth_of
from bot.app.many_nodes import MANY, collect_garbage_less_often
from bot.app.parts import library, now
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Completed
from bot.domain.errors import PlaybookError, Unreachable, UsageError
from bot.domain.growth import CountSample
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.safe_text import Redactor
from bot.domain.verdict import Status, Verdict, without_secrets
from bot.response.diagnosis.planning import DrainSettings
from bot.response.diagnosis.triage import Triage
from bot.surfaces.document import node_document, node_text
from bot.surfaces.json_converter import JsonConverter

if TYPE_CHECKING:
    from bot.domain.entry import Entry
    from bot.response.fleet.answer import NodeAnswer
    from bot.response.fleet.chunk_request import Question
    from bot.response.fleet.sweep import Sweep

LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class WeighingTask:
    """What all jobs of a run have in common.

    Shape: `digest` is of the playbook as it is used. `tells_json`: each answer has its node's part of the document.
    With `question` what comes of a job is a node's answer in a sweep.
    """

    playbook: str
    digest: str
    folders: tuple[Path, ...]
    sampling: Sampling
    draining: DrainSettings
    tells_json: bool = False
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class WeighingJob:
    """What a node answered, in parts as `squeezed` made them.

    Shape: `looks` are the counts of the node before, by cause, `failed` is how its connection broke.
    """

    node: Node
    taken_at: datetime
    said: tuple[bytes, ...]
    mutes: tuple[Entry, ...] = ()
    looks: Mapping[str, tuple[CountSample, ...]] = field(default_factory=dict)
    failed: Unreachable | None = None

    @property
    def runs(self) -> Iterator[Completed]:
        """What it answered."""
        for part in self.said:
            for run in pickle.loads(zlib.decompress(part)):  # squeezed by this program
                yield Completed(*run)


_FIELDS = operator.attrgetter(*(field_.name for field_ in fields(Completed)))


def squeezed(runs: Sequence[Completed], level: int = 1) -> bytes:
    """Return answers in a fifth of their room, at level 0 as they are: a thousand nodes may be watched at once."""
    # As plain tuples: some fifty records a node would cost six times as much.
    return zlib.compress(pickle.dumps([*map(_FIELDS, runs)], pickle.HIGHEST_PROTOCOL), level)


@dataclass(frozen=True, slots=True)
class WeighedNode:
    """What came of a job: as much of the verdict as whoever asked goes on with, and its text."""

    verdict: Verdict
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Given:
    """A way to a node that has answered, and the mutes that came with it."""

    job: WeighingJob

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Yield what was answered; see `Transport.read`."""
        for run in self.job.runs:
            yield run
        if self.job.failed is not None:
            raise self.job.failed

    async def mutes(self) -> tuple[Entry, ...]:
        """Return them; see `MuteRecord.mutes`."""
        return self.job.mutes


class WeighingWorker:
    """Thinks about jobs in order, exactly like a check or, with `sweep`, like a sweep within a process."""

    def __init__(self, task: WeighingTask, playbook: Playbook, sweep: Sweep | None = None) -> None:
        self._task = task
        self._playbook = playbook
        self._sweep = sweep
        self._redactor, self._teller = Redactor(), JsonConverter()

    @classmethod
    def of(cls, task: WeighingTask) -> WeighingWorker:
        """Return the worker of this process. Raises: UsageError where the playbook here is another than there."""
        playbook = library(task.folders).get(task.playbook)
        sweep = task.question.sweep(playbook, ()) if task.question is not None else None
        if (playbook if sweep is None else sweep.playbook).digest != task.digest:
            raise PlaybookError(f"The playbook {task.playbook} is another here.")
        return cls(task, playbook, sweep)

    async def weigh(self, job: WeighingJob) -> WeighedNode | NodeAnswer:
        """Return what comes of a job."""
        given, task = _Given(job), self._task
        triage = Triage(given, ACTIONS, lambda: job.taken_at, task.sampling, draining=task.draining, mutes=given)
        if self._sweep is not None:
            from bot.response.fleet.chunk import ChunkReader

            return await ChunkReader(triage, self._sweep, 1).answer(job.node)
        judged = await triage.diagnose(job.node, self._playbook)
        verdict = without_secrets(replace(judged, took=now() - job.taken_at), self._redactor)
        if not task.tells_json:
            return WeighedNode(brief(verdict, again=verdict.status is not Status.HEALTHY))
        growth = growth_of(verdict, self._playbook, job.looks)
        return WeighedNode(brief(verdict), node_text(node_document(verdict, None, self._teller, growth)))


def packed(what: object) -> bytes:
    """Return it as it travels."""
    body = pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def _taken(stream: BinaryIO) -> Any:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    # Only whoever started this process has the other end of its stdin.
    return pickle.loads(stream.read(LENGTH.unpack(head)[0]))


def main() -> int:
    """Think until stdin ends; 2 where the playbook here is another than there."""
    try:
        worker = WeighingWorker.of(_taken(sys.stdin.buffer))
    except UsageError:
        return 2
    collect_garbage_less_often(MANY)
    out = sys.stdout.buffer
    with asyncio.Runner() as runner:
        while (job := _taken(sys.stdin.buffer)) is not None:
            out.write(packed(runner.run(worker.weigh(job))))
            out.flush()
    return 0
