"""A node that was not heard because this program stood still is unread: neither healthy nor unreachable."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta

import pytest

from bot.actions import ACTIONS
from bot.app.check import exit_status
from bot.app.factories import library
from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.errors import StoodStill
from bot.domain.node import Node
from bot.domain.verdict import Status, Verdict
from bot.response.diagnosis.triage import NOT_LISTENED, Triage

NODE = Node("node-1", "localhost")


class Broken:
    """A way to a node that gives this many answers, and then this program stands still."""

    def __init__(self, answers: int) -> None:
        self._answers = answers

    async def read(self, node: Node, batch: Batch, deadline: timedelta) -> AsyncGenerator[Completed, None]:
        for question in batch.questions[: self._answers]:
            yield Completed(question.probe, question.command.name, question.look, "", "", 127)
        raise StoodStill(f"This program did not get the processor while it read {node.name}.")


async def judged(answers: int) -> Verdict:
    triage = Triage(Broken(answers), ACTIONS, lambda: datetime(2026, 1, 1, tzinfo=UTC))
    return await triage.diagnose(NODE, library().get("node-health"))


@pytest.mark.parametrize("answers", [0, 3])
async def test_what_was_not_heard_is_unread_and_says_why(answers: int) -> None:
    verdict = await judged(answers)
    assert verdict.status is Status.UNKNOWN
    assert NOT_LISTENED in {unread.reason for unread in verdict.unread}
    assert exit_status([verdict], Status.DEGRADED) == 3
    assert verdict.plan is None


async def test_what_was_heard_before_keeps_its_own_reason() -> None:
    whole = await judged(10_000)
    assert NOT_LISTENED not in {unread.reason for unread in whole.unread}
