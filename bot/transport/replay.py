"""A recorded node: a case answers in its place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta

from bot.domain.batch import Batch
from bot.domain.case import Case
from bot.domain.command import Completed
from bot.domain.errors import Unreachable
from bot.domain.node import Node

MOST_TIMES_LIMIT = 4  # letters of an answer for a byte of its command's limit: `\xff` shows one that is no letter


class ReplayTransport:
    """Answers batches from a case. A command that was not recorded gets no answer; one longer than any is cut."""

    def __init__(self, case: Case) -> None:
        self._case = case

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Yield the recorded runs that the batch asks for, at once, and fail as the connection did."""
        asked = {(each.probe, each.command.name, each.look): each.command for each in batch.questions}
        for run in self._case.runs:
            if (command := asked.get((run.probe, run.name, run.look))) is not None:
                most = MOST_TIMES_LIMIT * command.output_limit_bytes
                yield run if len(run.stdout) <= most else replace(run, stdout=run.stdout[:most], cut=True)
        if (failed := self._case.head.unreachable) is not None:
            kinds = {kind.kind: kind for kind in Unreachable.__subclasses__()}
            raise kinds.get(failed.kind, Unreachable)(failed.sentence, failed.try_next)
