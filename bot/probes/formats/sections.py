"""Several files in a single answer, as `tail -v -n +1 FILE…` prints them.

Defined in: POSIX-adjacent, GNU coreutils manual, "tail invocation" (`--verbose`); busybox prints the same headings.
"""

from __future__ import annotations

import re

_HEADING = re.compile(r"==> (/.*) <==")


def sections(text: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of each file by its path; a file that could not be read has no entry.

    Shape: empty lines before a heading belong to the heading. Text before the first heading is dropped.

    Example:
    >>> sections("==> /proc/a <==\\n1 2\\n\\n==> /proc/b <==\\n3\\n")
    {'/proc/a': ('1 2',), '/proc/b': ('3',)}
    """
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("==> ") and (heading := _HEADING.fullmatch(line)):
            lines = found.setdefault(heading.group(1), [])
        else:
            lines.append(line)
    for kept in found.values():
        while kept and not kept[-1]:
            kept.pop()
    return {path: tuple(kept) for path, kept in found.items()}
