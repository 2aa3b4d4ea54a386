"""What one person alone is told: nobody's secrets, whatever a refusal quotes."""

from __future__ import annotations

from typing import Any

from bot.surfaces.slack.answers import Answers
from bot.surfaces.slack.calls import Stands
from bot.surfaces.slack.timing import Timing

SECRET = "k7Qw" * 6


async def test_refusal_that_quotes_a_node_shows_no_secret() -> None:
    told: list[str] = []

    class Calls:
        async def whisper(self, channel: str, user: str, thread: str, message: Any) -> Stands:
            told.append(f"{message.text} {message.blocks}")
            return Stands()

    calls: Any = Calls()
    nobody: Any = None
    words = f"CannotTell: The node cannot be looked at again: it said: export DB_PASSWORD={SECRET}."
    await Answers(calls, nobody, Timing(), lambda *_, **__: None).tell("slack:T1/U1", "C1", "", words)
    assert "cannot be looked at again" in told[0]
    assert SECRET not in told[0]
