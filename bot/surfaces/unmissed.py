"""Causes and conditions that no case needs: for a terminal and for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bot.domain.safe_text import one_line
from bot.response.diagnosis.unmissed import PlaybookItem, UnmissedItems
from bot.surfaces.document import SCHEMA_VERSION
from bot.surfaces.text import wrapped


def unmissed_document(found: Sequence[UnmissedItems], cases: int) -> str:
    """Return it as JSON."""
    playbooks = [
        {
            "playbook": one_line(looked.playbook, 120),
            "looked_at": looked.pieces,
            "unmissed": {"causes": _names(looked.unmissed, False), "conditions": _names(looked.unmissed, True)},
        }
        for looked in found
    ]
    return json.dumps({"schema": SCHEMA_VERSION, "cases": cases, "playbooks": playbooks}, ensure_ascii=False, indent=2)


def unmissed_text(found: Sequence[UnmissedItems], cases: int, width: int = 80) -> str:
    """Return sentences, a paragraph for each playbook.

    Example:
    >>> print(unmissed_text([UnmissedItems("mine", 3, (PlaybookItem(2, "never", True),))], 2), end="")
    mine: of 3 causes and conditions, 1 changes no verdict on 2 cases.
      conditions: never
    """
    lines: list[str] = []
    for looked in found:
        name, count = one_line(looked.playbook, 120), len(looked.unmissed)
        said = f"{count:,} change{'s' * (count == 1)} no verdict" if count else "each changes some verdict"
        of_all = f"of {looked.pieces:,} {'cause or condition' if looked.pieces == 1 else 'causes and conditions'}"
        lines += wrapped(f"{name}: {of_all}, {said} on {cases:,} {'case' if cases == 1 else 'cases'}.", width, "")
        for what, is_condition in (("causes", False), ("conditions", True)):
            if names := _names(looked.unmissed, is_condition):
                lines += wrapped(f"{what}: {', '.join(names)}", width, "    ", "  ")
    return "".join(f"{line}\n" for line in lines)


def _names(pieces: Sequence[PlaybookItem], is_condition: bool) -> list[str]:
    return [one_line(piece.name, 120) for piece in pieces if piece.is_condition is is_condition]
