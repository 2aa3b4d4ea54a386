"""Block Kit's rules for blocks: their fields, and where each block is allowed.

Defined in https://docs.slack.dev/reference/block-kit/blocks. Blocks this workspace cannot show (video, markdown,
plans, charts) are refused as unsupported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.demo.slack import elements
from bot.demo.slack.block_parts import interactive
from bot.demo.slack.composition import SLACK_FILE, any_text, plain_text
from bot.demo.slack.rich_text import RICH_TEXT
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
    string,
)


def _text_or_fields(value: Any, at: str) -> Iterable[Problem]:
    if "text" not in value and "fields" not in value:
        yield problem("missing required field: text", at)


def _url_or_file(value: Any, at: str) -> Iterable[Problem]:
    if ("image_url" in value) == ("slack_file" in value):
        yield problem("missing required field: image_url", at)


def _rows_are_alike(value: Any, at: str) -> Iterable[Problem]:
    """A data table's rows have as many cells each, and its first row is plain text."""
    if len({len(row) for row in value["rows"]}) > 1:
        yield problem("all rows must have the same number of cells", f"{at}/rows")
    if any(cell.get("type") == "rich_text" for cell in value["rows"][0]):
        yield problem("header cells must not be rich_text", f"{at}/rows/0")


def _block(required: Mapping[str, Rule] | None = None, optional: Mapping[str, Rule] | None = None) -> Rule:
    return shape({"type": anything, **(required or {})}, {"block_id": string(255), **(optional or {})})


SECTION = both(
    _block(
        None,
        {
            "text": any_text(3000),
            "fields": items(any_text(2000), 10),
            "accessory": elements.IN_SECTION,
            "expand": boolean,
        },
    ),
    _text_or_fields,
)
IMAGE = both(
    _block(
        {"alt_text": string(2000)},
        {"image_url": string(3000, 1), "slack_file": SLACK_FILE, "title": plain_text(2000)},
    ),
    _url_or_file,
)
INPUT = _block(
    {"label": plain_text(2000), "element": elements.IN_INPUT},
    {"hint": plain_text(2000), "optional": boolean, "dispatch_action": boolean},
)
CELL = by_type(
    {
        "raw_text": shape({"type": anything, "text": string(13_200, 1)}),
        "raw_number": shape({"type": anything, "value": anything}, {"text": string(255)}),
        "rich_text": RICH_TEXT,
    }
)
TABLE = _block(
    {"rows": items(items(CELL, 20), 100)},
    {"column_settings": items(shape({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean}), 20, 0)},
)

DATA_TABLE = both(
    _block(
        {"rows": items(items(CELL, 20), 101, 2), "caption": string(2000, 1)},
        {"page_size": integer(1, 100), "row_header_column_index": integer(0, 19)},
    ),
    _rows_are_alike,
)

EVERYWHERE: Mapping[str, Rule] = {
    "actions": _block({"elements": items(elements.IN_ACTIONS, 25)}),
    "context": _block({"elements": items(elements.IN_CONTEXT, 10)}),
    "divider": _block(),
    "header": _block({"text": plain_text(150)}),
    "image": IMAGE,
    "input": INPUT,
    "rich_text": RICH_TEXT,
    "section": SECTION,
}
# The documentation names more blocks for a container's inside than Slack is known to take: these are in both lists.
IN_CONTAINER = by_type(
    {name: EVERYWHERE[name] for name in ("actions", "context", "divider", "header", "image", "section")}
    | {"table": TABLE}
)
CONTAINER = _block(
    {"title": plain_text(150), "child_blocks": items(IN_CONTAINER, 10)},
    {
        "subtitle": any_text(150),
        "width": one_of("narrow", "standard", "wide", "full"),
        "is_collapsible": boolean,
        "default_collapsed": boolean,
        "has_header_divider": boolean,
    },
)
FILE = _block({"external_id": string(255, 1), "source": one_of("remote")})
IN_MESSAGE = by_type(
    {
        **EVERYWHERE,
        "container": CONTAINER,
        "table": TABLE,
        "data_table": DATA_TABLE,
        "context_actions": _block({"elements": items(elements.IN_CONTEXT_ACTIONS, 5)}),
        "file": FILE,
    }
)
IN_VIEW = by_type(EVERYWHERE)


def ids_are_unique(value: Any, at: str) -> Iterable[Problem]:
    """A `block_id` is unique in the message or view, an `action_id` in its block."""
    if not isinstance(value, Sequence):
        return
    seen = set()
    for index, block in enumerate(value):
        if (name := block.get("block_id")) and name in seen:
            yield problem(f'`block_id` "{name}" already exists', f"{at}/{index}/block_id")
        seen.add(name)
        taken = set()
        for where, element in interactive(block):
            if (action := element.get("action_id")) and action in taken:
                yield problem(f'`action_id` "{action}" already exists', f"{at}/{index}/{where}/action_id")
            taken.add(action)
