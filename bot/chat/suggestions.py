"""Suggests nodes while a person types a name into a menu: the chat asks at each letter and shows the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from bot.chat.people import CheckPermissions, Person
from bot.chat.requests import KnownNodes
from bot.domain.errors import Refused

FIND_NODE = "find_node"  # the action of the menu
MOST = 30  # names at a time; more than people read
LONGEST_VALUE = 150
LONGEST_TYPED = 80
SECONDS = 2.0  # a chat waits three for the names
ASKS = "Which node? Choose it here, or type its name: /zombie check NODE"


@dataclass(frozen=True, slots=True)
class NodeSuggestions:
    """Suggests nodes to people who may ask for checks, and no name to anybody else."""

    known: KnownNodes
    askers: CheckPermissions

    async def answer(self, person: Person, typed: str) -> list[str]:
        """Return the names for what was typed so far; none where this person may not ask, or that is not known."""
        try:
            async with asyncio.timeout(SECONDS):
                await self.askers.admit(person)
        except (Refused, TimeoutError):
            return []
        return matching(typed, self.known.names)


def matching(typed: str, names: Iterable[str]) -> list[str]:
    """Return the names that contain every typed word; those that begin with it come first.

    Example:
    >>> matching("gpu 04", ["web-04", "ray-gpu-1a-0417", "gpu-04"])
    ['gpu-04', 'ray-gpu-1a-0417']
    """
    words = typed[:LONGEST_TYPED].casefold().split()
    begin: list[str] = []
    hold: list[str] = []
    for name in names:
        folded = name.casefold()
        if len(name) <= LONGEST_VALUE and all(word in folded for word in words):
            (begin if not words or folded.startswith(words[0]) else hold).append(name)
            if len(begin) >= MOST:
                break
    return [*begin, *hold][:MOST]
