"""Whose calls they are that come with the token."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.app.extras import shipped
from bot.domain.errors import SettingsError
from bot.extras.mcp.serving import UNNAMED, asker_of
from bot.settings import Settings


def settings(folder: Path, toml: str) -> Settings:
    (folder / "zombie.toml").write_text(toml)
    return Settings.load({}, {"ZOMBIE_MCP_TOKEN": "5eed" * 8}, folder, members=shipped().settings)


@pytest.mark.parametrize(
    ("toml", "by"),
    [
        ("", UNNAMED.by),
        ('[policy]\naskers = "members"', UNNAMED.by),
        ('[policy]\naskers = ["U1AB"]', "slack:U1AB"),
        ('[policy]\naskers = ["U1AB", "S2"]', "slack:U1AB"),
        ('[policy]\naskers = ["U1AB", "U2AB"]\n[mcp]\nasker = "U2AB"', "slack:U2AB"),
        ('[mcp]\nasker = "U2AB"', "slack:U2AB"),
    ],
)
def test_token_belongs_to_whom_the_settings_name(tmp_path: Path, toml: str, by: str) -> None:
    assert asker_of(settings(tmp_path, toml)).by == by


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ('[policy]\naskers = ["U1AB"]\n[mcp]\nasker = "U2AB"', "whom \\[policy\\] askers does not name"),
        ('[policy]\naskers = ["S1AB"]\n[mcp]\nasker = "U2AB"', "whom \\[policy\\] askers does not name"),
        ('[policy]\naskers = ["U1AB", "U2AB"]', "its owner is not known"),
        ('[policy]\naskers = ["S1AB"]', "its owner is not known"),
        ('[mcp]\nasker = "ann"', "write the ID of a Slack member"),
        ('[mcp]\ncalls = "often"', "is written like"),
    ],
)
def test_token_of_nobody_or_of_one_who_may_not_ask_is_refused(tmp_path: Path, toml: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        asker_of(settings(tmp_path, toml))
