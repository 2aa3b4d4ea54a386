"""A node that is looked for by a part of its name: in the App Home, and where a check names none; by either way in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.demo.slack.message import Message
from bot.demo.slack.view import View
from tests.slack.service import Bot, Readings, card_saying, cards, reply_saying, serving
from tests.slack.workspace import SlackWorkspace, workspace

DIRECT = "D0ALICE001"


@pytest.fixture
async def slack() -> AsyncIterator[SlackWorkspace]:
    async with workspace() as slack:
        yield slack


async def found(slack: SlackWorkspace, place: Message | View, typed: str, user: str = "alice") -> list[str]:
    """Type into the menu, and return the names that are suggested."""
    return [option["value"] for option in await slack.suggest(user, place, "find_node", typed)]


async def home_of(slack: SlackWorkspace, user: str = "alice") -> View:
    await slack.open_home(user)
    return await slack.until(lambda: slack.home(user), what="the App Home")


@pytest.mark.parametrize("way", ["socket", "http"])
async def test_check_without_a_name_is_answered_by_a_menu_that_finds_it(
    slack: SlackWorkspace, tmp_path: Path, way: str
) -> None:
    signed = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": slack.signing_secret} if way == "http" else {}
    async with serving(slack, tmp_path, Readings(), environment=signed) as bot:
        if way == "http":
            slack.deliver_to(f"{bot.address}/slack/events")
        await slack.say("alice", "oncall-gpu", "/zombie check")
        asked = await reply_saying(slack, "Which node?")
        assert await found(slack, asked, "NODE-7") == ["node-7", *(f"node-7{digit}" for digit in range(10))]
        assert await found(slack, asked, "e-77") == ["node-77"]
        assert await found(slack, asked, "nowhere") == []
        assert len(await found(slack, asked, "")) == 30, "no more than somebody reads"
        assert await found(slack, asked, "00 node") == ["node-100"], "every word of it"
        assert await found(slack, asked, "x" * 100_000) == []
        await found(slack, asked, "77")
        assert cards(slack) == [], "who only types has nothing read"
        await slack.click("alice", asked, "find_node", "node-77")
        await card_saying(slack, "node-77: CRITICAL")


async def test_node_that_is_chosen_in_the_home_is_read_and_told_in_a_direct_message(
    slack: SlackWorkspace, tmp_path: Path
) -> None:
    async with serving(slack, tmp_path, Readings()) as bot:
        home = await home_of(slack)
        assert await found(slack, home, "node-42") == ["node-42"]
        await slack.click_in_view("alice", home, "find_node", "node-42")
        await card_saying(slack, "node-42: CRITICAL", DIRECT)
        assert cards(slack) == []
        assert list(await bot.incidents()) == ["node-42"]


async def test_whoever_may_not_ask_is_told_no_name(slack: SlackWorkspace, tmp_path: Path) -> None:
    toml = '[policy]\naskers = ["U0ALICE001"]\n'
    async with serving(slack, tmp_path, Readings(), toml=toml) as bot:
        home = await home_of(slack, "bob")
        assert await found(slack, home, "node", "bob") == []
        guest = await home_of(slack, "gina")
        assert await found(slack, guest, "node", "gina") == []
        await slack.say("bob", "oncall-gpu", "/zombie check")
        await reply_saying(slack, "does not name you", "bob")
        assert await found(slack, await home_of(slack), "node-9") != []
        await _forged(slack, bot)


async def _forged(slack: SlackWorkspace, bot: Bot) -> None:
    """A home of alice's whose metadata names another conversation begins nothing."""
    home = await home_of(slack)
    await found(slack, home, "node-9")
    other = slack.state.replace_view(_renamed(home))
    await slack.click_in_view("alice", other, "find_node", "node-9")
    await slack.until(lambda: any("does nothing" in each.text for each in slack.messages(DIRECT)), what="the refusal")
    assert await bot.incidents() == {}


def _renamed(home: View) -> View:
    return replace(home, fields={**home.fields, "private_metadata": "x" * 64 + '{"channel":"C0ALERTS01"}'})
