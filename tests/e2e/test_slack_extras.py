"""The bot serves without the extras that its settings leave out, and says nothing of what they bring."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.slack.service import Readings, card_saying, reply_saying, serving
from tests.slack.workspace import SlackWorkspace, workspace


async def test_many_nodes_are_not_asked_for_where_fleets_are_left_out(tmp_path: Path) -> None:
    toml = '[extras]\noff = ["fleet"]\n'
    async with workspace() as slack, serving(slack, tmp_path, Readings(), toml=toml) as bot:
        for said, answered in (
            ("fleet role=gpu", "I do not know the command `fleet`."),
            ("check role=gpu", "Name each node: what reads `role=gpu`, which may mean many, is left out here."),
        ):
            await slack.say("alice", "oncall-gpu", f"/zombie {said}")
            reply = await reply_saying(slack, answered)
            assert "zombie fleet" not in json.dumps(reply.blocks), "nor does the help beside it"
        assert not bot.logged("swept")
        await slack.say("alice", "oncall-gpu", "/zombie check node-7")
        card = await card_saying(slack, "node-7: CRITICAL")
        assert "who-else" not in json.dumps(card.blocks)


@pytest.mark.parametrize(
    ("off", "gone", "there"),
    [("captures", ("capture",), ("profile",)), ("profiles", ("profile", "capture"), ()), ("mcp", (), ("profile",))],
)
async def test_what_people_type_is_known_with_its_extra_alone(
    tmp_path: Path, off: str, gone: tuple[str, ...], there: tuple[str, ...]
) -> None:
    toml = f'[extras]\noff = ["{off}"]\n'
    async with workspace() as slack, serving(slack, tmp_path, Readings(), toml=toml) as bot:
        await slack.say("alice", "oncall-gpu", "/zombie help")
        said = await slack.until(lambda: private(slack, "What I can do"), what="the help")
        for verb in gone:
            assert f"/zombie {verb}" not in said
            await slack.say("alice", "oncall-gpu", f"/zombie {verb} node-7")
            await slack.until(partial(private, slack, f"I do not know the command `{verb}`"), what="no")
        for verb in there:
            assert f"/zombie {verb}" in said
        assert not bot.logged("extra_left_out")


def private(slack: SlackWorkspace, words: str) -> str:
    """Return what alice alone is told with these words; empty while she is not."""
    told = (f"{one.text} {json.dumps(one.blocks, ensure_ascii=False)}" for one in slack.messages("oncall-gpu", "alice"))
    return next((text for text in told if words in text), "")
