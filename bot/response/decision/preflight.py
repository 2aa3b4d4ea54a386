"""The node is read again before a plan may run; a difference ends the incident."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from bot.domain.contracts import NodeDirectory
from bot.domain.errors import (
    AlreadyCured,
    CannotRead,
    CannotTell,
    HostKeyRejected,
    InventoryError,
    MissingRight,
    Refused,
    StateChanged,
    Unreachable,
    WouldStopProtected,
)
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.verdict import Status, Verdict
from bot.response.decision.binding import another_boot, another_machine, another_reach, drift
from bot.response.decision.recheck import RecheckResult
from bot.response.decision.undo_proposer import undo_drift
from bot.response.execution.node_access import NodeAccess, NodeStatus
from bot.response.execution.privilege import login_that_lacks

_AGAIN = "Try again, or check the node again."


class Drifted(Exception):
    """The node differs from what was approved. No ZombieError: the caller turns it into a refusal."""

    def __init__(self, differences: tuple[str, ...], kind: type[Refused]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences
        self.kind = kind


class Looks(Protocol):
    """Reads a node again: `recheck.Recheck`."""

    def looks(self, incident: Incident, node: Node) -> AsyncGenerator[RecheckResult, None]:
        """Yield what is seen, the shortest look first; the caller stops once satisfied."""
        ...


@dataclass(frozen=True, slots=True)
class Preflight:
    """Has the node of an incident read again, and compares."""

    reach: NodeAccess
    nodes: NodeDirectory
    recheck: Looks

    async def at(self, incident: Incident) -> NodeStatus:
        """Look, and return what was seen if nothing has changed.

        Shape: `facts` are those of the first step, where the look asked for them. What a short look does not show is
        read over the whole window before it counts as changed.
        Raises: Drifted if something has; MissingRight, CannotDrain, UnknownCluster or CannotTell.
        """
        try:
            return await self._satisfied(incident)
        except WouldStopProtected as no:
            raise Drifted((no.sentence,), WouldStopProtected) from no
        except HostKeyRejected as no:
            raise Drifted((f"host_key: {no.sentence}",), StateChanged) from no
        except (Unreachable, CannotRead, InventoryError) as no:
            raise CannotTell(f"The node cannot be read again: {no.sentence}", _AGAIN) from no

    async def _satisfied(self, incident: Incident) -> NodeStatus:
        assert incident.proposal is not None
        node, plan = self.nodes.find(incident.node), incident.proposal.plan
        if incident.undoes:
            lacking = await self.reach.lacking(node, plan.steps)
            seen = await self.reach.look(node, plan.steps, plan.steps)
            other = (*_others(incident, node, seen), *undo_drift(incident, seen.facts))
            return _judged(node, replace(seen, facts=()), other, lacking, StateChanged)
        look: RecheckResult | None = None
        others: tuple[str, ...] = ()
        differences: tuple[str, ...] = ()
        async with aclosing(self.recheck.looks(incident, node)) as looks:
            async for look in looks:
                others, differences = _others(incident, node, look.seen), _drift(incident, look)
                if others or not differences:
                    break
        assert look is not None
        kind = AlreadyCured if _is_cured(look.verdict) and not others else StateChanged
        seen = _judged(node, look.seen, (*others, *differences), look.lacking, kind)
        await self.reach.affected(plan.steps, seen)
        return seen


def _drift(incident: Incident, look: RecheckResult) -> tuple[str, ...]:
    """Return how the node differs from the proposal.

    Raises: CannotTell when nobody could talk to it.
    """
    assert incident.proposal is not None
    assert incident.verdict is not None
    if look.verdict.status is Status.UNREACHABLE:
        raise CannotTell(f"The node cannot be read again: {look.verdict.summary}", _AGAIN)
    return drift(incident.verdict, incident.proposal.plan, look.verdict)


def _is_cured(now: Verdict) -> bool:
    return now.status is Status.HEALTHY or (now.status is not Status.UNKNOWN and now.cause is None)


def _others(incident: Incident, node: Node, seen: NodeStatus) -> tuple[str, ...]:
    assert incident.proposal is not None
    bound = incident.proposal.binds
    return (*another_machine(bound, node, seen), *another_boot(bound, seen), *another_reach(bound, seen))


def _judged(
    node: Node,
    seen: NodeStatus,
    differences: tuple[str, ...],
    lacking: tuple[tuple[str, ...], ...],
    kind: type[Refused],
) -> NodeStatus:
    if differences:
        raise Drifted(differences, kind)
    if lacking:
        login, lines = login_that_lacks(node.name, node.user or "zombie", lacking)
        raise MissingRight(f"The {login} may not run what the plan needs.", lines)
    return seen
