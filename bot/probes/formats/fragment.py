"""Constant sh and awk fragments, written on several lines and sent as one line; and whether answers are complete."""

from __future__ import annotations

from bot.domain.command import Outputs
from bot.domain.errors import CannotRead

END = "-- end --"  # what most fragments print last


def fragment(text: str) -> str:
    """Return the fragment on a single line, as an argument must be, without its comment lines.

    Shape: every statement must end in `;` or `{`; `#` starts a comment only at the start of a line.

    Example:
    >>> fragment('''
    ...     # say hello
    ...     for i in 1 2; do
    ...         echo "$i"; done
    ... ''')
    'for i in 1 2; do echo "$i"; done'
    """
    lines = (line.strip() for line in text.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("#"))


def is_whole(text: str, end: str = END) -> bool:
    """True when an answer is complete: the fragment prints that line last.

    Example:
    >>> is_whole("a\\n-- end --\\n"), is_whole("a\\n-- en")
    (True, False)
    """
    return text.rstrip("\n").rpartition("\n")[2] == end


def whole_text(outputs: Outputs, name: str, probe: str) -> str:
    """Return what a command of a probe printed, of which `END` is the last line.

    Raises: CannotRead when it did not run, failed, or the answer is cut short.
    """
    text = outputs.text(name)
    if not is_whole(text):
        raise CannotRead(f"{probe}: the answer is cut short")
    return text
