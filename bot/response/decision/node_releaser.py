"""Frees a node from an incident that cannot go on: by an approver, with a reason, recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from bot.domain.action import Action
from bot.domain.claim import Hold
from bot.domain.entry import Append
from bot.domain.errors import (
    CannotTell,
    Conflict,
    ImpossibleEvent,
    NodeBusy,
    NothingToRelease,
    UnreadableEntry,
)
from bot.domain.events import Escalated
from bot.domain.fold import fold
from bot.domain.house_events import NodeReleased
from bot.domain.incident import Incident
from bot.domain.policy import Approval, Policy
from bot.domain.safe_text import one_line
from bot.domain.transitions import State
from bot.ledger import Ledger
from bot.response.decision import guards
from bot.response.incident_record import refusals_noted, steps_not_done_words, with_left_behind

SILENT = timedelta(minutes=1)  # a runner with a newer sign of life may be working on the node


@dataclass(frozen=True, slots=True)
class NodeReleaser:
    """Frees nodes; `actions` are those that this program knows."""

    policy: Policy
    ledger: Ledger
    actions: Mapping[str, Action]

    async def release(self, node: str, approval: Approval) -> NodeReleased:
        """Free a node from the incident that holds it, and return the recorded event.

        Shape: an incident that can be read ends escalated. An unreadable incident, of a newer program or damaged, keeps
        its entries; it claims the node again if some program can go on with it after all.
        Raises: Refused, by its name, when the person may not do this, nothing holds the node, or the incident can go
        on.
        """
        async with refusals_noted(self.ledger, "release", approval.by, node):
            guards.check_reason(approval)
            guards.check_may_approve(self.policy, approval)
            return await self._release(node, approval)

    async def _release(self, node: str, approval: Approval) -> NodeReleased:
        held = await self.ledger.current_hold(node)
        if held is None:
            raise NothingToRelease(f"No incident holds {one_line(node, 100)}.", "zombie incidents lists what is open.")
        incident = await self._holding_incident(held)
        because = self._require_stuck(held, incident)
        reason = one_line(approval.reason.strip(), 500)
        event = NodeReleased(held.node, held.incident, because, reason, approval.os_user)
        try:
            if incident is None or incident.ended:
                await self.ledger.release_node(held, event, approval.by)
                return event
            said = f"{approval.by} released {held.node}, for {because}: {reason}"
            end = with_left_behind(Escalated(said, steps_not_done_words(incident)), incident, self.actions)
            await self.ledger.release_node(
                held, event, approval.by, Append(incident.id, incident.seq, (end,), approval.by)
            )
        except Conflict as no:
            raise CannotTell("It has changed meanwhile.", "Look at it again: zombie incidents") from no
        return event

    async def _holding_incident(self, held: Hold) -> Incident | None:
        """Return the incident that holds the node; None where this program cannot read it."""
        with contextlib.suppress(ImpossibleEvent, UnreadableEntry):
            return fold(await self.ledger.read(held.incident))
        return None

    def _require_stuck(self, held: Hold, incident: Incident | None) -> str:
        """Say why an incident cannot go on.

        Raises: NodeBusy when it can, or when a runner may be working on it.
        """
        if incident is not None and incident.state is State.UNKNOWN:
            return "it waits for an answer"
        if held.silent_for < SILENT:
            ago = int(held.silent_for.total_seconds())
            raise NodeBusy(
                f"{one_line(held.runner, 60)} works on incident {held.incident}: last sign of life {ago} s ago.",
                f"Stop it, and wait until it has been silent for {int(SILENT.total_seconds())} s.",
            )
        if incident is None:
            return "this program cannot read its record: a newer program wrote it, or it is damaged"
        if incident.ended:
            return "it has ended"
        strange = [step.action for step in incident.proposal.plan.steps] if incident.proposal is not None else []
        if strange := [name for name in strange if name not in self.actions]:
            return f"this program does not know “{one_line(strange[0], 60)}”: a newer program proposed it"
        raise NodeBusy(
            f"Incident {held.incident} can go on: it is {incident.state}.",
            f"A running `zombie serve` continues it, and so does: zombie remediate {held.incident}",
        )
