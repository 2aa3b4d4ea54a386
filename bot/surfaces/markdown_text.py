"""Text from an incident or a case in Markdown, where it is never markup.

Source: https://spec.commonmark.org/0.31.2/#backslash-escapes
Sites look for names and links in what Markdown has drawn, where a backslash is gone.
"""

from __future__ import annotations

import re

from bot.domain.safe_text import one_line

# What can begin markup anywhere in a line, and what only at its start. A colon makes a link only before a slash, and an
# underscore within a word makes nothing: those are not escaped, so that the raw document stays readable.
_SIGNS = re.compile(r"([\\`*{}\[\]<|&~$#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=/)|(?<=www)\.)", re.IGNORECASE)
_START = re.compile(r"\A(?:(\d{1,9})([.)])(?=\s|\Z)|()([-+](?=\s|\Z|-)|[=>]))")
_JOINER = "\u2060"  # invisible, after @: no site takes what follows for a person's name


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows literally, on one line.

    Example:
    >>> print(escape_markdown("1. <b> [x](javascript:1) mem_cgroup_x https://a"))
    1\\. \\<b> \\[x\\](javascript:1) mem_cgroup_x https\\://a
    """
    signed = _SIGNS.sub(r"\\\1", one_line(text, 10_000))
    return _START.sub(r"\1\3\\\2\4", signed).replace("@", f"@{_JOINER}")
