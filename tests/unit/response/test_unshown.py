"""What a node says while it is acted on may hold a secret, and none is shown to whoever waits for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import pytest

from bot.domain.batch import Batch
from bot.domain.command import Completed
from bot.domain.contracts import AdvanceLater
from bot.domain.errors import ConnectionLost
from bot.domain.node import Node
from bot.extras.profiles.capture_wire import CaptureEnd, Facts
from bot.extras.profiles.profiler import nothing_recorded_error, perf_missing
from tests.known import known_as
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
    again = known_as(do(stage, stage.remediation().advance("one")), AdvanceLater)
    assert "ended the session" in again.because
    assert SECRET not in again.because


@pytest.mark.parametrize("before", ["", "x" * 70], ids=["whole", "where the line is cut"])
def test_reasons_made_of_what_a_node_printed_show_no_secret(before: str) -> None:
    said = f"{before} DB_PASSWORD={SECRET} xoxb-0123456789-{SECRET}"
    reasons = (
        Completed("p", "c", 0, "", said, 1).failure,
        Completed("p", "c", 0, "", f"sudo: {said}", 1).failure,
        perf_missing(Facts({"perf": said})),
        nothing_recorded_error(Facts(), CaptureEnd(1, 1, said)),
        CaptureEnd(0, 0, f"lost {said}").lost,
    )
    for reason in map(str, reasons):
        assert "redacted" in reason
        assert "k7Qw" not in reason
        assert "0123" not in reason
