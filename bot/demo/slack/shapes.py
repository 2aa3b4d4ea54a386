"""Rules about JSON, put together from small ones, that complain in the words of Slack's own validator.

The words (`must be less than 3001 characters [json-pointer:/blocks/0/text/text]`) are those of the `errors` and
`response_metadata.messages` that the Web API returns with `invalid_blocks` and `invalid_arguments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Problem: TypeAlias = str
Rule: TypeAlias = Callable[[Any, str], Iterable[Problem]]
"""Looks at a value found at a JSON pointer and yields what is wrong with it; nothing means it is fine."""


def problem(says: str, at: str) -> Problem:
    """Return one complaint in Slack's form.

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
    """A whole number between two others, both included."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        if not isinstance(value, int) or isinstance(value, bool):
            yield problem("must provide an integer", at)
        elif value < least:
            yield problem(f"must be greater than {least - 1}", at)
        elif value > most:
            yield problem(f"must be less than {most + 1}", at)

    return rule


def one_of(*allowed: str) -> Rule:
    """One of a few words."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        if not isinstance(value, str):
            yield problem("must provide a string", at)
        elif value not in allowed:
            yield problem(f"must be a valid enum value: {', '.join(allowed)}", at)

    return rule


def items(of: Rule, most: int, least: int = 1) -> Rule:
    """An array whose every item keeps one rule."""

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
    """An object with these fields and no others."""
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
    """An object whose `type` says which rule it keeps."""

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
    """Say first that no schema matched, as Slack does for what may be of several kinds, then why."""

    def told(value: Any, at: str) -> Iterable[Problem]:
        if found := list(rule(value, at)):
            yield problem("failed to match all allowed schemas", at)
            yield from found

    return told


def both(*rules: Rule) -> Rule:
    """Keep every one of several rules; the later ones are only looked at where the earlier ones are kept."""

    def rule(value: Any, at: str) -> Iterable[Problem]:
        for each in rules:
            if found := list(each(value, at)):
                yield from found
                return

    return rule


def anything(value: Any, at: str) -> Iterable[Problem]:
    """Whatever it is."""
    return ()
