"""An examination as text for a terminal, and as the JSON document that scripts read."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence

from bot.domain.examined import Examined, Mark, all_well
from bot.domain.redaction import redacted_text
from bot.domain.safe_text import one_line

SCHEMA_VERSION = 1
LONGEST = 1000  # characters of one sentence
_COLOURS = {Mark.OK: "32", Mark.NOTE: "33", Mark.WRONG: "1;31", Mark.NOT_SET: "2"}
_NAME = 22  # columns


def examination_text(examined: Sequence[Examined], width: int = 80, colour: bool = False) -> str:
    """Return one line each, what to do below, and the sum of it."""
    lines: list[str] = []
    for one in examined:
        mark = f"{one.mark.value.upper() if one.mark is Mark.WRONG else one.mark.value:<8}"
        if colour:
            mark = f"\x1b[{_COLOURS[one.mark]}m{mark}\x1b[0m"
        first, *more = _wrapped(f"{_said(one.name):<{_NAME}} {_said(one.seen)}", width - 8, _NAME + 1)
        lines += [f"{mark}{first}", *(f"{'':8}{line}" for line in more)]
        if one.to_do:
            lines += [
                f"{'':8}{line}" for line in _wrapped(f"{'':{_NAME - 1}}→ {_said(one.to_do)}", width - 8, _NAME + 1)
            ]
    wrong = sum(one.mark is Mark.WRONG for one in examined)
    lines += ["", "All is well." if not wrong else f"{wrong} of {len(examined)} are wrong."]
    return "\n".join(lines) + "\n"


def examination_document(examined: Sequence[Examined]) -> str:
    """Return the whole document as text."""
    rows = [
        {"name": _said(one.name), "mark": one.mark.value, "seen": _said(one.seen), "to_do": _said(one.to_do)}
        for one in examined
    ]
    return json.dumps({"schema": SCHEMA_VERSION, "well": all_well(examined), "examined": rows}, indent=2)


def _said(text: str) -> str:
    return one_line(redacted_text(text), LONGEST)


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    wrapped = textwrap.wrap(
        text, max(40, width), subsequent_indent=" " * indent, break_on_hyphens=False, drop_whitespace=True
    )
    return wrapped or [""]
