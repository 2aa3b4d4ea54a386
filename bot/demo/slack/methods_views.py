"""The Web API's `views.*`: opening a modal, publishing the App Home.

Methods, arguments and errors: https://docs.slack.dev/reference/methods?family=views
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.demo.slack.block_parts import as_stored_by_slack
from bot.demo.slack.call import Call, Handler
from bot.demo.slack.refusal import SlackRefused
from bot.demo.slack.validation import check_view
from bot.demo.slack.view import PARTS, WORDS, View
from bot.demo.slack.workspace import Workspace


def make_view(workspace: Workspace, given: Mapping[str, Any], user: str) -> View:
    """Return a person's new view from valid JSON of the app."""
    names = workspace.names
    return View(
        id=names.id("V"),
        user=user,
        kind=given["type"],
        hash=names.secret(8),
        blocks=as_stored_by_slack(given["blocks"], names.short),
        fields=_fields(given),
    )


def changed_view(workspace: Workspace, view: View, given: Mapping[str, Any]) -> View:
    """Return the view's next version. Values stay if block and element keep their ids."""
    blocks = as_stored_by_slack(given["blocks"], workspace.names.short)
    kept = {block["block_id"] for block in blocks}
    values = {block_id: value for block_id, value in view.values.items() if block_id in kept}
    return replace(
        view, hash=workspace.names.secret(8), blocks=blocks, fields=_fields(given), values=values, errors={}, trouble=""
    )


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in (*PARTS, *WORDS) if name in given}


def _view_argument(call: Call, kind: str) -> dict[str, Any]:
    given = call.arguments.structure("view", "invalid_arguments")
    if given is None:
        raise SlackRefused.arguments("missing required field: view")
    check_view(given, kind)
    found: dict[str, Any] = given
    return found


def views_open(call: Call) -> dict[str, Any]:
    """Open a modal for the person whose action caused the trigger."""
    trigger = call.arguments.text("trigger_id")
    given = _view_argument(call, "modal")
    view = make_view(call.workspace, given, call.triggers.use(trigger))
    call.workspace.set_modals(view.user, [view])
    return {"view": view.as_slack()}


def views_publish(call: Call) -> dict[str, Any]:
    """Replace a person's App Home."""
    user = call.arguments.text("user_id")
    if user not in call.workspace.users:
        raise SlackRefused.arguments("invalid `user_id`")
    given = _view_argument(call, "home")
    former = call.workspace.homes.get(user)
    view = changed_view(call.workspace, former, given) if former else make_view(call.workspace, given, user)
    return {"view": call.workspace.publish(view).as_slack()}


HANDLERS: Mapping[str, Handler] = {
    "views.open": views_open,
    "views.publish": views_publish,
}
