"""What an examination of the bot's own surroundings came to."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Mark(enum.StrEnum):
    """ok: as it should be; note: it works, and something is worth knowing; wrong: it does not; not set: left out."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"
    NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was looked at: what was seen, and what to do about it."""

    name: str
    mark: Mark
    seen: str
    to_do: str = ""


def all_well(examined: Iterable[Examined]) -> bool:
    """True when nothing is wrong.

    Example:
    >>> all_well([Examined("disk", Mark.OK, "12 GB free"), Examined("PagerDuty", Mark.NOT_SET, "no token")])
    True
    """
    return all(found.mark is not Mark.WRONG for found in examined)
