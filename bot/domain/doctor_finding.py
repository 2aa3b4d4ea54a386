"""Results of examining the bot's own surroundings."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class Mark(enum.StrEnum):
    """ok: as it should be; note: it works, with a remark; wrong: it does not work; not set: not configured."""

    OK = "ok"
    NOTE = "note"
    WRONG = "wrong"
    NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """Something that was examined: what was seen, and what to do about it."""

    name: str
    mark: Mark
    seen: str
    to_do: str = ""


def all_well(examined: Iterable[DoctorFinding]) -> bool:
    """True when nothing is wrong.

    Example:
    >>> all_well([DoctorFinding("disk", Mark.OK, "12 GB free"), DoctorFinding("PagerDuty", Mark.NOT_SET, "no token")])
    True
    """
    return all(found.mark is not Mark.WRONG for found in examined)
