"""The bot serves without the extras that its settings leave out, and says nothing of what they bring."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slack.service import Readings, card_saying, serving
from tests.slack.workspace import workspace


@pytest.mark.parametrize(
    ("off", "absent", "says_why"),
    [("", set(), True), ("reports", {"report"}, True), ("cases", {"report"}, False), ("mcp", set(), True)],
)
async def test_check_is_answered_with_and_without(tmp_path: Path, off: str, absent: set[str], says_why: bool) -> None:
    toml = f'[extras]\noff = ["{off}"]\n' if off else ""
    async with workspace() as slack, serving(slack, tmp_path, Readings(), toml=toml) as bot:
        await slack.say("alice", "oncall-gpu", "/zombie check node-7")
        await card_saying(slack, "node-7: CRITICAL")
        parts = bot.service._bot
        assert parts.posting.view.absent == absent == parts.desk.acting.surface.view.absent
        assert (parts.cards.why is not None) is says_why
        assert not bot.logged("extra_left_out")
