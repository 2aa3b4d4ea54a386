"""Block Kit's rules for composition objects: texts, options, confirmation dialogs.

Defined in https://docs.slack.dev/reference/block-kit/composition-objects
"""

from __future__ import annotations

from bot.demo.slack.shapes import (
    Rule,
    anything,
    boolean,
    by_type,
    items,
    matching,
    one_of,
    shape,
    string,
)

SECTION_TEXT = 3000
SELECT_OPTIONS = 100


def plain_text(most: int) -> Rule:
    """A `plain_text` object of 1 to `most` characters."""
    return matching(
        by_type({"plain_text": shape({"type": anything, "text": string(most, 1)}, {"emoji": boolean})}),
    )


def any_text(most: int = SECTION_TEXT) -> Rule:
    """A `plain_text` or `mrkdwn` object of 1 to `most` characters."""
    return matching(
        by_type(
            {
                "plain_text": shape({"type": anything, "text": string(most, 1)}, {"emoji": boolean}),
                "mrkdwn": shape({"type": anything, "text": string(most, 1)}, {"verbatim": boolean}),
            }
        )
    )


CONFIRM = shape(
    {"title": plain_text(100), "text": any_text(300), "confirm": plain_text(30), "deny": plain_text(30)},
    {"style": one_of("primary", "danger")},
)

OPTION = shape({"text": plain_text(75), "value": string(150, 1)}, {"description": plain_text(75)})
OVERFLOW_OPTION = shape(
    {"text": plain_text(75), "value": string(150, 1)}, {"description": plain_text(75), "url": string(3000)}
)
TICK_OPTION = shape({"text": any_text(75), "value": string(150, 1)}, {"description": any_text(75)})
OPTION_GROUP = shape({"label": plain_text(75), "options": items(OPTION, SELECT_OPTIONS)})

SLACK_FILE = shape({}, {"id": string(255, 1), "url": string(3000, 1)})
