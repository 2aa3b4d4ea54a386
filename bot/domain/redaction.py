"""Secrets taken out of text before it is kept: keys, tokens and passwords become marks that name what they were.

What is recognised has a form of its own (an AWS key, a Slack token, a private key block) or stands after a name that
says what it is (`password = …`, `--token …`, a mapping's `secret`). Digests, ids, unit names and figures stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# After pwd a path is a folder, not a password: sudo's log says PWD=/root.
_NAMED = (
    r"(?:passw(?:or)?d|passphrase|pwd(?!\W{1,8}/)|secret|token|credentials?"
    r"|api[_-]?key|access[_-]?key|private[_-]?key)"
)
_SUFFIX = r"(?:s|\d{1,3}|[_.-][\w.-]{0,40})?"  # passwords, token2, secret_key; but not PasswordAuthentication
_QUOTE = r"""\\{0,3}["']?"""  # JSON within JSON has its quotes escaped
_VALUE = (
    r"""(?:\\{1,3}"[^"\\\n]*\\{1,3}"|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
    r"""|(?!\[redacted[\]:])(?:[^\s"',;&\\]|\\(?!["']))+)"""
)
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_KEY_MARK = "[redacted: private key]"

_FORMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b"), "[redacted: AWS key]"),
    (re.compile(r"\b(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{6,}"), "[redacted: Slack token]"),
    (re.compile(r"(hooks\.slack\.com/)[A-Za-z]{1,20}/[^\s\"'<>]+"), r"\1[redacted: Slack webhook]"),
    (re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"), "[redacted: GitHub token]"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"), "[redacted: JSON web token]"),
    # Words of prose follow "bearer" too; a token has a digit, a capital or a sign in it, or is very long.
    (
        re.compile(r"\b((?i:bearer)\s{1,8})(?=[a-z]{0,24}[A-Z0-9._~+/=-]|[a-z]{25})[A-Za-z0-9._~+/=-]{8,}"),
        r"\1[redacted: bearer token]",
    ),
    (
        re.compile(r"((?i:authorization)[\"']?\s{0,8}[:=]\s{0,8}[\"']?(?i:basic|token)\s{1,8})[^\s\"']+"),
        r"\1[redacted]",
    ),
    (re.compile(r"(://[^\s:/@\"']{0,256}:)[^\s/@\"']{1,256}@"), r"\1[redacted]@"),
    (re.compile(rf"(--[\w-]{{0,40}}{_NAMED}{_SUFFIX}(?:\s{{1,8}}|=)){_VALUE}", re.IGNORECASE), r"\1[redacted]"),
    (re.compile(rf"({_NAMED}{_SUFFIX}{_QUOTE}\s{{0,8}}[:=]>?\s{{0,8}}){_VALUE}", re.IGNORECASE), r"\1[redacted]"),
)
_SECRET_NAME = re.compile(rf"(?:.*[_.-])?{_NAMED}\Z", re.IGNORECASE)


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
        return {redacted_text(name): _named(name, one) for name, one in value.items()}
    if isinstance(value, Sequence):
        return _listed(value)
    return value


def _named(name: str, value: Any) -> Any:
    if isinstance(value, str) and value and _SECRET_NAME.match(name):
        return "[redacted]"
    return redacted(value)


def _listed(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    inside = False
    for value in values:
        if isinstance(value, str):
            rest, inside = _without_key(value, inside)
            found.append(_forms(rest))
        else:
            found.append(redacted(value))
    return found


def _forms(text: str) -> str:
    for form, mark in _FORMS:
        text = form.sub(mark, text)
    return text


def _without_key(text: str, inside: bool) -> tuple[str, bool]:
    """Return the text without private key blocks, and whether one is still open at its end."""
    kept: list[str] = []
    while True:
        edge = (_KEY_ENDS if inside else _KEY_BEGINS).search(text)
        if inside:
            kept.append(_KEY_MARK)
        if edge is None:
            return "".join(kept) if inside else "".join([*kept, text]), inside
        if not inside:
            kept.append(text[: edge.start()])
        text, inside = text[edge.end() :], not inside
