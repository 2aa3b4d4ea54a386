"""What lies in a room of one file a noun is in the room's table; a new file is held to that by being there."""

import re
from pathlib import Path

import pytest

from bot.actions import ACTIONS
from bot.causes import CAUSES
from bot.commands import COMMANDS
from bot.inventory import KINDS
from bot.sources import SOURCES
from tests.alerts.source_edge import MEMBERS

BOT = Path(__file__).parents[2] / "bot"
ONLY_TO_UNDO = {"restore_unit"}  # no playbook asks for it: it is what undoing consists of
A_PROTOCOL = "source"


def files_with(room: str, line: str) -> set[str]:
    """The stems of a room's files that have a line which begins so."""
    return {path.stem for path in (BOT / room).glob("*.py") if re.search(rf"^ *{line}", path.read_text(), re.MULTILINE)}


def test_every_cause_is_in_its_table() -> None:
    assert files_with("causes", "CAUSE = ") == {name.replace("-", "_") for name in CAUSES}


def test_every_action_is_in_its_table() -> None:
    assert files_with("actions", "ACTION = ") == set(ACTIONS)


def test_every_kind_of_inventory_is_in_its_list() -> None:
    held = {kind.load.__module__.rsplit(".", 1)[-1] for kind in KINDS}
    assert files_with("inventory", "KIND = ") == held


def test_every_command_is_in_its_list() -> None:
    assert files_with("commands", r"def add\(") == {module.__name__.rsplit(".", 1)[-1] for module in COMMANDS}


def test_every_action_but_those_that_only_undo_may_stand_in_a_playbook() -> None:
    assert {name for name, action in ACTIONS.items() if action.remedy is not None} == set(ACTIONS) - ONLY_TO_UNDO


def test_what_actions_and_causes_say_of_others_is_there() -> None:
    said = {name for action in ACTIONS.values() for name in (action.in_place_of, action.ended_by)} - {""}
    said |= {name for cause in CAUSES.values() for name in (*cause.cured_alone_by, *cause.eased_by)}
    assert said <= set(ACTIONS)


def test_every_source_is_in_its_table_and_held_to_the_promises_of_sources() -> None:
    named = {source.name for source in SOURCES}
    assert files_with("sources", r"SOURCE = Source\(") == named
    assert files_with("sources", r"def is_genuine\(") - {A_PROTOCOL} == named
    assert {member.source.kind for member in MEMBERS} == named


@pytest.mark.parametrize("room", ["causes", "actions", "commands", "sources"])
def test_room_has_files_to_be_found(room: str) -> None:
    assert len(list((BOT / room).glob("*.py"))) > 3
