"""The README's tables say what the program has."""

import re
from pathlib import Path

from bot.causes import CAUSES
from bot.commands import COMMANDS
from bot.domain.verdict import Confidence, Status
from bot.probes import PROBES

README = (Path(__file__).parents[2] / "README.md").read_text()


def table(heading: str) -> set[str]:
    """The first column of the table whose first heading is `heading`, without its backquotes."""
    body = re.search(rf"^\| {heading} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", README, re.MULTILINE)
    assert body is not None, f"the README has no table of {heading}"
    return {row.split("|")[1].strip().strip("`") for row in body.group(1).splitlines()}


def test_every_probe_is_in_the_readme_and_no_other() -> None:
    assert table("probe") == set(PROBES)


def test_every_cause_is_in_the_readme_and_no_other() -> None:
    assert table("cause") == set(CAUSES)


def test_every_status_and_confidence_is_in_the_readme_and_no_other() -> None:
    assert table("confidence") == {one.value for one in Confidence}
    assert table("status") == {one.value for one in Status}


def test_every_command_is_in_the_readme_and_no_other() -> None:
    names = {command.split()[1] for command in table("command")}
    assert names == {module.__name__.rsplit(".", 1)[-1] for module in COMMANDS}
