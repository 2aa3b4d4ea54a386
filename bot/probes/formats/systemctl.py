"""What systemctl prints: properties of units, and lists of units.

Defined in: systemctl(1) (`show`, `list-units`); JSON since systemd 246, text on every version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass

from bot.domain.errors import CannotRead
from bot.domain.safe_text import one_line, redacted_line, safe


@dataclass(frozen=True, slots=True)
class FailedUnit:
    """A failed unit of any type: its name, description and the line that says so."""

    name: str
    description: str
    source: str


_LOADS = "loaded|not-found|bad-setting|error|masked|merged|stub"
# A name may contain illegal characters: only the load state ends it.
_LISTED = re.compile(rf"(?:[●○↻×x*]\s+)?(?P<name>\S.*?)\s+(?:{_LOADS})\s+(?P<active>\S+)\s+\S+(?:\s+(?P<says>.*))?")


def shown_units(text: str, seen: MutableMapping[str, Mapping[str, str]] | None = None) -> Iterator[Mapping[str, str]]:
    """Yield each unit's properties from `systemctl show`: KEY=VALUE lines, an empty line between units.

    `seen` caches what was read of each unit, because a second look is mostly the same.
    """
    seen = {} if seen is None else seen
    for block in text.split("\n\n"):
        properties = seen.get(block)
        if properties is None:
            properties = seen[block] = dict([line.split("=", 1) for line in block.split("\n") if "=" in line])
        if properties:
            yield properties


def failed_units(text: str) -> tuple[FailedUnit, ...]:
    """Read `systemctl list-units --state=failed`, as text or as JSON; other units are skipped.

    Raises: CannotRead when a line does not belong to a list, or the JSON is cut short.
    """
    if text.lstrip().startswith("["):
        return tuple(_from_json(text))
    found = []
    for line in text.splitlines():
        if not line.strip() or re.match(r"\s*UNIT\s+LOAD\s+ACTIVE\s", line):
            continue
        if re.match(r"(?:LOAD|ACTIVE|SUB|JOB)\s+=|\d+ loaded units listed|To show all installed|Legend:", line):
            break
        row = _LISTED.fullmatch(line.strip())
        if row is None:
            raise CannotRead(f"units: a line of the list of failed units is malformed ({one_line(line, 60)})")
        if row["active"] == "failed":
            found.append(FailedUnit(row["name"], (row["says"] or "").strip(), line.strip()))
    return tuple(found)


def _from_json(text: str) -> Iterator[FailedUnit]:
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotRead("units: the list of failed units is cut short") from error
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or not isinstance(row.get("unit"), str):
            raise CannotRead("units: the list of failed units is malformed")
        if row.get("active") == "failed":
            name, says = safe(row["unit"]), redacted_line(str(row.get("description", "")), 400)
            yield FailedUnit(name, says, redacted_line(f"{name} {row.get('load')} failed {row.get('sub')} {says}", 400))
