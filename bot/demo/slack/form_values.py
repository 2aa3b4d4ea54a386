"""The values of form elements, as Slack sends them to the app, and the client's own validation.

Shapes: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.demo.slack.block_parts import Block
from bot.demo.slack.view import View

REQUIRED = "Please complete this required field."


def element_state(element: Mapping[str, Any], value: Any = None) -> Block:
    """Return an element's state with this value. An option is given by its value or by its text.

    Raises: LookupError when a menu has no such option.
    """
    kind = element["type"]
    if kind == "button":
        return {"type": kind} | {name: element[name] for name in ("text", "value", "style") if name in element}
    if kind == "plain_text_input":
        return {"type": kind, "value": value or None}
    return {"type": kind, "selected_option": _option(element, value)}


def _option(element: Mapping[str, Any], name: str) -> Block:
    options: list[Block] = element["options"]
    for option in options:
        if name in (option["value"], option["text"]["text"]):
            return option
    raise LookupError(f"no option {name!r}; there are {', '.join(option['value'] for option in options)}")


def fill(view: View, given: Mapping[str, Any]) -> tuple[dict[str, dict[str, Block]], dict[str, str]]:
    """Return a view's state with these values in its inputs, and the client's validation errors by block.

    `given` has values by action id, or by block id and then action id.
    """
    values = {block_id: dict(actions) for block_id, actions in view.values.items()}
    errors = {}
    for block in view.blocks:
        if block["type"] != "input":
            continue
        block_id, element = block["block_id"], block["element"]
        action_id = element["action_id"]
        known = values.get(block_id, {}).get(action_id)
        inner = given.get(block_id)
        value = inner.get(action_id) if isinstance(inner, Mapping) else given.get(action_id)
        state = known if value is None and known is not None else element_state(element, value)
        values.setdefault(block_id, {})[action_id] = state
        if says := _complaint(block, element, state):
            errors[block_id] = says
    return values, errors


def _complaint(block: Mapping[str, Any], element: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    if not state["value"]:
        return "" if block.get("optional") else REQUIRED
    length = len(str(state["value"]))
    if length < element.get("min_length", 0):
        return f"This field must be at least {element['min_length']} characters long."
    if length > element.get("max_length", 3000):
        return f"This field must be at most {element.get('max_length', 3000)} characters long."
    return ""
