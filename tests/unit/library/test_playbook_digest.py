"""A playbook's digest tells whether a case is judged by the same rules as before."""

from pathlib import Path

import pytest

from bot.app.factories import library
from bot.causes import CAUSES
from tests.unit.library.tables import EXTENDING, OWN, WHOLE, load, written

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


CAUSE = """cause: worn
title: Worn
about: It is worn.
lasting_fix: Another.
thresholds: {many: {value: 5, reason: as measured}}
evidence:
  - {name: full, when: cgroups.dying > many, says: "{cgroups.dying} of them"}
otherwise:
  - {ruled_out: it is not}
examples:
  - {then: undecided}
"""
TABLES = {
    "units": '[acme]\nis = ["makes-cgroups"]\nnames = ["acme-one"]\n',
    "xid": '[166]\nkind = "fault"\nname = "one is gone"\naction = "reset the GPU"\n',
    "functions": '[acme]\nfunctions = "acme_one"\ndoes = "walks"\nseen = ["acme_one"]\n',
    "kernel-log": '[acme.one]\nlines = ["acme one"]\nhas = ["acme one"]\nseen = ["acme one"]\n',
}


@pytest.fixture
def site(site: Path) -> Path:
    """A folder with a cause of its own."""
    return written(site, CAUSE)


def digest_at(site: Path) -> str:
    return library([site]).get("node-health").digest


def test_what_a_site_s_cause_decides_by_is_part_of_it_and_its_words_for_people_are_not(site: Path) -> None:
    path, whole = site / "causes" / "worn.yaml", digest_at(site)
    for old, new in (("> many", ">= many"), ("of them", "of those"), ("it is not", "it is new")):
        path.write_text(CAUSE.replace(old, new))
        assert digest_at(site) != whole, new
    for old, new in (("title: Worn", "title: Old"), ("It is worn", "It was worn"), ("as measured", "as told")):
        path.write_text(f"# a remark\n{CAUSE.replace(old, new)}")
        assert digest_at(site) == whole, new


@pytest.mark.parametrize("name", TABLES)
def test_what_a_site_s_table_says_is_part_of_it(site: Path, name: str) -> None:
    without, path = digest_at(site), site / "tables" / f"{name}.toml"
    path.write_text(TABLES[name])
    whole = digest_at(site)
    path.write_text(TABLES[name].replace("one", "two"))
    changed = digest_at(site)
    path.write_text(f"# a remark\n{TABLES[name]}")
    assert len({without, whole, changed}) == 3
    assert digest_at(site) == whole


def test_program_s_own_causes_and_a_site_s_forms_of_secrets_are_no_part_of_it(site: Path) -> None:
    assert all(not used.definition for used in CAUSES.values())
    whole = digest_at(site)
    row = '[acme]\nform = "acme-[0-9]{9}"\nhas = ["acme-"]\nseen = ["«acme-012345678»"]\n'
    assert digest_at(written(site, secrets=row)) == whole
