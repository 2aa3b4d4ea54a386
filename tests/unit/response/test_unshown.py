"""What a node says while it is acted on may hold a secret, and none is shown to whoever waits for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import ConnectionLost
from bot.domain.node import Node
from tests.schedules.stage import Stage
from tests.unit.response.requesting import approve, do

SECRET = "k7Qw" * 6


class Chatting:
    """A node whose login scripts print what they should not, and end the session."""

    def host_key(self, node: Node) -> str:
        return "SHA256:as-ever"

    async def read(
        self, node: Node, batch: Batch, deadline: timedelta, host_key: str | None = None
    ) -> AsyncGenerator[Completed, None]:
        for question in batch.questions:
            if question.command.name != "answered":
                raise ConnectionLost(f"n1 ended the session unasked; it said: export DB_PASSWORD={SECRET}.")
            yield Completed(question.probe, question.command.name, 0, "")


def test_what_an_approved_plan_waits_for_shows_no_secret(stage: Stage) -> None:
    approve(stage)
    chatting: Any = Chatting()
    stage.wire = chatting
    again = do(stage, stage.remediation().advance("one"))
    assert isinstance(again, AdvanceLater)
    assert "ended the session" in again.because
    assert SECRET not in again.because
