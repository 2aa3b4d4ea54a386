"""What a person types, as Slack keeps it: escaped, with mentions as control sequences; and who a text would notify.

Defined in https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bot.demo.slack.message import Message
from bot.demo.slack.workspace import Workspace

_NAME = re.compile(r"(?<![\w.])([@#])([a-z0-9][a-z0-9._-]*)")
_EVERYBODY = ("channel", "here", "everyone")
_MENTION = re.compile(r"<(@[UW][A-Z0-9]+|!subteam\^S[A-Z0-9]+|!(?:channel|here|everyone))(?:\|[^>]*)?>")


def escape(text: str) -> str:
    """Return the text with the three characters escaped that mean something to Slack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def as_typed(workspace: Workspace, text: str) -> str:
    """Return a person's text as Slack keeps it: `@bob` becomes a mention, `<!channel>` stays harmless words."""
    users = {user.name: f"<@{user.id}>" for user in workspace.users.values()}
    groups = {group.handle: f"<!subteam^{group.id}>" for group in workspace.groups.values()}
    people = {**users, **groups, **{word: f"<!{word}>" for word in _EVERYBODY}}
    places = {each.name: f"<#{each.id}|{each.name}>" for each in workspace.channels.values() if not each.is_direct}

    def told(found: re.Match[str]) -> str:
        known = people if found[1] == "@" else places
        name = found[2].rstrip(".-")
        return known[name] + found[2][len(name) :] if name in known else found[0]

    return _NAME.sub(told, escape(text))


def as_commanded(workspace: Workspace, text: str) -> str:
    """Return what follows a slash command that escapes: `@bob` becomes `<@U…|bob>`.

    Defined in https://docs.slack.dev/interactivity/implementing-slash-commands
    """
    names = {user.id: user.name for user in workspace.users.values()}
    typed = as_typed(workspace, text)
    return re.sub(r"<@([UW][A-Z0-9]+)>", lambda found: f"<@{found[1]}|{names.get(found[1], '')}>", typed)


def mentions(message: Message) -> list[str]:
    """Return whom a message notifies: members' and groups' ids, and `channel`, `here`, `everyone`.

    Slack acts on control sequences in the text, in mrkdwn and in rich text; in plain text they are mere words.
    """
    found = _mentions_in(message.text)
    for block in message.all_blocks:
        found += _mentions_of(block)
    for attachment in message.attachments:
        found += _mentions_in(str(attachment.get("text", "")))
    return found


def _mentions_in(text: str) -> list[str]:
    return [found.removeprefix("@").removeprefix("!subteam^").removeprefix("!") for found in _MENTION.findall(text)]


def _mentions_of(part: Any) -> Iterator[str]:
    if isinstance(part, Mapping):
        kind = part.get("type")
        if kind == "mrkdwn":
            yield from _mentions_in(str(part.get("text", "")))
        elif kind == "user":
            yield part["user_id"]
        elif kind == "usergroup":
            yield part["usergroup_id"]
        elif kind == "broadcast":
            yield part["range"]
        for inner in part.values():
            yield from _mentions_of(inner)
    elif isinstance(part, (list, tuple)):
        for inner in part:
            yield from _mentions_of(inner)
