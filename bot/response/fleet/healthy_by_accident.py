"""Peers that are healthy by accident: the unit that makes others sick is enabled there too, but did not start.

This happened in the first case: a zone had no zombies, and it was tempting to look for what was right there. Nothing
was: another fault kept the agent from starting. Such a node is no evidence of health, and falls ill once it is mended.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.safe_text import listed
from bot.response.fleet.answer import NodeAnswer

_ENTRY = re.compile(r"(?P<where>(?:units|agents)\.[a-z_]+)\[(?P<name>[^\[\]]+)\]\.(?P<field>sub|used)\Z")
_DOWN = frozenset({"inactive", "failed"})
_AT_BOOT = frozenset({"enabled", "enabled-runtime", "linked", "linked-runtime", "alias", "generated"})
NAMED = 6


@dataclass(frozen=True, slots=True)
class Accident:
    """A unit that is suspected on sick nodes, and enabled but down on these peers; `result` is how it ended."""

    unit: str
    nodes: tuple[str, ...]
    result: str = ""

    @property
    def says(self) -> str:
        """What this means, in a sentence."""
        named = listed(self.nodes, NAMED)
        how = f" ({self.result})" if self.result and self.result != "success" else ""
        return (
            f"Not evidence of health: {self.unit} is enabled on {named} too, and is down there{how}. "
            "Once it starts, they may get the same fault."
        )


def accidents(sick: Sequence[NodeAnswer], healthy: Sequence[NodeAnswer]) -> tuple[Accident, ...]:
    """Return units that are suspected or loop on sick nodes, and are enabled but down on healthy peers."""
    found = []
    for unit in sorted(_suspected(sick)):
        down = [peer for peer in healthy if _is_down(peer.facts, unit)]
        if down:
            results = {peer.facts.get(f"units.services[{unit}].result", "") for peer in down}
            found.append(Accident(unit, tuple(peer.node for peer in down), results.pop() if len(results) == 1 else ""))
    return tuple(found)


def _suspected(sick: Sequence[NodeAnswer]) -> set[str]:
    """The units that causes suspect on sick nodes, unused agents, and units that start over and over."""
    units = {suspect for answer in sick for found in answer.found for suspect in found.suspects}
    for answer in sick:
        for fact, value in answer.facts.items():
            entry = _ENTRY.match(fact)
            if entry is None:
                continue
            if entry["field"] == "sub" and value == "auto-restart":
                units.add(entry["name"])
            elif entry["field"] == "used" and value == "no":
                units.add(answer.facts.get(f"{entry['where']}[{entry['name']}].unit", ""))
    return {unit for unit in units if unit.endswith(".service")}


def _is_down(facts: Mapping[str, str], unit: str) -> bool:
    """True if the next boot or a repair would start it."""
    agents = [
        entry.rpartition(".")[0] for entry, value in facts.items() if entry.startswith("agents.") and value == unit
    ]
    for entry in (f"units.services[{unit}]", *agents):
        if f"{entry}.active" in facts:
            return facts[f"{entry}.active"] in _DOWN and facts.get(f"{entry}.enabled") in _AT_BOOT
    # Only active and failed services are listed.
    return f"boot_units.enabled[{unit}]" in facts and "units" in facts
