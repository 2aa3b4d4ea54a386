"""What a store measured on a node before the check, beside its verdict; the past explains and never judges."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from bot.domain.contracts import Clock, Listener
from bot.domain.errors import CannotRead
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.probe import Unread
from bot.domain.verdict import Evidence, Verdict
from bot.response.diagnosis.scheduler import Diagnose

# The names they have among the readings, and among what is unread.
HISTORY = "prometheus"
PROFILED = "pyroscope"
FIRST_TOLD = 4  # the node's own lines before the first line of the past, so that a card of five lines has it


class MetricHistory(Protocol):
    """The metric history of nodes."""

    async def before(self, node: Node, until: datetime) -> tuple[Evidence, ...]:
        """Return the evidence from the time before.

        Raises: CannotRead when it cannot be read; it fails quickly, because a verdict waits for it.
        """


def with_metric_history(diagnose: Diagnose, past: MetricHistory, clock: Clock, name: str = HISTORY) -> Diagnose:
    """Return a diagnosis that also reads the past; status, cause, confidence and plan stay the same.

    Shape: `name` is the source of the past, named where it cannot be read.
    """

    async def both(node: Node, playbook: Playbook, heard: Listener) -> Verdict:
        asking = asyncio.create_task(_evidence_before(past, node, clock, name), name=f"{name} of {node.name}")
        try:
            verdict = await diagnose(node, playbook, heard)
            answer = await asking
        finally:
            asking.cancel()
        if isinstance(answer, Unread):
            return replace(verdict, unread=(*verdict.unread, answer))
        own = verdict.evidence
        return replace(verdict, evidence=(*own[:FIRST_TOLD], *answer[:1], *own[FIRST_TOLD:], *answer[1:]))

    return both


async def _evidence_before(past: MetricHistory, node: Node, clock: Clock, name: str) -> tuple[Evidence, ...] | Unread:
    try:
        return await past.before(node, clock())
    except CannotRead as no:
        return Unread(name, str(no))
