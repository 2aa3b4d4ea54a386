"""A recorded node: a case answers in its place."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta

from bot.domain.batch import Batch
from bot.domain.case import Case
from bot.domain.command import Completed
from bot.domain.errors import Unreachable
from bot.domain.node import Node


class ReplayTransport:
    """Answers batches from a case. A command that was not recorded gets no answer."""

    def __init__(self, case: Case) -> None:
        self._case = case

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Yield the recorded runs that the batch asks for, at once, and fail as the connection did."""
        asked = {(question.probe, question.command.name, question.look) for question in batch.questions}
        for run in self._case.runs:
            if (run.probe, run.name, run.look) in asked:
                yield run
        if (failed := self._case.head.unreachable) is not None:
            kinds = {kind.kind: kind for kind in Unreachable.__subclasses__()}
            raise kinds.get(failed.kind, Unreachable)(failed.sentence, failed.try_next)
