"""Several files in a single answer, as `tail -v -n +1 FILE…` prints them.

Defined in: POSIX-adjacent, GNU coreutils manual, "tail invocation" (`--verbose`); busybox prints the same headings.
"""

from __future__ import annotations

import re

_HEADING = re.compile(r"\n==> (/.*) <==(?=\n|\Z)")


def sections(text: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of each file by its path; a file that could not be read has no entry.

    Shape: empty lines before a heading belong to the heading. Text before the first heading is dropped.

    Example:
    >>> sections("==> /proc/a <==\\n1 2\\n\\n==> /proc/b <==\\n3\\n")
    {'/proc/a': ('1 2',), '/proc/b': ('3',)}
    """
    _, *parts = _HEADING.split("\n" + text)
    found: dict[str, tuple[str, ...]] = {}
    for path, body in zip(parts[::2], parts[1::2], strict=True):
        found[path] = (*found.get(path, ()), *body.rstrip("\n").split("\n")[1:])
    return found
