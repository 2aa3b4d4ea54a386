"""Every playbook of the house is right, and reads what it says it must."""

from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.library import Library
from bot.probes import PROBES

FOLDER = Path(__file__).parents[3] / "playbooks"


@pytest.fixture(scope="module")
def library() -> Library:
    return Library.load([FOLDER], PROBES, CAUSES, ACTIONS)


def test_every_file_is_a_playbook_of_its_own_name(library: Library) -> None:
    assert {f"{name}.yaml" for name in library.names} == {path.name for path in FOLDER.glob("*.yaml")}


def test_default_playbook_is_there(library: Library) -> None:
    assert library.get("node-health").must_read
