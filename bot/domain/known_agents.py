"""Platform agents that base images install: their units and container images, and what shows that they are used.

Source: `[agents]` of `playbooks/tables/units.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.protected import own_units


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent. Its own unit runs the first image; images are named without registry and tag."""

    name: str
    units: tuple[str, ...]
    images: tuple[str, ...] = ()
    shows_used: str = ""  # what shows a person whether anybody needs it


KNOWN_AGENTS: tuple[KnownAgent, ...] = tuple(
    KnownAgent(name, tuple(row["units"]), tuple(row.get("images", ())), row.get("shows_used", ""))
    for name, row in own_units()["agents"].items()
)
