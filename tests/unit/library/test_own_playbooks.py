"""Every playbook of the house is right, and reads what it says it must."""

from pathlib import Path

import pytest

from bot.library import Library

FOLDER = Path(__file__).parents[3] / "playbooks"


@pytest.fixture(scope="module")
def library() -> Library:
    causes = pytest.importorskip("bot.causes", reason="there are no causes yet")
    probes = pytest.importorskip("bot.probes", reason="there are no probes yet")
    if not list(FOLDER.glob("*.yaml")):
        pytest.skip("there are no playbooks yet")
    return Library.load([FOLDER], probes.PROBES, causes.CAUSES)


def test_every_file_is_a_playbook_of_its_own_name(library: Library) -> None:
    assert {f"{name}.yaml" for name in library.names} == {path.name for path in FOLDER.glob("*.yaml")}


def test_default_playbook_is_there(library: Library) -> None:
    assert library.get("node-health").must_read
