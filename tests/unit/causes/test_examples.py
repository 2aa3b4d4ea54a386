"""Every example in a cause's file comes to what it says, and one that does not is told."""

from pathlib import Path
from typing import Any

import pytest

from bot.causes import CAUSES
from bot.causes.examples import check_examples, fault_of
from bot.domain.builtin_playbooks import builtin_playbooks

FILES = sorted((builtin_playbooks() / "causes").glob("*.yaml"))
FULL = {"conntrack": {"loaded": True, "count": 9, "maximum": 10}, "log": ["conntrack-full 3m ago: dropped"]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.stem))
def test_examples_of_the_file_hold(path: Path) -> None:
    cause = CAUSES[path.stem]
    assert check_examples(path, cause) >= 3
    assert (cause.remedy, cause.cured_alone_by, cause.eased_by) == ((), (), ()), "a file's cause plans nothing"


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ({"then": "critical", "sure": "confirmed", "says": ["9 of 10", "dropped"], "lines": ["dropped"]}, ""),
        ({"then": "degraded"}, "then is critical, not degraded: 9 of 10"),
        ({}, "then is critical, not None"),
        ({"then": "critical", "sure": "likely"}, "sure is confirmed, not likely"),
        ({"then": "critical", "says": "8 of 10"}, 'it does not say "8 of 10", but: 9 of 10'),
        ({"then": "critical", "lines": []}, "the lines are ['dropped']"),
        ({"then": "critical", "contrack": {}}, "contrack is not a probe. Did you mean conntrack"),
        ({"then": "critical", "conntrack": {"full": True}}, "ConntrackReading has no full"),
        ({"then": "critical", "log": ["?"]}, "no such reading: ?; write KIND 3m ago: text"),
        ({"then": "degraded", "thresholds": {"used_percent": 95}}, ""),
    ],
)
def test_example_that_does_not_hold_says_so(said: dict[str, Any], fault: str) -> None:
    found = fault_of(CAUSES["conntrack-full"], {**FULL, **said})
    assert fault in found if fault else found == ""
