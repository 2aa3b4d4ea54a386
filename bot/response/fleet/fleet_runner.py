"""For a serving bot: takes people's questions about a fleet, finds the nodes, and runs a few sweeps at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.contracts import NodeDirectory
from bot.domain.errors import UsageError
from bot.domain.node import Node
from bot.domain.playbook import Playbook, Playbooks
from bot.domain.sample import Randomness, Sample
from bot.response.fleet.ask import FleetAsk
from bot.response.fleet.chunk import Hears
from bot.response.fleet.difference import Comparison
from bot.response.fleet.run import MOST_AT_ONCE, FleetRun
from bot.response.fleet.sweep import Sweep

SECONDS_A_LOOK = 2.0  # for connecting and a look, with many at once
EVERYBODY = "*"
MANY_LOOKS, MANY_CHECKS = 200, 20  # more nodes than this need a person's yes first


@dataclass(frozen=True, slots=True)
class FleetRunner:
    """Runs sweeps. `slots` is how many run at once."""

    select: Callable[[FleetAsk], Awaitable[tuple[Node, ...]]]
    nodes: NodeDirectory
    playbooks: Playbooks
    run_of: Callable[[Sequence[Node], int, Sweep], FleetRun]
    facts_of: Callable[[Sequence[Node], Playbook], FleetRun]
    chance: Randomness
    window: timedelta
    slots: asyncio.Semaphore

    @property
    def cured(self) -> frozenset[str]:
        """The causes that a remedy is offered for."""
        return frozenset(used.cause.name for used in self.playbooks.get("").causes if used.remedy)

    async def prepared(self, ask: FleetAsk) -> FleetRun:
        """Return the run for a request; nothing is read yet.

        Raises: UsageError when a selector matches no node, or a cause is not weighed.
        """
        playbook = self.playbooks.get("")
        sweep = Sweep.of(playbook, ask.causes, full=ask.full)
        meant = await self.select(ask)
        drawn = Sample.of(ask.sample).draw(meant, self.chance) if ask.sample else meant
        return self.run_of(drawn, len(meant), sweep)

    async def run(self, run: FleetRun, heard: Hears) -> None:
        """Run it once there is room. Raises: UsageError of any node, once all others are done."""
        async with self.slots:
            await run.run(heard)

    async def compared(self, ask: FleetAsk) -> Comparison:
        """Read the nodes once, and compare those that have the first cause with the others.

        Raises: UsageError when no node or every node has it.
        """
        run = self.facts_of(await self.select(ask), self.playbooks.get(""))
        async with self.slots:
            await run.run()
        sick = [answer.node for answer in run.answers if set(ask.causes) & set(answer.causes)]
        if not sick:
            raise UsageError(f"No node has {', '.join(ask.causes)} now, so there is nothing to compare.")
        if len(sick) == len(run.answers):
            raise UsageError(f"Every node that was asked has {', '.join(ask.causes)}, so there is nothing to compare.")
        return run.comparison(sick)

    def peers(self, node: str, cause: str) -> FleetAsk:
        """Return the request for which other nodes have a cause: nodes of the same role, or all if no selector fits.

        Raises: InventoryError when the node is gone.
        """
        role = self.nodes.find(node).labels.get("role", "")
        try:
            return FleetAsk((f"role={role}" if role else EVERYBODY,), (cause,)).checked()
        except UsageError:  # a cloud tag may be any text, or several roles together
            return FleetAsk((EVERYBODY,), (cause,))

    def is_many(self, run: FleetRun) -> bool:
        """True for so many nodes that a person has to say yes first."""
        return len(run.nodes) > (MANY_CHECKS if run.sweep.needs_window else MANY_LOOKS)

    def takes(self, run: FleetRun) -> float:
        """About how many seconds it takes."""
        each = SECONDS_A_LOOK + (self.window.total_seconds() if run.sweep.needs_window else 0.0)
        return each * -(-len(run.nodes) // MOST_AT_ONCE)
