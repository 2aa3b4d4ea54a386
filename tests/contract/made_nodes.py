"""The nodes of `made`: `= title | machine | statuses | causes`, and what else may be said, as the fields of `Asked`."""

from __future__ import annotations

from pathlib import Path

from tests.contract.asked import Asked, scheduled, shown, uncounted
from tests.contract.test_verdicts_once_wrong import agent_churns, harmed
from tests.independent.rows import HELPERS, Row, rows

FOLDER = Path(__file__).with_name("made")
_HELPERS = HELPERS | {each.__name__: each for each in (harmed, uncounted, shown, scheduled, agent_churns)}


def made(name: str) -> list[Asked]:
    """Return the nodes of a file, in its order."""
    return [_asked(each) for each in rows(FOLDER / f"{name}.txt", _HELPERS)]


def _asked(read: Row) -> Asked:
    status, cause = read.said
    return Asked(read.title, read.machine, status, cause, **read.named)
