"""The manifest asks for what the program calls and hears, and for nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from bot.demo.slack.access import DEFAULT_SCOPES, WANTED
from bot.demo.slack.composer import COMMANDS
from tests.slack.service import Readings, card_saying, reply_saying, serving
from tests.slack.workspace import workspace

ROOT = Path(__file__).parents[2]
MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "slack-manifest.yaml").read_text())
SCOPES: list[str] = MANIFEST["oauth_config"]["scopes"]["bot"]
CALLERS = sorted([*(ROOT / "bot" / "surfaces" / "slack").rglob("*.py"), ROOT / "bot" / "app" / "service.py"])

# Methods of Slack's client, by the name that Python calls them, and the bot's scope that each needs;
# https://docs.slack.dev/reference/methods
NEEDS: dict[str, str] = {
    "apps_connections_open": "",  # the app's own token, with connections:write
    "auth_test": "",
    "chat_postEphemeral": "chat:write",
    "chat_postMessage": "chat:write",
    "chat_update": "chat:write",
    "conversations_history": "channels:history",
    "conversations_replies": "channels:history",
    "files_completeUploadExternal": "files:write",
    "files_getUploadURLExternal": "files:write",
    "usergroups_users_list": "usergroups:read",
    "users_info": "users:read",
    "users_lookupByEmail": "users:read.email",
    "views_open": "",
    "views_publish": "",
}
# Scopes that a workspace may leave out: what they are for is told to be missing, and nothing is done on a guess.
OPTIONAL = {"users:read.email", "channels:history"}
# What is heard, and the scope without which Slack does not tell it.
HEARD = {"app_mention": "app_mentions:read", "app_home_opened": ""}
METHOD = re.compile(r"(?:admin|api|apps|auth|bots|chat|conversations|files|reactions|team|usergroups|users|views)_\w+")


def methods() -> set[str]:
    """Every method of Slack's Web API that the program calls, however its client is named."""
    return {name for name in _attributes() if METHOD.fullmatch(name)}


def _attributes() -> Iterator[str]:
    for path in CALLERS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield node.func.attr


def listened_to(decorator: str) -> set[str]:
    """What is bound by `@app.event("…")` or `@app.command("…")`."""
    source = (ROOT / "bot" / "surfaces" / "slack" / "listeners.py").read_text()
    return set(re.findall(rf'@app\.{decorator}\("([^"]+)"', source))


def test_every_method_that_is_called_is_in_the_table_and_no_other() -> None:
    assert methods() == NEEDS.keys()


def test_table_says_what_the_workspace_wants() -> None:
    for method, scope in NEEDS.items():
        wanted = WANTED[method.replace("_", ".", 2 if method.startswith(("apps", "usergroups")) else 1)]
        assert scope in wanted if scope else wanted in ((), ("connections:write",)), method


def test_scopes_are_those_that_the_calls_and_events_need_and_no_other() -> None:
    assert set(SCOPES) == {*NEEDS.values(), *HEARD.values(), "commands"} - {"", *OPTIONAL}
    assert all(scope in (ROOT / "docs" / "slack-manifest.yaml").read_text() for scope in OPTIONAL)
    assert sorted(SCOPES) == SCOPES
    assert set(SCOPES) <= DEFAULT_SCOPES, "the simulated workspace grants no less"


def test_events_and_commands_are_those_that_are_listened_to() -> None:
    assert set(MANIFEST["settings"]["event_subscriptions"]["bot_events"]) == HEARD.keys() == listened_to("event")
    commands = MANIFEST["features"]["slash_commands"]
    assert {each["command"] for each in commands} == listened_to("command")
    assert [(each["command"], each["usage_hint"]) for each in commands] == [
        (each.name, each.usage_hint) for each in COMMANDS
    ]


def test_what_is_easily_forgotten_is_on() -> None:
    assert MANIFEST["settings"]["interactivity"] == {"is_enabled": True}
    assert MANIFEST["settings"]["socket_mode_enabled"] is True
    assert MANIFEST["settings"]["org_deploy_enabled"] is False
    home = MANIFEST["features"]["app_home"]
    assert (home["home_tab_enabled"], home["messages_tab_read_only_enabled"]) == (True, False)


async def test_bot_does_all_it_does_with_these_scopes(tmp_path: Path) -> None:
    async with (
        workspace(scopes=SCOPES) as slack,
        serving(slack, tmp_path, Readings()),
    ):
        await slack.say("alice", "oncall-gpu", "/zombie check node-1")
        await slack.say("alice", "oncall-gpu", "@zombie check node-2")
        await slack.say("alice", "oncall-gpu", "@zombie help")
        for words in ("node-1: CRITICAL", "node-2: CRITICAL"):
            card = await card_saying(slack, words)
            await slack.until(lambda: slack.thread(card)[1:], what="the details")  # noqa: B023
        await reply_saying(slack, "What I can do")
        await slack.open_home("alice")
        await slack.until(lambda: slack.home("alice"), what="the home")
        assert {each.error for each in slack.asked()} == {""}
