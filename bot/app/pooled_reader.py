"""A sweep of whole checks: worker processes parse and weigh what the nodes answered; see `weighing_pool.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.app.check import PROGRAM, Check
from bot.app.many_nodes import cores, how_many
from bot.app.weighing_pool import open_pool
from bot.app.weighing_worker import WeighingTask
from bot.domain.node import Node
from bot.response.fleet.answer import NodeAnswer
from bot.response.fleet.chunk import Hears, answers_of
from bot.response.fleet.chunk_request import Question
from bot.response.fleet.sweep import Sweep


@dataclass(frozen=True, slots=True)
class PooledReader:
    """Reads the nodes of a sweep here; so many worker processes judge them."""

    what: Check
    sweep: Sweep
    several: int

    @classmethod
    def of(cls, what: Check, sweep: Sweep) -> PooledReader | None:
        """Return the reader of a sweep; None where worker processes would not pay.

        A single look says so little that handing it over costs as much as judging it.
        """
        several = how_many(len(what.nodes), cores()) if sweep.needs_window else 0
        return cls(what, sweep, several) if several else None

    async def answers(self, nodes: Sequence[Node], heard: Hears) -> list[NodeAnswer]:
        """Return an answer for each node; see `Reads`."""
        what, sampling, playbook = self.what, self.what.sampling, self.sweep.playbook
        question = Question.of(
            self.sweep, program=PROGRAM, facts=False, samples=sampling.samples, deadline=what.deadline
        )
        task = WeighingTask(playbook.name, playbook.digest, what.folders, sampling, what.draining, question=question)
        async with open_pool(what, task, self.several, sampling.window / 2, self.sweep) as pool:
            return await answers_of(nodes, what.parallel, pool.answer, heard)
