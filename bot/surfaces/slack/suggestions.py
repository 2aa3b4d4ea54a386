"""Suggests nodes while a person types a name into a menu: Slack asks at each letter and shows the answer.

Defined in https://docs.slack.dev/reference/interaction-payloads/block_suggestion-payload
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bot.domain.errors import Refused
from bot.domain.safe_text import one_line
from bot.surfaces.slack.askers import Askers
from bot.surfaces.slack.blocks import option, row
from bot.surfaces.slack.message import Block, plain_text
from bot.surfaces.slack.people import Person

FIND_NODE = "find_node"  # the action of the menu
MOST = 30  # names at a time; Slack takes a hundred, more than people read
SHOWN = 75  # characters of an option's words, and of its value; both are Slack's limits
LONGEST_VALUE = 150
LONGEST_TYPED = 80
SECONDS = 2.0  # Slack waits three for the names
ASKS = "Which node? Choose it here, or type its name: /zombie check NODE"


class NodeNames(Protocol):
    """Has the names of all nodes."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the inventory's order."""
        ...


@dataclass(frozen=True, slots=True)
class NodeSuggestions:
    """Suggests nodes to people who may ask for checks, and no name to anybody else."""

    known: NodeNames
    askers: Askers

    async def answer(self, body: Mapping[str, Any]) -> list[Block]:
        """Return the options for what was typed so far; none where this person may not ask, or that is not known."""
        try:
            async with asyncio.timeout(SECONDS):
                await self.askers.admit(Person.of(body))
        except (Refused, TimeoutError):
            return []
        return [
            option(one_line(name, SHOWN), name) for name in matching(str(body.get("value") or ""), self.known.names)
        ]


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


def find_node_block() -> Block:
    """Return the row with the menu: the chosen node is checked."""
    menu = {
        "type": "external_select",
        "action_id": FIND_NODE,
        "placeholder": plain_text("Check a node"),
        "min_query_length": 0,
    }
    return {**row([menu]), "block_id": FIND_NODE}
