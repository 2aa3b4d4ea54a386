"""Typed text as Slack stores it: escaped, with mentions as control sequences.

Defined in https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import re

from bot.demo.slack.workspace import Workspace

_NAME = re.compile(r"(?<![\w.])([@#])([a-z0-9][a-z0-9._-]*)")
_EVERYBODY = ("channel", "here", "everyone")


def escape(text: str) -> str:
    """Return the text with Slack's three special characters escaped."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def as_typed(workspace: Workspace, text: str) -> str:
    """Return typed text as Slack stores it: `@bob` becomes a mention, a typed `<!channel>` stays plain text."""
    users = {user.name: f"<@{user.id}>" for user in workspace.users.values()}
    groups = {group.handle: f"<!subteam^{group.id}>" for group in workspace.groups.values()}
    people = {**users, **groups, **{word: f"<!{word}>" for word in _EVERYBODY}}
    places = {each.name: f"<#{each.id}|{each.name}>" for each in workspace.channels.values() if not each.is_direct}

    def replaced(found: re.Match[str]) -> str:
        known = people if found[1] == "@" else places
        name = found[2].rstrip(".-")
        return known[name] + found[2][len(name) :] if name in known else found[0]

    return _NAME.sub(replaced, escape(text))


def as_commanded(workspace: Workspace, text: str) -> str:
    """Return the text of an escaping slash command: `@bob` becomes `<@U…|bob>`.

    Defined in https://docs.slack.dev/interactivity/implementing-slash-commands
    """
    names = {user.id: user.name for user in workspace.users.values()}
    typed = as_typed(workspace, text)
    return re.sub(r"<@([UW][A-Z0-9]+)>", lambda found: f"<@{found[1]}|{names.get(found[1], '')}>", typed)
