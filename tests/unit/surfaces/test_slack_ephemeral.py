"""What one person alone is told: nobody's secrets, whatever a refusal quotes."""

from __future__ import annotations

from typing import Any

from bot.surfaces.slack.calls import Delivered, Timing
from bot.surfaces.slack.ephemeral import Ephemeral

SECRET = "k7Qw" * 6


async def test_refusal_that_quotes_a_node_shows_no_secret() -> None:
    told: list[str] = []

    class Calls:
        async def post_ephemeral(self, channel: str, user: str, thread: str, message: Any) -> Delivered:
            told.append(f"{message.text} {message.blocks}")
            return Delivered()

    calls: Any = Calls()
    nobody: Any = None
    words = f"CannotTell: The node cannot be looked at again: it said: export DB_PASSWORD={SECRET}."
    await Ephemeral(calls, Timing(), lambda *_, **__: None, nobody).tell("slack:T1/U1", "C1", "", words)
    assert "cannot be looked at again" in told[0]
    assert SECRET not in told[0]
