"""The node looked at once more before a plan may run: what is another than it was ends the incident."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

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
)
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.plan import Plan
from bot.domain.verdict import Status, Verdict
from bot.response.binding import another_boot, another_machine, drift
from bot.response.privilege import acting_lines
from bot.response.reach import Reach, Seen
from bot.response.undoing import moved

Diagnose: TypeAlias = Callable[[Node, str], Awaitable[Verdict]]  # a node by a playbook's name


class Drifted(Exception):
    """The node is another than the one that was approved; not an error of the house: it becomes a refusal."""

    def __init__(self, differences: tuple[str, ...], kind: type[Refused]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences
        self.kind = kind


@dataclass(frozen=True, slots=True)
class SecondLook:
    """Reads again what decides."""

    reach: Reach
    find: Callable[[str], Node]
    diagnose: Diagnose

    async def at(self, incident: Incident) -> None:
        """Look, and return when everything is as it was.

        Raises: Drifted when it is not; MissingRight or CannotTell.
        """
        assert incident.proposal is not None
        plan, bound = incident.proposal.plan, incident.proposal.binds
        try:
            node = self.find(incident.node)
            now = None if incident.undoes else await self.diagnose(node, incident.playbook)
            seen = await self.reach.look(node, plan.steps if incident.undoes else ())
            lacking = await self.reach.lacking(node, plan.steps)
        except HostKeyRejected as no:
            raise Drifted((f"host_key: {no.sentence}",), StateChanged) from no
        except (Unreachable, CannotRead, InventoryError) as no:
            raise CannotTell(
                f"The node cannot be looked at again: {no.sentence}", "Try again, or check it anew."
            ) from no
        if now is not None and now.status is Status.UNREACHABLE:
            raise CannotTell(f"The node cannot be looked at again: {now.summary}", "Try again, or check it anew.")
        others = (*another_machine(bound, node, seen), *another_boot(bound, seen))
        if differences := (*others, *_moved(incident, plan, now, seen)):
            cured = now is not None and _is_cured(now) and not others
            raise Drifted(differences, AlreadyCured if cured else StateChanged)
        if lacking:
            lines = "; ".join(acting_lines(node.user or "zombie", lacking))
            raise MissingRight(f"The login on {node.name} may not run what the plan needs.", f"sudoers: {lines}")


def _moved(incident: Incident, plan: Plan, now: Verdict | None, seen: Seen) -> tuple[str, ...]:
    if now is None:
        return moved(incident, seen.facts)
    assert incident.verdict is not None
    return drift(incident.verdict, plan, now)


def _is_cured(now: Verdict) -> bool:
    return now.status is Status.HEALTHY or (now.status is not Status.UNKNOWN and now.cause is None)
