"""What `systemctl show` prints of several units: blocks of properties, with a blank line between them.

Defined in: systemctl(1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line

ALL_TOLD = "-- all told --"  # the last line of a look that came to its end
_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]{1,255}\Z")


def blocks_of(text: str, because: str) -> list[Mapping[str, str]]:
    """Return the properties of each unit, in order.

    Raises: CannotRead, with `because`, where the look did not come to its end or a unit is not named.
    """
    lines = text.rstrip("\n").split("\n")
    if lines[-1] != ALL_TOLD:
        raise CannotRead(f"{because}, or it is more than can be shown")
    blocks: list[Mapping[str, str]] = [
        dict(line.split("=", 1) for line in block.split("\n") if "=" in line)
        for block in "\n".join(lines[:-1]).split("\n\n")
        if block.strip()
    ]
    if not all(block.get("Id") for block in blocks):
        raise CannotRead(because)
    return blocks


def names_of(block: Mapping[str, str]) -> tuple[str, ...]:
    """Return a unit's names, its own first.

    Raises: CannotRead for what can be no unit's name.
    """
    names = dict.fromkeys((block.get("Id", ""), *block.get("Names", "").split()))
    return tuple(checked(name) for name in names)


def checked(name: str) -> str:
    """Return the name of a unit.

    Raises: CannotRead for what can be none.
    """
    if not _NAME.match(name):
        raise CannotRead(f"systemd names a unit that can be none: {one_line(name, 60)!r}")
    return name
