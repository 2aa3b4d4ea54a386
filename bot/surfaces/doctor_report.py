"""An examination as text for a terminal, and as the JSON document that scripts read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bot.domain.doctor_finding import DoctorFinding, Mark, all_well
from bot.domain.safe_text import counted, one_line, redacted_line, redacted_text
from bot.surfaces.verdict_text import wrapped

SCHEMA_VERSION = 1
LONGEST = 1000  # characters of a sentence
_COLOURS = {Mark.OK: "32", Mark.NOTE: "33", Mark.WRONG: "1;31", Mark.NOT_SET: "2"}
_EXAMPLE = re.compile(r"(\b[A-Z][A-Z_]*=[\w-]{0,10}…(?![\w…]))")  # a prefix with an ellipsis is no secret
_NAME = 22  # columns
_BELOW = " " * (8 + _NAME + 1)  # a mark and a name


def examination_text(examined: Sequence[DoctorFinding], width: int = 80, colour: bool = False) -> str:
    """Return a line for each item, what to do about it below, and a total at the end."""
    width, lines = max(48, width), list[str]()
    for item in examined:
        mark = f"{item.mark.value.upper() if item.mark is Mark.WRONG else item.mark.value:<8}"
        if colour:
            mark = f"\x1b[{_COLOURS[item.mark]}m{mark}\x1b[0m"
        name = f"{'':8}{_redacted_line(item.name):<{_NAME}} "
        first, *more = wrapped(_redacted_line(item.seen), width, _BELOW, first=name) or [name.rstrip()]
        lines += [f"{mark}{first[8:]}", *more]
        lines += wrapped(_redacted_advice(item.to_do), width, _BELOW, first=f"{_BELOW[:-2]}→ ")
    wrong = sum(item.mark is Mark.WRONG for item in examined)
    notes = sum(item.mark is Mark.NOTE for item in examined)
    if wrong:
        last = f"{wrong} of {len(examined)} {'is' if wrong == 1 else 'are'} wrong."
    else:
        last = f"Nothing is wrong; {counted(notes, 'note')}." if notes else "All is well."
    return "\n".join((*lines, "", last)) + "\n"


def examination_body(examined: Sequence[DoctorFinding]) -> dict[str, Any]:
    """Return the whole document as JSON values."""
    rows = [
        {
            "name": _redacted_line(item.name),
            "mark": item.mark.value,
            "seen": _redacted_line(item.seen),
            "to_do": _redacted_advice(item.to_do),
        }
        for item in examined
    ]
    return {"schema": SCHEMA_VERSION, "well": all_well(examined), "examined": rows}


def _redacted_line(text: str) -> str:
    return redacted_line(text, LONGEST)


def _redacted_advice(text: str) -> str:
    """Redact like the rest, except for the bot's own examples: `SLACK_BOT_TOKEN=xoxb-…` says what to write."""
    parts = _EXAMPLE.split(text)  # every second part is an example
    said = "".join(part if number % 2 else redacted_text(part) for number, part in enumerate(parts))
    return one_line(said, LONGEST)
