"""Processes that parse and evaluate what many nodes answered, where this machine has cores to spare.

Reading nodes takes this process: connections, ciphers, an event loop. What they said is half of the work, and needs
nothing but itself; so it goes to worker processes (`evaluation_worker.py`), and comes back as a verdict and its text.
They get nothing but jobs, they end with this process, and where one dies its jobs are evaluated here. Where more waits
than they keep up with, this process evaluates too, while it has nothing to read; in the end it also takes over what
they have not come to yet.

Those of `concurrent.futures` take as long, can forget the environment, and can end with this process. But where one of
them dies, the program may never end: Python 3.11.7 waits for ever once a job was taken back (cancelled) before,
earlier ones where answers are just being written to it (python/cpython#94777).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from bot.app import plugins
from bot.app.check import Check, check_in_process
from bot.app.evaluation_worker import (
    LENGTH,
    EvaluatedNode,
    EvaluationJob,
    EvaluationTask,
    EvaluationWorker,
    compressed_runs,
    message_bytes,
)
from bot.app.factories import now
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.contracts import Listener, ProbeAnswered, ReadingStarted, VerdictReached
from bot.domain.errors import LedgerError, Unreachable
from bot.domain.growth import CountSample
from bot.domain.node import Node

if TYPE_CHECKING:
    from bot.domain.entry import Entry

AHEAD = 16  # jobs that wait at each: while this process does other things, none stands idle
IDLE_SECONDS, PAUSE_SECONDS = 0.0005, 0.002
SQUEEZED_CHARS = 4_000  # of answers that are squeezed together
FEWEST_SQUEEZED = 300  # nodes at once; fewer hold 100 kB each, and to squeeze them would hold up their logins
EarlierCounts: TypeAlias = Mapping[str, tuple[CountSample, ...]]
NONE_EARLIER: EarlierCounts = {}
LooksOf: TypeAlias = Callable[[str], EarlierCounts]
OnEvaluated: TypeAlias = Callable[[EvaluatedNode], None]
Answer: TypeAlias = "asyncio.Future[Any]"
Owed: TypeAlias = tuple[Any, Answer]  # a job, of the kind that the processes' task has
_KEPT = frozenset({"PATH", "LANG", "HOME", "TZ", "TMPDIR"})
_PROGRAM = "import sys; from bot.app.evaluation_worker import main; sys.exit(main())"


class EvaluationPool:
    """Reads nodes here and has worker processes do the rest; made by `open_pool`."""

    def __init__(self, what: Check, here: EvaluationWorker) -> None:
        """`here` thinks in this process, and has the task of the others."""
        self._what = what
        self._here = here
        self._workers: list[PoolProcess] = []
        self._hearing: list[asyncio.Task[None]] = []
        self._waiting: deque[Owed] = deque()
        self._reading = 0  # nodes that have not said all yet
        self._helping: asyncio.Task[None] | None = None
        self._first: tuple[Node, datetime, Sequence[bytes]] | None = None  # what the first that answers says
        asked = [(probe.name, command) for probe in what.playbook.probes for command in probe.commands]
        self._batch = Batch.of(asked, what.triage.sampling, together=True)
        self._squeezes = what.parallel >= FEWEST_SQUEEZED

    async def start(self, several: int, after: timedelta) -> None:
        """Start so many processes, after that time."""
        await asyncio.sleep(after.total_seconds())
        with contextlib.suppress(OSError):  # a limit of processes, or of memory
            for _ in range(several):
                self._workers.append(each := await PoolProcess.start_process(self._here.task))
                self._hearing.append(asyncio.create_task(self._take_results(each)))
        if (warm_up_job := self.warm_up_job()) is not None:
            for each in self._workers:
                each.send_job((warm_up_job, asyncio.get_running_loop().create_future()))
            await self._here.evaluate(warm_up_job)
        self._send_jobs()

    def warm_up_job(self) -> EvaluationJob | None:
        """Return what a node has said so far: evaluated beforehand, as the first time takes four times as long."""
        if self._first is None:
            return None
        node, taken_at, said = self._first
        return EvaluationJob(node, taken_at, tuple(said))

    async def stop(self) -> None:
        """End them; they have nothing that could be lost."""
        self._waiting.clear()
        working = [*self._hearing, *([self._helping] if self._helping is not None else [])]
        for task in working:
            task.cancel()
        for each in self._workers:
            each.kill()
        await asyncio.gather(*working, return_exceptions=True)
        await asyncio.gather(*(each.wait() for each in self._workers), return_exceptions=True)

    async def judged(self, node: Node, heard: Listener, looks: EarlierCounts) -> EvaluatedNode:
        """Read a node and return its verdict; as `evaluate`, and `heard` is told of the verdict too."""
        evaluated: EvaluatedNode = await self.evaluate(node, heard, looks)
        heard(VerdictReached(evaluated.verdict))
        return evaluated

    async def evaluate(
        self, node: Node, heard: Listener = lambda event: None, looks: EarlierCounts = NONE_EARLIER
    ) -> Any:
        """Read a node and return what comes of that, also of one that is unreachable.

        Shape: `looks` are the counts of the node before, by cause.
        Raises: UsageError when a key or known_hosts file is missing.
        """
        self._reading += 1
        try:
            job = replace(await self._read_node(node, heard), mutes=await self._mutes(), looks=looks)
            if job.failed is not None:  # hardly anything was said
                return await self._here.evaluate(job)
        finally:
            self._reading -= 1
            self._start_evaluating_here()
        answer: Answer = asyncio.get_running_loop().create_future()
        self._waiting.append((job, answer))
        self._send_jobs()
        self._start_evaluating_here()
        return await answer

    def _send_jobs(self) -> None:
        """Give waiting jobs to the processes that have least to do, as many as they need to be busy."""
        while self._waiting and (there := [each for each in self._workers if not each.is_gone]):
            least = min(there, key=lambda each: len(each.owed))
            if len(least.owed) >= AHEAD:
                return
            least.send_job(self._waiting.popleft())

    def _start_evaluating_here(self) -> None:
        if self._helping is None and (self._waiting or not self._reading):
            self._helping = asyncio.create_task(self._evaluate_here())

    async def _evaluate_here(self) -> None:
        """Evaluate jobs here: whenever no node says anything, and all that is left once nothing is left to read."""
        try:
            while not self._reading or self._waiting:
                if self._reading and not await _is_loop_idle():
                    await asyncio.sleep(PAUSE_SECONDS)
                    continue
                if (last := self._take_last_job()) is None:
                    return
                job, answer = last
                evaluating = asyncio.ensure_future(self._here.evaluate(job))
                await asyncio.wait([evaluating])
                _copy_result(answer, evaluating)
        finally:
            self._helping = None

    def _take_last_job(self) -> Owed | None:
        """Take the last job that waits; once all is read, also what a process would come to last."""
        if self._waiting:
            return self._waiting.pop()
        if self._reading:
            return None
        most = max((each.jobs_not_begun() for each in self._workers), key=len, default=[])
        return most[-1] if most else None

    async def _read_node(self, node: Node, heard: Listener) -> EvaluationJob:
        """Read a node, telling how far that is; nothing is parsed."""
        what, taken_at = self._what, now()
        heard(
            ReadingStarted(node.name, tuple(probe.name for probe in what.playbook.probes), what.triage.sampling.window)
        )
        waiting = Counter(question.probe for question in self._batch.questions)
        said, runs, held = list[bytes](), list[Completed](), 0
        failed: Unreachable | None = None
        try:
            async with aclosing(what.triage.transport.read(node, self._batch, what.triage.deadline)) as arriving:
                async for run in arriving:
                    runs.append(run)
                    held += len(run.stdout)
                    if held > SQUEEZED_CHARS:
                        # A last look is evaluated soon: to squeeze it would only hold up the verdict.
                        said.append(compressed_runs(runs, level=int(self._squeezes and not run.look)))
                        self._first = self._first or (node, taken_at, said)
                        runs, held = [], 0
                    waiting[run.probe] -= 1
                    if not waiting[run.probe]:
                        heard(ProbeAnswered(node.name, run.probe))
        except Unreachable as no:
            failed = no
        return EvaluationJob(node, taken_at, (*said, compressed_runs(runs, level=0)), failed=failed)

    async def _mutes(self) -> tuple[Entry, ...]:
        mutes = self._what.triage.mutes
        try:
            return await mutes.mutes() if mutes is not None else ()
        except LedgerError:  # as everywhere: then nothing counts as accepted
            return ()

    async def _take_results(self, each: PoolProcess) -> None:
        """Hear a process until it ends; what it still owes then is evaluated here."""
        while await each.take_result():
            self._send_jobs()
        for job, answer in each.owed:
            asyncio.ensure_future(self._here.evaluate(job)).add_done_callback(partial(_copy_result, answer))


async def _is_loop_idle() -> bool:
    """True if nothing else is to be done at this moment: then a turn of the event loop takes microseconds."""
    loop = asyncio.get_running_loop()
    before = loop.time()
    await asyncio.sleep(0)
    return loop.time() - before < IDLE_SECONDS


def _copy_result(answer: Answer, evaluated: Answer) -> None:
    if answer.done():
        return
    if evaluated.cancelled():
        answer.cancel()
    elif (error := evaluated.exception()) is not None:
        answer.set_exception(error)
    else:
        answer.set_result(evaluated.result())


async def check_in_pool(
    what: Check,
    heard: Listener,
    several: int,
    concluded: OnEvaluated,
    *,
    readings: bool = True,
    looks_of: LooksOf | None = None,
    after: timedelta | None = None,
) -> None:
    """Do as `check`, with so many worker processes; each verdict is handed over as it comes.

    Shape: they are started `after` that time; without it half a window later, while all there is to do is to wait.
    `looks_of` returns the earlier counts of a node, by cause, for its part of the JSON; without it none is made.
    Raises: UsageError of any node, once all others are through.
    """
    playbook, folders, sampling, draining = what.playbook, what.folders, what.triage.sampling, what.triage.draining
    task = EvaluationTask(playbook.name, playbook.digest, folders, sampling, draining, looks_of is not None, readings)
    pause = sampling.window / 2 if after is None else after
    async with open_pool(what, EvaluationWorker(task, playbook), several, pause) as pool:

        async def judge(node: Node, told: Listener) -> None:
            concluded(await pool.judged(node, told, looks_of(node.name) if looks_of is not None else {}))

        await check_in_process(what, heard, judge)


@asynccontextmanager
async def open_pool(
    what: Check, here: EvaluationWorker, several: int, after: timedelta = timedelta(0)
) -> AsyncIterator[EvaluationPool]:
    """Start so many processes with the task of `here` after that time, for the length of a block.

    Where none can be started, all is evaluated here.
    """
    pool = EvaluationPool(what, here)
    starting = asyncio.create_task(pool.start(several, after))
    try:
        yield pool
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await pool.stop()


# --- a process that evaluates, and the jobs that it has not answered yet


@dataclass(slots=True)
class PoolProcess:
    """A running process; it thinks about its jobs in the order in which it was given them."""

    process: asyncio.subprocess.Process
    is_gone: bool = False
    owed: deque[Owed] = field(default_factory=deque)

    @classmethod
    async def start_process(cls, task: object) -> PoolProcess:
        """Start a process for a task, whose `worker` thinks about the jobs there.

        Raises: OSError where a limit of processes, or of memory, is reached.
        """
        pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        command, environment = (
            (sys.executable, "-P", "-c", _PROGRAM, *plugins.enabled_plugins()),
            _environment(os.environ),
        )
        # A session of its own: Ctrl-C is meant for this process, which keeps what came.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=none, start_new_session=True, env=environment
        )
        assert process.stdin is not None
        process.stdin.write(message_bytes(task))
        return cls(process)

    def send_job(self, owed: Owed) -> None:
        """Give it a job, with what its answer will be."""
        self.owed.append(owed)
        assert self.process.stdin is not None
        self.process.stdin.write(message_bytes(owed[0]))

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def wait(self) -> None:
        """Wait until it has ended, once it was killed and nobody waits for an answer.

        Read to its end: asyncio waits for ever for a process of which more was left unread than it buffers.
        """
        await self.process.communicate()

    def jobs_not_begun(self) -> list[Owed]:
        """Return the jobs that have no answer, apart from that which it thinks about now."""
        return [(job, answer) for job, answer in islice(self.owed, 1, None) if not answer.done()]

    async def take_result(self) -> bool:
        """Take its next answer; False once it has ended."""
        assert self.process.stdout is not None
        try:
            head = await self.process.stdout.readexactly(LENGTH.size)
            body = await self.process.stdout.readexactly(LENGTH.unpack(head)[0])
            _, answer = self.owed.popleft()
            if not answer.done():
                answer.set_result(pickle.loads(body))  # of our own process, by a pipe that nobody else has
        except (asyncio.IncompleteReadError, OSError, IndexError):
            self.is_gone = True
        return not self.is_gone


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """What Python itself needs to start: no token and no way to an agent's keys is handed on."""
    return {name: value for name, value in ours.items() if name.startswith(("PYTHON", "LD_", "LC_")) or name in _KEPT}
