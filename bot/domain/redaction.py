"""Secrets taken out of text before it is kept: keys, tokens and passwords become marks that name what they were.

What is recognised has a form of its own (an AWS key, a Slack token, a private key block) or stands after a name that
says what it is (`password = …`, `--token …`, a mapping's `secret`). Digests, ids, unit names and figures stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bot.domain.secret_forms import (
    FORMS,
    KEY_BEGINS,
    KEY_ENDS,
    KEY_MARK,
    SECRET_NAME,
    SECRET_NAMED,
    SECRET_NEXT,
    VALUE,
)

MARK = "[redacted]"
_HINTS = tuple((hint, number) for number, form in enumerate(FORMS) for hint in form.hints)


def redacted_text(text: str) -> str:
    """Return one text without its secrets; applying it twice changes nothing.

    Example:
    >>> redacted_text("mysql --password hunter2 -h db")
    'mysql --password [redacted] -h db'
    """
    return _forms(_without_key(text, inside=False)[0])


def redacted(value: Any) -> Any:
    """Return a JSON value with every text in it redacted.

    A list of texts is read as the lines of one text, because a private key's lines arrive as such.

    Example:
    >>> redacted({"lines": ["user=ann", "db_password: x"], "token": "abc"})
    {'lines': ['user=ann', 'db_password: [redacted]'], 'token': '[redacted]'}
    """
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, Mapping):
        told = next((value[key] for key in ("name", "key") if isinstance(value.get(key), str)), "")
        hidden = {"value"} if SECRET_NAME.match(told) else set()  # as Kubernetes lists a container's environment
        return {redacted_text(name): _named(name, item, name in hidden) for name, item in value.items()}
    if isinstance(value, Sequence):
        return _listed(value)
    return value


def _named(name: str, value: Any, is_secret: bool) -> Any:
    if is_secret or SECRET_NAME.match(name):
        if isinstance(value, str) and value:
            return MARK
        if isinstance(value, Sequence):
            return [MARK if isinstance(item, str) and item else redacted(item) for item in value]
    return redacted(value)


def _listed(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    inside = is_next = is_value = False
    for value in values:
        if isinstance(value, str):
            rest, inside = _without_key(value, inside)
            before, rest = rest, VALUE.sub(rf"\1{MARK}", rest) if is_value else rest
            found.append(MARK if is_next and rest else _forms(rest))
            is_next = SECRET_NEXT.search(before[-200:]) is not None
            is_value = SECRET_NAMED.search(before[-200:]) is not None
        else:
            found.append(redacted(value))
    return found


def _forms(text: str) -> str:
    lower = text.lower()
    likely = {number for hint, number in _HINTS if hint in lower}  # none of most texts: this is all that they cost
    for number in sorted(likely):
        text = FORMS[number].pattern.sub(FORMS[number].mark, text)
    return text


def _without_key(text: str, inside: bool) -> tuple[str, bool]:
    """Return the text without private key blocks, and whether one is still open at its end."""
    kept: list[str] = []
    while True:
        edge = (KEY_ENDS if inside else KEY_BEGINS).search(text)
        if inside:
            kept.append(KEY_MARK)
        if edge is None:
            return "".join(kept) if inside else "".join([*kept, text]), inside
        if not inside:
            kept.append(text[: edge.start()])
        text, inside = text[edge.end() :], not inside
