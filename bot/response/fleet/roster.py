"""Which workers a scheduler has, and what each may read, by the resource that it declares.

Defined in: https://distributed.dask.org/en/stable/resources.html. A worker declares a resource, of which each chunk
takes a share. It names the program's version, and the zone, if any: so a scheduler hands chunks only to
workers of the asker's own version that reach the zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.domain.safe_text import one_line

_RESOURCE = re.compile(r"(zombie [^ ]{1,60})(?: zone ([A-Za-z0-9._/:-]{1,100}))?\Z")


def resource(program: str, zone: str = "") -> str:
    """Return the name of the resource that a worker of that program declares.

    Example: `resource("zombie 0.1.0", "us-east-1a") == "zombie 0.1.0 zone us-east-1a"`
    """
    return f"{program} zone {zone}" if zone else program


def is_zone(text: str) -> bool:
    """True if this can be the name of a zone."""
    return _RESOURCE.match(f"zombie 0 zone {text}") is not None


def declared(resources: Iterable[str]) -> tuple[str, str] | None:
    """Return the program and the zone that a worker declares; None for a worker of something else."""
    found = [match for name in resources if (match := _RESOURCE.match(str(name)))]
    return (found[0].group(1), found[0].group(2) or "") if len(found) == 1 else None


@dataclass(slots=True)
class Roster:
    """The present workers: those of this version by address with their zone, those of others by name."""

    zones: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, identity: Mapping[str, Any], program: str) -> Roster:
        """Make it from the scheduler's description of itself."""
        roster = cls()
        for address, worker in dict(identity.get("workers") or {}).items():
            said = declared(worker.get("resources") or {})
            if said is not None and said[0] == program:
                roster.zones[str(address)] = said[1]
            else:
                name = one_line(str(worker.get("name", address)), 80)
                roster.others[name] = said[0] if said is not None else "no worker of zombie"
        return roster

    def readers(self, zone: str) -> list[str]:
        """The workers that read this zone; an empty zone means workers without a zone."""
        return [address for address, theirs in self.zones.items() if theirs == zone]
