"""The look before a yes, where nodes are simulated: everything is read again, one by one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.response.decision.recheck import RecheckResult
from bot.response.execution.node_access import NodeAccess
from bot.response.execution.validation import Diagnose


@dataclass(frozen=True)
class WholeLook:
    """Stands in for `Recheck`, whose batch simulated nodes do not know."""

    reach: NodeAccess
    diagnose: Diagnose

    async def read_in_stages(self, incident: Incident, node: Node) -> AsyncGenerator[RecheckResult, None]:
        assert incident.proposal is not None
        now = await self.diagnose(node, incident.playbook)
        steps = incident.proposal.plan.steps
        seen = await self.reach.look(node, around=steps)
        yield RecheckResult(now, seen, await self.reach.lacking(node, steps))
