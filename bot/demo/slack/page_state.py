"""The state that the page shows to a person: what they may see, and nothing else."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bot.demo.slack.composer import SlashCommand
from bot.demo.slack.guide import Guide
from bot.demo.slack.message import Message
from bot.demo.slack.people import BOT_USER, SLACKBOT, TEAM_NAME
from bot.demo.slack.view import View
from bot.demo.slack.workspace import Workspace

FILES = "/page/files"


def whole(workspace: Workspace, user: str, commands: tuple[SlashCommand, ...], guide: Guide | None) -> dict[str, Any]:
    """Return everything this person sees."""
    mine = [each for each in workspace.channels.values() if user in each.members]
    return {
        "team": TEAM_NAME,
        "me": user,
        "bot": BOT_USER,
        "slackbot": SLACKBOT,
        "commands": [asdict(each) for each in commands],
        "guide": guide.as_json() if guide is not None else None,
        "users": {
            each.id: {"id": each.id, "name": each.name, "real_name": each.real_name}
            | {"is_bot": each.is_bot, "is_guest": each.is_guest}
            for each in workspace.users.values()
        },
        "groups": {each.id: each.handle for each in workspace.groups.values()},
        "channels": [
            {
                "id": each.id,
                "name": each.name,
                "topic": each.topic,
                "members": list(each.members),
                "is_direct": each.is_direct,
                "is_private": each.is_private,
            }
            for each in mine
        ],
        "messages": {each.id: [shown(message) for message in workspace.messages(each.id, user)] for each in mine},
        "home": shown_view(workspace.homes.get(user)),
        "modals": [shown_view(each) for each in workspace.modals.get(user, [])],
    }


def shown(message: Message) -> dict[str, Any]:
    """Return a message's JSON for the page."""
    return {
        **message.as_slack(file_address=FILES),
        "channel": message.channel,
        "is_reply": message.is_reply,
        "is_broadcast": message.is_broadcast,
    }


def shown_view(view: View | None) -> dict[str, Any] | None:
    """Return a view's JSON for the page."""
    if view is None:
        return None
    return {**view.as_slack(), "errors": view.errors, "trouble": view.trouble, "values": view.values}
