"""A transport that records the nodes' answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta

from bot.domain.batch import Batch
from bot.domain.case import NotReached, RecordedCommand, asked_by
from bot.domain.command import Completed
from bot.domain.contracts import Transport
from bot.domain.errors import Unreachable
from bot.domain.node import Node


@dataclass(slots=True)
class RecordedAnswers:
    """What was asked of a node, what it answered, and how the connection failed, if it did."""

    asked: tuple[RecordedCommand, ...] = ()
    runs: list[Completed] = field(default_factory=list)
    failed: NotReached | None = None


class RecordingTransport:
    """Reads nodes through another transport and records each answer; a case is written without its secrets."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._heard: dict[str, RecordedAnswers] = {}

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        """Run the batch; see `contracts.Transport`."""
        heard = self._heard[node.name] = RecordedAnswers(asked_by(batch))
        try:
            async with aclosing(self._transport.read(node, batch, deadline)) as arriving:
                async for run in arriving:
                    heard.runs.append(run)
                    yield run
        except Unreachable as error:
            heard.failed = NotReached(error.kind, error.sentence, error.try_next)
            raise

    def taken(self, node: str) -> RecordedAnswers:
        """Return and forget what a node said last."""
        return self._heard.pop(node, RecordedAnswers())
