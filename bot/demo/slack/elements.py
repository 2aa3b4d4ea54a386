"""Block Kit's rules for elements: buttons, menus, inputs, images.

Defined in https://docs.slack.dev/reference/block-kit/block-elements. Elements that need uploads by people or other
apps' workflows are refused as unsupported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bot.demo.slack.composition import (
    CONFIRM,
    OPTION,
    OPTION_GROUP,
    OVERFLOW_OPTION,
    SELECT_OPTIONS,
    SLACK_FILE,
    TICK_OPTION,
    any_text,
    plain_text,
)
from bot.demo.slack.shapes import (
    Problem,
    Rule,
    anything,
    boolean,
    both,
    by_type,
    integer,
    items,
    one_of,
    problem,
    shape,
)
from bot.demo.slack.shapes import string as characters

ID = characters(255, 1)
PLACEHOLDER = plain_text(150)
FOCUS: Mapping[str, Rule] = {"focus_on_load": boolean}


def _exactly_one(*names: str) -> Rule:
    def rule(value: Any, at: str) -> Iterable[Problem]:
        if sum(name in value for name in names) != 1:
            yield problem(f"missing required field: {names[0]}", at)

    return rule


def _element(required: Mapping[str, Rule] | None = None, optional: Mapping[str, Rule] | None = None) -> Rule:
    return shape({"type": anything, **(required or {})}, {"action_id": ID, **(optional or {})})


BUTTON = _element(
    {"text": plain_text(75)},
    {
        "url": characters(3000),
        "value": characters(2000),
        "style": one_of("primary", "danger"),
        "confirm": CONFIRM,
        "accessibility_label": characters(75),
    },
)

_OPTIONS: Mapping[str, Rule] = {
    "options": items(OPTION, SELECT_OPTIONS),
    "option_groups": items(OPTION_GROUP, SELECT_OPTIONS),
}
_MENU: Mapping[str, Rule] = {"placeholder": PLACEHOLDER, "confirm": CONFIRM, **FOCUS}
_SEVERAL: Mapping[str, Rule] = {"max_selected_items": integer(1, 100)}

STATIC_SELECT = both(
    _element(None, {**_MENU, **_OPTIONS, "initial_option": OPTION}), _exactly_one("options", "option_groups")
)
MULTI_STATIC_SELECT = both(
    _element(None, {**_MENU, **_OPTIONS, **_SEVERAL, "initial_options": items(OPTION, SELECT_OPTIONS)}),
    _exactly_one("options", "option_groups"),
)
EXTERNAL_SELECT = _element(None, {**_MENU, "initial_option": OPTION, "min_query_length": integer(0, 255)})
USERS_SELECT = _element(None, {**_MENU, "initial_user": ID})
MULTI_USERS_SELECT = _element(None, {**_MENU, **_SEVERAL, "initial_users": items(ID, 100)})
CHANNELS_SELECT = _element(None, {**_MENU, "initial_channel": ID, "response_url_enabled": boolean})
OVERFLOW = _element({"options": items(OVERFLOW_OPTION, 5)}, {"confirm": CONFIRM})
CHECKBOXES = _element(
    {"options": items(TICK_OPTION, 10)}, {"initial_options": items(TICK_OPTION, 10), "confirm": CONFIRM, **FOCUS}
)
RADIO_BUTTONS = _element(
    {"options": items(TICK_OPTION, 10)}, {"initial_option": TICK_OPTION, "confirm": CONFIRM, **FOCUS}
)
DATEPICKER = _element(
    None, {"initial_date": characters(10, 10), "confirm": CONFIRM, "placeholder": PLACEHOLDER, **FOCUS}
)
IMAGE = both(
    shape(
        {"type": anything, "alt_text": characters(2000)}, {"image_url": characters(3000, 1), "slack_file": SLACK_FILE}
    ),
    _exactly_one("image_url", "slack_file"),
)

_DISPATCH: Mapping[str, Rule] = {
    "dispatch_action_config": shape(
        {}, {"trigger_actions_on": items(one_of("on_enter_pressed", "on_character_entered"), 2)}
    )
}
PLAIN_TEXT_INPUT = _element(
    None,
    {
        "placeholder": PLACEHOLDER,
        "initial_value": characters(3000),
        "multiline": boolean,
        "min_length": integer(0, 3000),
        "max_length": integer(1, 3000),
        **_DISPATCH,
        **FOCUS,
    },
)
NUMBER_INPUT = _element(
    {"is_decimal_allowed": boolean},
    {
        "placeholder": PLACEHOLDER,
        "initial_value": characters(255),
        "min_value": characters(255),
        "max_value": characters(255),
        **_DISPATCH,
        **FOCUS,
    },
)

_CLICKED: Mapping[str, Rule] = {
    "button": BUTTON,
    "static_select": STATIC_SELECT,
    "multi_static_select": MULTI_STATIC_SELECT,
    "external_select": EXTERNAL_SELECT,
    "users_select": USERS_SELECT,
    "multi_users_select": MULTI_USERS_SELECT,
    "channels_select": CHANNELS_SELECT,
    "conversations_select": CHANNELS_SELECT,
    "overflow": OVERFLOW,
    "checkboxes": CHECKBOXES,
    "radio_buttons": RADIO_BUTTONS,
    "datepicker": DATEPICKER,
}
_TYPED: Mapping[str, Rule] = {"plain_text_input": PLAIN_TEXT_INPUT, "number_input": NUMBER_INPUT}

_FEEDBACK = shape({"text": plain_text(75), "value": characters(2000)}, {"accessibility_label": characters(75)})
FEEDBACK_BUTTONS = _element({"positive_button": _FEEDBACK, "negative_button": _FEEDBACK})
ICON_BUTTON = _element(
    {"icon": one_of("trash"), "text": plain_text(75)},
    {"value": characters(2000), "confirm": CONFIRM, "accessibility_label": characters(75)},
)

IN_ACTIONS = by_type(_CLICKED)
IN_CONTEXT_ACTIONS = by_type({"feedback_buttons": FEEDBACK_BUTTONS, "icon_button": ICON_BUTTON})
IN_SECTION = by_type({**_CLICKED, "image": IMAGE})
IN_INPUT = by_type({name: rule for name, rule in {**_CLICKED, **_TYPED}.items() if name not in ("button", "overflow")})
IN_CONTEXT = by_type(
    {"image": IMAGE, "plain_text": any_text(), "mrkdwn": any_text()},
)
