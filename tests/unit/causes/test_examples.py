"""Every example in a cause's file comes to what it says, and one that does not is told.

`examples/NAME.yaml` holds those of a cause of Python, or more of a file's, in the same words. What one does not name is
as on the healthy node of `builders`. `remedy` are all steps that are offered, none without it; `suspects` are all that
are named; `tells` are parts of what the evidence says, with its name and probe before it, `shows` parts of its lines,
`ends` the end of the sentence, `silent` what evidence and sentence lack, `advice` a part of the lasting fix, `harm` and
`found` the card's two sentences; `suspected` is said of what is undecided.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.causes import CAUSES
from bot.causes.examples import check_examples, difference, example_mismatch, snapshot_of
from bot.domain.builtin_playbooks import builtin_playbooks
from bot.domain.verdict import Finding
from tests.unit.causes import builders as b

HEALTHY = b.node()
OF_A_FINDING = {"remedy", "suspects", "tells", "shows", "ends", "silent", "advice", "harm", "found", "suspected"}
FOLDER = Path(__file__).with_name("examples")
CAUSE_FILES = builtin_playbooks() / "causes"
FILES = sorted(CAUSE_FILES.glob("*.yaml"))
OF_PYTHON = [
    pytest.param(path.stem, example, id=f"{path.stem}-{number}")
    for path in sorted(FOLDER.glob("*.yaml"))
    for number, example in enumerate(yaml.load(path.read_text(), yaml.CSafeLoader))
]
FULL = {"conntrack": {"loaded": True, "count": 9, "maximum": 10}, "log": ["conntrack-full 3m ago: dropped"]}


def examples_of(name: str) -> list[dict[str, Any]]:
    """Return the examples of a cause, wherever they are written."""
    path = FOLDER / f"{name}.yaml"
    of_python = path.exists()
    document = yaml.load((path if of_python else CAUSE_FILES / path.name).read_text(), yaml.CSafeLoader)
    return list(document if of_python else document["examples"])


def readings_of(example: dict[str, Any]) -> list[Any]:
    """Return what an example says that was read, on the healthy node's kernel."""
    said = {"host": {}} | {key: given for key, given in example.items() if key not in OF_A_FINDING}
    if said["host"] != "unread":
        said["host"] = {"kernel": HEALTHY.readings["host"].kernel} | said["host"]
    return list(snapshot_of(said).readings.values())


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
    found = example_mismatch(CAUSES["conntrack-full"], {**FULL, **said})
    assert fault in found if fault else found == ""


@pytest.mark.parametrize(("name", "example"), OF_PYTHON)
def test_example_of_a_cause_of_python_holds(name: str, example: dict[str, Any]) -> None:
    wanted = {key: example[key] for key in OF_A_FINDING & example.keys()}
    found = b.evaluate(name, *readings_of(example))
    assert difference(found, example) == ""
    assert (found.summary if isinstance(found, Finding) else found.because).endswith(wanted.get("ends", ""))
    if isinstance(found, Finding):
        assert [" ".join([step.action, *step.args.values()]) for step in found.remedy] == wanted.get("remedy", [])
        assert list(found.suspects) == wanted.get("suspects", list(found.suspects))
        assert wanted.get("advice", "") in found.lasting_fix
        assert (found.harm, found.found) == (wanted.get("harm", found.harm), wanted.get("found", found.found))
        told = [f"{seen.finding}: {seen.probe}: {seen.says}" for seen in found.evidence]
        assert not any(wanted.get("silent", "...") in text for text in (found.summary, *told))
        assert [part for part in wanted.get("tells", ()) if not any(part in says for says in told)] == []
        shown = "\n".join(line for seen in found.evidence for line in seen.source)
        assert [part for part in wanted.get("shows", ()) if part not in shown] == []
    assert wanted.get("suspected", ...) in (..., getattr(found, "suspected", None))


@pytest.mark.parametrize(("slots", "is_named"), [(47_500, True), (47_499, False)])
def test_who_has_no_room_for_half_of_the_open_files_is_not_named_for_them(slots: int, is_named: bool) -> None:
    limits = {"limits": [{"name": "open files", "used": 95_000, "maximum": 100_000}]}
    kinds = {"kinds": [{"name": "java", "count": 1, "file_slots": slots}]}
    said = {"kernel_limits": limits, "processes": kinds, "then": "critical", "says": "those of java"}
    assert (example_mismatch(CAUSES["pid-or-fd-exhaustion"], said) == "") == is_named
