"""Whole nodes by what their kernels say, in words that no row holds: who is in trouble, and who is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.asked import Asked, check
from tests.independent import kinds

_TABLE = Path(__file__).with_name("levels") / "speakers.txt"
_LAST_SECONDS = 120


def _rows() -> list[Asked]:
    """Read the table.

    Shape: `= title | machine | status | cause`, then a line of the log each: seconds after the boot, and its text.
    """
    return [_asked(block) for block in _TABLE.read_text(encoding="utf-8").split("\n= ")[1:]]


def _asked(block: str) -> Asked:
    head, *lines = (line for line in block.splitlines() if line and not line.startswith("#"))
    title, kind, status, cause = head.split(" | ")
    said = [(float(at), text) for at, _, text in (line.partition(" ") for line in lines)]
    up = said[-1][0] + _LAST_SECONDS
    machine = getattr(kinds, kind)(up=max(up, 900))
    return Asked(title, machine.log(*((machine.facts.up - at, text) for at, text in said)), status, cause)


@pytest.mark.parametrize("asked", _rows(), ids=lambda asked: str(asked.title))
def test_speaker_is_judged_by_what_it_says(asked: Asked) -> None:
    verdict = check(asked)
    assert verdict.plan is None or not verdict.plan.steps
