"""A playbook's digest tells whether a case is judged by the same rules as before."""

from pathlib import Path

import pytest

from tests.unit.library.tables import EXTENDING, OWN, WHOLE, load

BOOK = EXTENDING + OWN + "conditions:\n  - {name: full, when: disk.used_percent > 90, says: It is full.}\n"


def digest(folder: Path, text: str) -> str:
    return load(folder, node_health=WHOLE, book=text).get("book").digest


@pytest.mark.parametrize(
    ("old", "new"),
    [("> 90", "> 91"), (r"(\d+)%", r"(\d*)%"), ("-P", "-Pl"), ("version: 1", "version: 2"), ("is full", "is so")],
)
def test_what_may_change_a_verdict_changes_the_digest(tmp_path: Path, old: str, new: str) -> None:
    assert old in BOOK
    assert digest(tmp_path / "a", BOOK) != digest(tmp_path / "b", BOOK.replace(old, new))


def test_threshold_of_the_extended_playbook_changes_it_too(tmp_path: Path) -> None:
    whole = load(tmp_path / "a", node_health=WHOLE).get("node-health")
    other = load(tmp_path / "b", node_health=WHOLE.replace("value: 1000", "value: 1001")).get("node-health")
    assert whole.digest != other.digest


def test_words_for_people_and_the_folder_do_not_change_it(tmp_path: Path) -> None:
    other = WHOLE.replace("a fresh boot has about 17", "ours").replace("For any node.", "For some.")
    whole = load(tmp_path / "a", node_health=WHOLE).get("node-health")
    assert load(tmp_path / "b", node_health=other).get("node-health").digest == whole.digest
