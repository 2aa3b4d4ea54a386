"""Validation rules for JSON, composed from small ones, with the messages of Slack's own validator.

The messages (`must be less than 3001 characters [json-pointer:/blocks/0/text/text]`) are those of the `errors` and
`response_metadata.messages` that the Web API returns with `invalid_blocks` and `invalid_arguments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Problem: TypeAlias = str
Rule: TypeAlias = Callable[[Any, str], Iterable[Problem]]
"""Checks a value at a JSON pointer and yields its problems, none if it is valid."""


def problem(says: str, at: str) -> Problem:
    """Return a problem in Slack's format.

    Example: `problem("must provide a string", "/blocks/0") == "must provide a string [json-pointer:/blocks/0]"`
    """
    return f"{says} [json-pointer:{at}]"


def string(most: int, least: int = 0) -> Rule:
    """A string of `least` to `most` characters."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        if not isinstance(value, str):
            yield problem("must provide a string", at)
        elif len(value) > most:
            yield problem(f"must be less than {most + 1} characters", at)
        elif len(value) < least:
            yield problem(f"must be more than {least - 1} characters", at)

    return rule


def boolean(value: Any, at: str) -> Iterable[Problem]:
    """True or false."""
    if not isinstance(value, bool):
        yield problem("must provide a boolean", at)


def integer(least: int, most: int) -> Rule:
    """A whole number from `least` to `most`."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield problem("must provide an integer", at)
        elif value < least:
            yield problem(f"must be greater than {least - 1}", at)
        elif value > most:
            yield problem(f"must be less than {most + 1}", at)

    return rule


def one_of(*allowed: str) -> Rule:
    """Any of these words."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        if not isinstance(value, str):
            yield problem("must provide a string", at)
        elif value not in allowed:
            yield problem(f"must be a valid enum value: {', '.join(allowed)}", at)

    return rule


def items(of: Rule, most: int, least: int = 1) -> Rule:
    """An array of `least` to `most` items, each valid by a rule."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        if not isinstance(value, Sequence) or isinstance(value, str):
            yield problem("must provide an array", at)
            return
        if len(value) > most:
            yield problem(f"no more than {most} items allowed", at)
        if len(value) < least:
            yield problem(f"must provide at least {least} items", at)
        for index, item in enumerate(value):
            yield from of(item, f"{at}/{index}")

    return rule


def shape(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object with exactly these required and optional fields."""
    known = {**required, **(optional or {})}

    def rule(value: Any, at: str) -> Iterable[Problem]:
        if not isinstance(value, Mapping):
            yield problem("must provide an object", at)
            return
        for name in required:
            if name not in value:
                yield problem(f"missing required field: {name}", at)
        for name, part in value.items():
            if name not in known:
                yield problem(f"invalid additional property: {name}", at)
            else:
                yield from known[name](part, f"{at}/{name}")

    return rule


def by_type(kinds: Mapping[str, Rule]) -> Rule:
    """An object whose `type` selects its rule."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        if not isinstance(value, Mapping):
            yield problem("must provide an object", at)
        elif "type" not in value:
            yield problem("missing required field: type", at)
        elif not isinstance(value["type"], str) or value["type"] not in kinds:
            yield problem(f"unsupported type: {value['type']}", f"{at}/type")
        else:
            yield from kinds[value["type"]](value, at)

    return rule


def matching(rule: Rule) -> Rule:
    """Report that no schema matched, as Slack does for values of several kinds, and then the problems."""

    def matched(value: Any, at: str) -> Iterable[Problem]:
        if found := list(rule(value, at)):
            yield problem("failed to match all allowed schemas", at)
            yield from found

    return matched


def both(*rules: Rule) -> Rule:
    """Several rules in order; the first that finds problems ends the check."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        for each in rules:
            if found := list(each(value, at)):
                yield from found
                return

    return rule


def anything(value: Any, at: str) -> Iterable[Problem]:
    """Any value."""
    return ()
