"""The Web API's `auth.*`, `apps.*`, `users.*`, `usergroups.*` and `conversations.*`.

Methods, arguments and errors: https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.demo.slack.call import Call, Handler
from bot.demo.slack.people import BOT, BOT_ID, BOT_USER, TEAM_ID, TEAM_NAME, User
from bot.demo.slack.refusal import SlackRefused


def auth_test(call: Call) -> dict[str, Any]:
    """Return who the token belongs to."""
    return {
        "url": f"{call.origin}/",  # where the page is; Slack itself says https://DOMAIN.slack.com/
        "team": TEAM_NAME,
        "user": BOT.name,
        "team_id": TEAM_ID,
        "user_id": BOT_USER,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def connections_open(call: Call) -> dict[str, Any]:
    """Return an address for a Socket Mode connection."""
    return {"url": call.connect()}


def _user(call: Call, user_id: str) -> User:
    found = call.workspace.users.get(user_id)
    if found is None:
        raise SlackRefused("user_not_found")
    return found


def users_info(call: Call) -> dict[str, Any]:
    """Describe a member."""
    user = _user(call, call.arguments.text("user"))
    return {"user": user.as_slack(with_email="users:read.email" in call.access.scopes)}


def users_lookup_by_email(call: Call) -> dict[str, Any]:
    """Describe the member with an e-mail address."""
    email = call.arguments.text("email").lower()
    found = next((user for user in call.workspace.users.values() if user.email == email and not user.is_deleted), None)
    if found is None or not email:
        raise SlackRefused("users_not_found")
    return {"user": found.as_slack(with_email=True)}


def usergroups_list(call: Call) -> dict[str, Any]:
    """List the user groups."""
    with_users = call.arguments.switch("include_users")
    return {
        "usergroups": [
            {**group.as_slack(), **({"users": list(group.members)} if with_users else {})}
            for group in call.workspace.groups.values()
        ]
    }


def usergroups_users_list(call: Call) -> dict[str, Any]:
    """List the members of a user group."""
    group = call.workspace.groups.get(call.arguments.text("usergroup"))
    if group is None:
        raise SlackRefused("no_such_subteam")
    return {"users": list(group.members)}


def conversations_info(call: Call) -> dict[str, Any]:
    """Describe a conversation; a public channel even if the bot is not a member."""
    channel = call.workspace.channels.get(call.arguments.text("channel"))
    if channel is None or (channel.is_private and BOT_USER not in channel.members):
        raise SlackRefused("channel_not_found")
    needed = "im:read" if channel.is_direct else "groups:read" if channel.is_private else "channels:read"
    if needed not in call.access.scopes:
        raise SlackRefused("missing_scope", needed=needed, provided=",".join(sorted(call.access.scopes)))
    return {"channel": channel.as_slack()}


def conversations_open(call: Call) -> dict[str, Any]:
    """Open the direct message with a person."""
    wanted = [each for each in call.arguments.text("users", "").split(",") if each]
    if not wanted:
        raise SlackRefused("users_list_not_supplied")
    if len(wanted) > 1:
        raise SlackRefused("missing_scope", needed="mpim:write", provided=",".join(sorted(call.access.scopes)))
    person = _user(call, wanted[0])
    if person.is_deleted:
        raise SlackRefused("user_disabled")
    return {"channel": {"id": call.workspace.direct(person.id).id}}


HANDLERS: Mapping[str, Handler] = {
    "auth.test": auth_test,
    "apps.connections.open": connections_open,
    "users.info": users_info,
    "users.lookupByEmail": users_lookup_by_email,
    "usergroups.list": usergroups_list,
    "usergroups.users.list": usergroups_users_list,
    "conversations.info": conversations_info,
    "conversations.open": conversations_open,
}
