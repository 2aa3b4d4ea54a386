"""A playbook takes from the one it extends what it does not give itself."""

from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.domain.cause import Threshold
from bot.library import Library
from tests.unit.library.tables import CAUSES, EXTENDING, PROBES, WHOLE, load, refusal

LEAK = "leaked-memory-cgroups"


def test_what_is_not_given_is_taken_from_the_extended(tmp_path: Path) -> None:
    library = load(tmp_path, node_health=WHOLE, book=EXTENDING)
    mine, whole = library.get("book"), library.get("node-health")
    assert (mine.probes, mine.must_read, mine.causes, mine.conditions) == (
        whole.probes,
        whole.must_read,
        whole.causes,
        whole.conditions,
    )
    assert (mine.title, mine.version, mine.origin) == ("Mine", 1, str(tmp_path / "book.yaml"))


def test_listed_causes_keep_the_extended_ones_thresholds_remedy_and_fix(tmp_path: Path) -> None:
    text = EXTENDING + f"probes: [cpu, cgroups]\ncauses: [{LEAK}]\n"
    library = load(tmp_path, node_health=WHOLE, book=text)
    assert library.get("book").causes == library.get("node-health").causes[:1]
    assert library.get("book").conditions == ()


def test_one_threshold_is_overridden_and_the_other_kept(tmp_path: Path) -> None:
    text = (
        EXTENDING
        + f"causes:\n  lockup:\n  {LEAK}:\n    remedy: []\n    thresholds:\n      many: {{value: 5, reason: mine}}\n"
    )
    lockup, leak = load(tmp_path, node_health=WHOLE, book=text).get("book").causes
    assert lockup.remedy == ("reboot",)
    assert leak.thresholds["many"] == Threshold(5, "mine")
    assert leak.thresholds["held"].value == 92.5
    assert (leak.remedy, leak.lasting_fix) == ((), "Take the agent out of the image.")


def test_own_conditions_come_after_the_extended_ones_and_one_of_the_same_name_replaces(tmp_path: Path) -> None:
    text = EXTENDING + (
        "conditions:\n  - {name: memory-short, when: reclaim.mem_available_percent < 5, says: Mine.}\n"
        "  - {name: cores, when: cpu.cores < 2, says: One core.}\n"
    )
    first, second = load(tmp_path, node_health=WHOLE, book=text).get("book").conditions
    assert (first.says, second.name) == ("Mine.", "cores")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("probes: [host]\n", "book.yaml:5: leaked-memory-cgroups needs cgroups, cpu: add it to probes"),
        (
            "probes: [host]\ncauses: []\n",
            "book.yaml:5: must_read of node-health names cpu, which is not among the probes",
        ),
    ],
)
def test_what_is_taken_over_has_to_fit(tmp_path: Path, more: str, says: str) -> None:
    assert says in refusal(tmp_path, EXTENDING + more, node_health=WHOLE)


def test_circle_is_told(tmp_path: Path) -> None:
    one = "name: book\ntitle: x\nversion: 1\nextends: other\n"
    other = "name: other\ntitle: x\nversion: 1\nextends: book\n"
    assert "book.yaml:4: goes in a circle: book extends other extends book" in refusal(tmp_path, one, other=other)


def test_playbook_of_a_later_folder_replaces_and_may_extend_what_it_replaces(tmp_path: Path) -> None:
    own, house = tmp_path / "own", tmp_path / "house"
    load(house, node_health=WHOLE)
    own.mkdir()
    (own / "mine.yaml").write_text(edited_extension())
    library = Library.load([house, own], PROBES, CAUSES, ACTIONS)
    book = library.get("node-health")
    assert library.names == ("node-health",)
    assert (book.title, book.origin) == ("Mine", str(own / "mine.yaml"))
    assert book.causes[0].thresholds["many"].value == 5
    assert book.causes[0].remedy == ("disable_unit", "reboot")


def edited_extension() -> str:
    tuned = f"causes:\n  {LEAK}:\n    thresholds: {{many: {{value: 5, reason: our nodes are small}}}}\n"
    return EXTENDING.replace("name: book", "name: node-health") + tuned


def test_two_of_one_name_in_one_folder_are_refused(tmp_path: Path) -> None:
    assert "other.yaml:1: book.yaml has the same name" in refusal(tmp_path, WHOLE, other=WHOLE)
