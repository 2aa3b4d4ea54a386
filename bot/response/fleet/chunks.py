"""The nodes of a sweep in chunks, each within a zone: what a worker gets at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.domain.node import Node

ZONE_LABELS = ("zone", "az")  # of the inventory; the first that a node has counts


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some nodes of a zone."""

    zone: str
    nodes: tuple[str, ...]


def chunks_of(nodes: Sequence[Node], size: int) -> list[Chunk]:
    """Return the chunks, of at most `size` nodes each."""
    zones: dict[str, list[str]] = {}
    for node in nodes:
        zone = next((node.labels[label] for label in ZONE_LABELS if node.labels.get(label)), "")
        zones.setdefault(zone, []).append(node.name)
    return [
        Chunk(zone, tuple(names[at : at + size])) for zone, names in zones.items() for at in range(0, len(names), size)
    ]
