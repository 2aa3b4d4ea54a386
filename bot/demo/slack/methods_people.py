"""The Web API's `auth.*`, `apps.*`, `users.*` and `usergroups.*`.

Methods, arguments and errors: https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.demo.slack.call import Call, Handler
from bot.demo.slack.people import BOT, BOT_ID, BOT_USER, TEAM_ID, TEAM_NAME
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


def users_info(call: Call) -> dict[str, Any]:
    """Describe a member."""
    user = call.workspace.users.get(call.arguments.text("user"))
    if user is None:
        raise SlackRefused("user_not_found")
    return {"user": user.as_slack(with_email="users:read.email" in call.access.scopes)}


def users_lookup_by_email(call: Call) -> dict[str, Any]:
    """Describe the member with an e-mail address."""
    email = call.arguments.text("email").lower()
    found = next((user for user in call.workspace.users.values() if user.email == email and not user.is_deleted), None)
    if found is None or not email:
        raise SlackRefused("users_not_found")
    return {"user": found.as_slack(with_email=True)}


def usergroups_users_list(call: Call) -> dict[str, Any]:
    """List the members of a user group."""
    group = call.workspace.groups.get(call.arguments.text("usergroup"))
    if group is None:
        raise SlackRefused("no_such_subteam")
    return {"users": list(group.members)}


HANDLERS: Mapping[str, Handler] = {
    "auth.test": auth_test,
    "apps.connections.open": connections_open,
    "users.info": users_info,
    "users.lookupByEmail": users_lookup_by_email,
    "usergroups.users.list": usergroups_users_list,
}
