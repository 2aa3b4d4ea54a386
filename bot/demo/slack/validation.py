"""Slack's validation of messages and views: a JSON Schema of Block Kit (`block_kit.schema.json`), and what none says.

Limits and error strings: https://docs.slack.dev/reference/methods/chat.postMessage, …/chat.update and …/views.open.
Two limits are not documented but known from measurements: a text of more than 4,000 characters is refused, and so are
blocks whose JSON is longer than about 13,200 characters. Whatever of Block Kit the bot has no use for is refused as
unsupported. A demo without jsonschema, which an installed program does not bring, takes
whatever has the form of blocks.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.demo.slack.block_parts import interactive
from bot.demo.slack.refusal import SlackRefused, problem

SCHEMA = Path(__file__).with_name("block_kit.schema.json")
TEXT_CHARACTERS = 4000
BLOCKS_CHARACTERS = 13_200
VIEW_BYTES = 250_000
_A = {"array": "an array", "boolean": "a boolean", "integer": "an integer", "object": "an object", "string": "a string"}
_WORDS: Mapping[str, Callable[[Any], str]] = {
    "additionalProperties": lambda error: f"invalid additional property: {_unknown(error)}",
    "required": lambda error: f"missing required field: {error.message.split(chr(39))[1]}",
    "enum": lambda error: f"must be a valid enum value: {', '.join(error.validator_value)}",
    "type": lambda error: f"must provide {_A[error.validator_value]}",
    "maxItems": lambda error: f"no more than {error.validator_value} items allowed",
    "minItems": lambda error: f"must provide at least {error.validator_value} items",
    "maxLength": lambda error: f"must be less than {error.validator_value + 1} characters",
    "minLength": lambda error: f"must be more than {error.validator_value - 1} characters",
    "maximum": lambda error: f"must be less than {error.validator_value + 1}",
    "minimum": lambda error: f"must be greater than {error.validator_value - 1}",
}


def _unknown(error: Any) -> str:
    return ", ".join(sorted(error.instance.keys() - error.schema["properties"].keys()))


@functools.lru_cache(maxsize=1)
def _validator() -> Any:
    """The schema with its own three keywords, None where there is no jsonschema."""
    try:
        from jsonschema import Draft202012Validator, ValidationError, validators
    except ImportError:
        return None

    def kinds(validator: Any, schemas: Mapping[str, Any], value: Any, _: Any) -> Iterator[Any]:
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind in schemas:
            yield from validator.descend(value, schemas[kind])
        elif isinstance(value, dict) and "type" in value:
            yield ValidationError(f"unsupported type: {kind}", path=["type"])

    def matching(validator: Any, schema: Any, value: Any, _: Any) -> Iterator[Any]:
        if found := list(validator.descend(value, schema)):
            yield ValidationError("failed to match all allowed schemas")
            yield from found

    def alike(validator: Any, wanted: bool, value: Any, _: Any) -> Iterator[Any]:
        if len({len(row) for row in value if isinstance(value, list) and isinstance(row, list)}) > 1:
            yield ValidationError("all rows must have the same number of cells")

    extend: Any = validators.extend
    known = extend(Draft202012Validator, {"kinds": kinds, "matching": matching, "alike": alike})
    return known(json.loads(SCHEMA.read_text()))


def problems(kind: str, value: Any, at: str = "") -> list[str]:
    """Return what is wrong with a value by a definition of the schema, in Slack's words; `at` is where it stands."""
    validator: Any = _validator()
    found = () if validator is None else validator.evolve(schema={"$ref": f"#/$defs/{kind}"}).iter_errors(value)
    worded = (
        (_WORDS[error.validator](error) if error.validator in _WORDS else error.message, error) for error in found
    )
    return [problem(says, "/".join((at, *map(str, error.path)))) for says, error in worded]


def check_message(text: str, blocks: Any, *, in_all: int | None = BLOCKS_CHARACTERS) -> None:
    """Validate a message's content; `in_all` is the limit for all of its blocks together, None for no limit.

    Raises: SlackRefused with `no_text`, `msg_too_long`, `invalid_blocks`, `invalid_blocks_format`,
    `msg_blocks_too_long` or `invalid_attachments`, as Slack calls two tables.
    """
    if not text.strip() and not blocks:
        raise SlackRefused("no_text")
    if len(text) > TEXT_CHARACTERS:
        raise SlackRefused("msg_too_long")
    if blocks:
        _check_blocks(blocks)
        if in_all is not None and characters_in(blocks) > in_all:
            raise SlackRefused("msg_blocks_too_long")


def _check_blocks(blocks: Any) -> None:
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackRefused("invalid_blocks_format")
    if found := problems("message", blocks, "/blocks") or list(_repeated_ids(blocks, "/blocks")):
        raise SlackRefused.listing("invalid_blocks", found)
    if sum(block["type"] == "table" for block in blocks) > 1:
        raise SlackRefused.listing("invalid_attachments", ["only_one_table_allowed"])


def _repeated_ids(blocks: Sequence[Mapping[str, Any]], at: str) -> Iterator[str]:
    """The ids that come twice: a `block_id` is unique in the message or view, an `action_id` in its block."""
    yield from _repeats_among([(f"{at}/{index}/block_id", block) for index, block in enumerate(blocks)])
    for index, block in enumerate(blocks):
        yield from _repeats_among(
            [(f"{at}/{index}/{where}/action_id", element) for where, element in interactive(block)]
        )


def _repeats_among(things: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    seen = set()
    for at, thing in things:
        key = at.rpartition("/")[2]
        if (name := thing.get(key)) and name in seen:
            yield problem(f'`{key}` "{name}" already exists', at)
        seen.add(name)


def check_view(view: Any, kind: str) -> None:
    """Validate a modal or an App Home (`kind` is `modal` or `home`).

    Raises: SlackRefused with `invalid_arguments` or `view_too_large`.
    """
    found = problems(kind, view, "/view") or list(_repeated_ids(view["blocks"], "/view/blocks"))
    if not found and kind == "modal" and "submit" not in view and any(b["type"] == "input" for b in view["blocks"]):
        found = [problem("missing required field: submit", "/view")]
    if found:
        raise SlackRefused.arguments(*found)
    if len(json.dumps(view).encode()) > VIEW_BYTES:
        raise SlackRefused("view_too_large")


def characters_in(blocks: Any) -> int:
    """Return the size of blocks, as it counts towards Slack's limit for a message."""
    return len(json.dumps(blocks, ensure_ascii=False, separators=(",", ":")))
