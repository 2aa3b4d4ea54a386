"""A process that weighs for a pool, and the jobs that it has not answered yet; see `weighing_worker.py`."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from bot.app.weighing_worker import LENGTH, WeighedNode, WeighingJob, WeighingTask, packed

if TYPE_CHECKING:
    from bot.response.fleet.answer import NodeAnswer

Answer: TypeAlias = "asyncio.Future[WeighedNode | NodeAnswer]"
Owed: TypeAlias = tuple[WeighingJob, Answer]
_KEPT = frozenset({"PATH", "LANG", "HOME", "TZ", "TMPDIR"})
_PROGRAM = "import sys; from bot.app.weighing_worker import main; sys.exit(main())"


@dataclass(slots=True)
class PoolProcess:
    """A running process; it thinks about its jobs in the order in which it was given them."""

    process: asyncio.subprocess.Process
    is_gone: bool = False
    _owed: deque[Owed] = field(default_factory=deque)

    @classmethod
    async def begun(cls, task: WeighingTask) -> PoolProcess:
        """Start a process for a task.

        Raises: OSError where a limit of processes, or of memory, is reached.
        """
        pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        command, environment = (sys.executable, "-P", "-c", _PROGRAM), _environment(os.environ)
        # A session of its own: Ctrl-C is meant for this process, which keeps what came.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=none, start_new_session=True, env=environment
        )
        assert process.stdin is not None
        process.stdin.write(packed(task))
        return cls(process)

    def ask(self, job: WeighingJob) -> Answer:
        """Give it a job, and return what its answer will be."""
        answer: Answer = asyncio.get_running_loop().create_future()
        self._owed.append((job, answer))
        assert self.process.stdin is not None
        self.process.stdin.write(packed(job))
        return answer

    @property
    def owes(self) -> int:
        """How many answers it owes."""
        return len(self._owed)

    def untouched(self) -> list[Owed]:
        """Return the jobs that have no answer, apart from that which it thinks about now."""
        return [(job, answer) for job, answer in islice(self._owed, 1, None) if not answer.done()]

    async def hear(self) -> list[Owed]:
        """Take its answers until it ends; return what it still owes then."""
        assert self.process.stdout is not None
        try:
            while True:
                head = await self.process.stdout.readexactly(LENGTH.size)
                body = await self.process.stdout.readexactly(LENGTH.unpack(head)[0])
                _, answer = self._owed.popleft()
                if not answer.done():
                    answer.set_result(pickle.loads(body))  # of our own process, by a pipe that nobody else has
        except (asyncio.IncompleteReadError, OSError, IndexError):
            self.is_gone = True
        left = [*self._owed]
        self._owed.clear()
        return left


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """What Python itself needs to start: no token and no way to an agent's keys is handed on."""
    return {name: value for name, value in ours.items() if name.startswith(("PYTHON", "LD_", "LC_")) or name in _KEPT}
