"""What lies in a room of one file a noun is in the room's table; a new file is held to that by being there."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from bot.actions import ACTIONS, unit_verbs
from bot.app.factories import library
from bot.causes import CAUSES
from bot.commands import COMMANDS
from bot.inventory import KINDS
from bot.probes import PROBES
from bot.sources import SOURCES
from bot.surfaces import SURFACES
from tests.unit.causes.made_nodes import REPLIES

BOT = Path(__file__).parents[2] / "bot"
ONLY_TO_UNDO = {"restore_unit"}  # no playbook asks for it: it is what undoing consists of
OTHER_PLAYBOOKS = {"boot_units", "softirq_waits"}  # what node-health leaves out
OF_MADE_NODES = "tests/unit/causes/made_nodes.py"


def files_with(room: str, line: str) -> set[str]:
    """The stems of a room's files that have a line which begins so; of a folder's file, the folder's name."""
    found = [*(BOT / room).glob("*.py"), *(BOT / room).glob("*/member.py")]
    having = [path for path in found if re.search(rf"^ *{line}", path.read_text(), re.MULTILINE)]
    return {path.parent.name if path.name == "member.py" and path.parent.name != room else path.stem for path in having}


def unlisted(room: str, what: str, listed: Iterable[str], table: str, line: str = "") -> list[str]:
    """What is missing in a room's table, and what to write there; empty if nothing is."""
    files, known = files_with(room, line or f"{what} = "), set(listed)
    return [
        *(f"bot/{room}/{name}.py has {what}, and {table} does not list it: add it there" for name in files - known),
        *(f"{table} lists {name}, of which there is no file in bot/{room}" for name in known - files),
    ]


def test_every_probe_is_in_its_table() -> None:
    assert unlisted("probes", "PROBE", PROBES, "bot/probes/__init__.py") == []


def test_every_cause_is_in_its_table() -> None:
    files = {path.stem for path in (BOT.parent / "playbooks" / "causes").glob("*.yaml")}
    assert files <= set(CAUSES)
    listed = [name.replace("-", "_") for name in CAUSES if name not in files]
    assert unlisted("causes", "CAUSE", listed, "bot/causes/__init__.py") == []


def test_every_action_is_in_its_table() -> None:
    alone = set(ACTIONS) - {action.name for action in (*unit_verbs.ACTIONS, unit_verbs.BRING_BACK)}
    assert unlisted("actions", "ACTION", alone, "bot/actions/__init__.py") == []


def test_every_kind_of_inventory_is_in_its_list() -> None:
    held = [kind.load.__module__.rsplit(".", 1)[-1] for kind in KINDS]
    assert unlisted("inventory", "KIND", held, "KINDS in bot/inventory/inventory.py") == []


def test_every_command_is_in_its_list() -> None:
    held = [module.__name__.rsplit(".", 1)[-1] for module in COMMANDS]
    assert unlisted("commands", "add", held, "bot/commands/__init__.py", r"def add\(") == []


def test_every_surface_is_in_its_list() -> None:
    """The terminal, PagerDuty's notes and MCP have no file that asks for one: they are written in the list itself."""
    held = {surface.name for surface in SURFACES} - {"terminal", "pagerduty", "mcp"}
    assert unlisted("surfaces", "SURFACE", held, "bot/surfaces/__init__.py") == []


def test_every_action_but_those_that_only_undo_may_stand_in_a_playbook() -> None:
    assert {name for name, action in ACTIONS.items() if action.remedy is not None} == set(ACTIONS) - ONLY_TO_UNDO


def test_what_actions_and_causes_say_of_others_is_there() -> None:
    said = {name for action in ACTIONS.values() for name in (action.in_place_of, action.ended_by)} - {""}
    said |= {name for cause in CAUSES.values() for name in (*cause.cured_alone_by, *cause.eased_by)}
    assert said <= set(ACTIONS)


def test_every_source_is_in_its_table() -> None:
    named = {source.name for source in SOURCES}
    assert unlisted("sources", "SOURCE", named, "bot/sources/__init__.py", r"SOURCE = Source\(") == []
    assert files_with("sources", r"def _proof\(") == named


def test_every_probe_is_asked_and_every_cause_evaluated_by_a_playbook() -> None:
    """By node-health, which takes all of them; what it leaves out, by another."""
    playbooks = {playbook.name: playbook for playbook in library().playbooks}
    asked = {name: {probe.name for probe in playbook.probes} for name, playbook in playbooks.items()}
    evaluated = {name: {used.cause.name for used in playbook.causes} for name, playbook in playbooks.items()}
    assert set(PROBES) - asked["node-health"] == OTHER_PLAYBOOKS
    missing = set(PROBES) - set().union(*asked.values())
    assert [f"{name} is asked by no check: add it to probes of a playbook" for name in missing] == []
    missing = set(CAUSES) - set().union(*evaluated.values())
    assert [
        f"{name} is evaluated by no check: name it, or all that it evaluates, in a playbook" for name in missing
    ] == []
    open_ones = {
        name for name in set(CAUSES) - evaluated["node-health"] if not OTHER_PLAYBOOKS & {*CAUSES[name].probes}
    }
    assert open_ones == set(), "node-health evaluates every cause whose probes it asks"


def test_every_playbook_is_called_as_its_file_and_the_default_says_what_it_must_read() -> None:
    known = library()
    assert {f"{name}.yaml" for name in known.names} == {path.name for path in (BOT.parent / "playbooks").glob("*.yaml")}
    assert known.get("node-health").must_read


def test_every_probe_that_a_cause_evaluates_has_readings_made_at_random() -> None:
    evaluated = {probe for cause in CAUSES.values() for probe in cause.probes} - set(OTHER_PLAYBOOKS)
    missing = evaluated - set(REPLIES)
    says = f"say in its file what a healthy node answers (example), or write a strategy in REPLIES of {OF_MADE_NODES}"
    assert [f"{name}: {says}" for name in missing] == []


@pytest.mark.parametrize("room", ["causes", "actions", "commands", "sources", "surfaces", "inventory", "probes"])
def test_room_has_files_to_be_found(room: str) -> None:
    assert len(list((BOT / room).glob("*.py"))) > 3


def test_file_that_no_table_lists_is_named_with_the_place_to_write_it() -> None:
    listed = {*ACTIONS, "fly"} - {"reboot"}
    told = unlisted("actions", "ACTION", listed, "bot/actions/__init__.py")
    assert "bot/actions/reboot.py has ACTION, and bot/actions/__init__.py does not list it: add it there" in told
    assert "bot/actions/__init__.py lists fly, of which there is no file in bot/actions" in told
