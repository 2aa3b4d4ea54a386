"""What parses and evaluates nodes in a process of its own, for `evaluation_pool.py`.

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
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from bot.actions import ACTIONS
from bot.app import plugins
from bot.app.check import growth_of, without_details
from bot.app.factories import library, now
from bot.app.many_nodes import MANY, collect_garbage_less_often
from bot.domain.batch import Batch, Sampling
from bot.domain.command import Completed
from bot.domain.errors import PlaybookError, Unreachable, UsageError
from bot.domain.growth import CountSample
from bot.domain.mute_record import GivenMutes
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

LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True)
class EvaluationTask:
    """What all jobs of a run have in common; another kind of task has another kind of worker.

    Shape: `digest` is of the playbook as it is used. `tells_json`: each answer has its node's part of the document,
    with what was read where `readings`.
    """

    playbook: str
    digest: str
    folders: tuple[Path, ...]
    sampling: Sampling
    draining: DrainSettings
    tells_json: bool = False
    readings: bool = True

    def worker(self) -> EvaluationWorker:
        """Return what thinks about the jobs in this process. Raises: UsageError where it cannot, as told there."""
        return EvaluationWorker(self, self.check_same_playbook(library(self.folders).get(self.playbook)))

    def check_same_playbook(self, playbook: Playbook) -> Playbook:
        """Return the playbook. Raises: PlaybookError where it is another than there."""
        if playbook.digest != self.digest:
            raise PlaybookError(f"The playbook {self.playbook} is another here.")
        return playbook


@dataclass(frozen=True, slots=True)
class EvaluationJob:
    """What a node answered, in parts as `compressed_runs` made them.

    Shape: `looks` are the counts of the node before, by cause, `failed` is how its connection broke.
    """

    node: Node
    taken_at: datetime
    said: tuple[bytes, ...]
    mutes: tuple[Entry, ...] = ()
    looks: Mapping[str, tuple[CountSample, ...]] = field(default_factory=dict)
    failed: Unreachable | None = None

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Yield what it answered, and raise how its connection broke; see `Transport.read`."""
        for part in self.said:
            for run in pickle.loads(zlib.decompress(part)):  # squeezed by this program
                yield Completed(*run)
        if self.failed is not None:
            raise self.failed


_FIELDS = operator.attrgetter(*(field_.name for field_ in fields(Completed)))


def compressed_runs(runs: Sequence[Completed], level: int = 1) -> bytes:
    """Return answers in a fifth of their room, at level 0 as they are: a thousand nodes may be watched at once."""
    # As plain tuples: some fifty records a node would cost six times as much.
    return zlib.compress(pickle.dumps([*map(_FIELDS, runs)], pickle.HIGHEST_PROTOCOL), level)


@dataclass(frozen=True, slots=True)
class EvaluatedNode:
    """What came of a job: as much of the verdict as whoever asked goes on with, and its text."""

    verdict: Verdict
    text: str = ""


class EvaluationWorker:
    """Thinks about jobs in order, exactly like a check within a process."""

    def __init__(self, task: EvaluationTask, playbook: Playbook) -> None:
        self.task = task
        self._playbook = playbook
        self._redactor, self._teller = Redactor(), JsonConverter()

    async def evaluate(self, job: EvaluationJob) -> Any:
        """Return what comes of a job."""
        task, mutes = self.task, GivenMutes(job.mutes)
        triage = Triage(job, ACTIONS, lambda: job.taken_at, task.sampling, draining=task.draining, mutes=mutes)
        return await self.evaluate_answers(triage, job)

    async def evaluate_answers(self, triage: Triage, job: EvaluationJob) -> Any:
        """Return the `EvaluatedNode`; `triage` reads what the node answered."""
        judged = await triage.diagnose(job.node, self._playbook)
        verdict = without_secrets(replace(judged, took=now() - job.taken_at), self._redactor)
        if not self.task.tells_json:
            return EvaluatedNode(without_details(verdict, again=verdict.status is not Status.HEALTHY))
        growth = growth_of(verdict, self._playbook, job.looks)
        told = verdict if self.task.readings else replace(verdict, snapshot=None)
        return EvaluatedNode(without_details(verdict), node_text(node_document(told, None, self._teller, growth)))


def message_bytes(what: object) -> bytes:
    """Return it as it travels."""
    body = pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def _read_message(stream: BinaryIO) -> Any:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    # Only whoever started this process has the other end of its stdin.
    return pickle.loads(stream.read(LENGTH.unpack(head)[0]))


def main() -> int:
    """Think until stdin ends; 2 where the playbook here is another than there."""
    plugins.enable_plugins(sys.argv[1:])
    try:
        worker = _read_message(sys.stdin.buffer).worker()
    except UsageError:
        return 2
    collect_garbage_less_often(MANY)
    asyncio.run(_answer_jobs(worker))  # once: each run prepares for Ctrl-C, which takes a twentieth of a job
    return 0


async def _answer_jobs(worker: Any) -> None:
    while (job := _read_message(sys.stdin.buffer)) is not None:
        sys.stdout.buffer.write(message_bytes(await worker.evaluate(job)))
        sys.stdout.buffer.flush()
