"""A person's decision: every guard, the node looked at again, and the first who is written down has decided."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from bot.domain.alert import BOT
from bot.domain.approval import Approval
from bot.domain.contracts import ActingLedger, Clock
from bot.domain.errors import (
    AlreadyCured,
    AlreadyTried,
    ApprovalExpired,
    CannotRead,
    CannotTell,
    Conflict,
    HostKeyRejected,
    InventoryError,
    LedgerError,
    MissingRight,
    NodeBusy,
    Refused,
    StateChanged,
    Unreachable,
)
from bot.domain.events import Approved, Cancelled, Declined, Endorsed, Escalated, Expired, IncidentEvent, PlanProposed
from bot.domain.house_events import HOUSE, WishRefused
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.verdict import Status, Verdict
from bot.response import guards
from bot.response.binding import another_boot, another_machine, drift
from bot.response.casebook import Casebook
from bot.response.policy import SAME_AGAIN, Policy
from bot.response.privilege import acting_lines
from bot.response.reach import Reach
from bot.response.timing import now_of

Diagnose: TypeAlias = Callable[[Node, str], Awaitable[Verdict]]  # a node by a playbook's name
_TRIES = 3  # on Conflict: read again, fold, decide again


@dataclass(frozen=True, slots=True)
class Responder:
    """Takes decisions; what it needs is handed in."""

    policy: Policy
    book: Casebook
    ledger: ActingLedger
    reach: Reach
    find: Callable[[str], Node]
    diagnose: Diagnose
    clock: Clock

    async def decide(self, incident_id: str, approval: Approval) -> Incident:
        """Approve the incident's plan and return the incident as it then stands.

        Raises: Refused, by its name and with a sentence, when the plan may not run: that is on record then, too.
        UnknownIncident when there is none of that id.
        """
        incident = await self.book.find(incident_id)
        try:
            return await self._decided(incident, approval)
        except Refused as no:
            await self._note(incident.id, "approve", approval.by, no)
            raise

    async def decline(self, incident_id: str, approval: Approval) -> Incident:
        """Decline the incident's plan; whoever may approve may decline, and so may whoever asked.

        Raises: as `decide`.
        """
        incident = await self.book.find(incident_id)
        try:
            guards.reason_given(approval)
            if approval.by != incident.alert.asked_by:
                guards.is_approver(self.policy, approval)
            for _ in range(_TRIES):
                proposal = guards.is_undecided(incident)
                event = Declined(approval.reason, proposal.digest, approval.os_user)
                with contextlib.suppress(Conflict):
                    return await self.book.tell(incident, event, approval.by)
                incident = await self.book.find(incident_id)
            raise CannotTell("The incident goes on faster than it can be decided.", "Try again.")
        except Refused as no:
            await self._note(incident.id, "decline", approval.by, no)
            raise

    async def _decided(self, incident: Incident, approval: Approval) -> Incident:
        looked = False
        for _ in range(_TRIES):
            proposal = await self._guarded(incident, approval)
            if not looked:
                await self._look_again(incident, proposal)
                looked = True
            last = len(incident.endorsements) + 1 >= proposal.approvals_needed
            said = Approved if last else Endorsed
            event = said(proposal.digest, approval.reason.strip(), approval.os_user)
            with contextlib.suppress(Conflict):
                return await self.book.tell(incident, event, approval.by)
            incident = await self.book.find(incident.id)
        raise CannotTell("The incident goes on faster than it can be decided.", "Try again.")

    async def _guarded(self, incident: Incident, approval: Approval) -> PlanProposed:
        now = self._now(incident)
        guards.reason_given(approval)
        guards.is_approver(self.policy, approval)
        guards.is_not_the_asker(self.policy, incident, approval)
        proposal = guards.is_undecided(incident)
        try:
            guards.is_in_time(self.policy, incident, now)
        except ApprovalExpired as no:
            await self._end(incident, Expired(no.sentence))
            raise
        guards.is_the_same_plan(self.policy, proposal, approval)
        guards.may_be_stopped(self.policy, guards.units_of(proposal.plan))
        guards.is_released(await self.ledger.braked())
        guards.is_not_quiet(self.policy, now)
        held = await self.ledger.hold(incident.node)
        if held is not None and held.incident != incident.id:
            raise NodeBusy(f"Incident {held.incident} acts on {incident.node}.", "Wait until it has ended.")
        again = await self.ledger.tried(proposal.plan.remedy, SAME_AGAIN)
        if again not in (None, incident.id):
            tried = AlreadyTried(f"Incident {again} carried out the same plan on {incident.node} less than a day ago.")
            await self._end(incident, Escalated(tried.sentence, "It did not last: replace the node, or look by hand."))
            raise tried
        return proposal

    async def _look_again(self, incident: Incident, proposal: PlanProposed) -> None:
        """Read what decides once more; what is another than it was ends the incident.

        Raises: StateChanged, AlreadyCured, MissingRight or CannotTell.
        """
        verdict = incident.verdict
        assert verdict is not None
        try:
            node = self.find(incident.node)
            now = await self.diagnose(node, incident.playbook)
            seen = await self.reach.look(node)
            lacking = await self.reach.lacking(node, proposal.plan.steps)
        except HostKeyRejected as no:
            await self._changed(incident, (f"host_key: {no.sentence}",), StateChanged)
        except (Unreachable, CannotRead, InventoryError) as no:
            raise CannotTell(
                f"The node cannot be looked at again: {no.sentence}", "Try again, or check it anew."
            ) from no
        else:
            if now.status is Status.UNREACHABLE:
                raise CannotTell(f"The node cannot be looked at again: {now.summary}", "Try again, or check it anew.")
            others = (*another_machine(proposal.binds, node, seen), *another_boot(proposal.binds, seen))
            differences = (*others, *drift(verdict, proposal.plan, now))
            cured = now.status is Status.HEALTHY or (now.status is not Status.UNKNOWN and now.cause is None)
            if differences:
                await self._changed(incident, differences, AlreadyCured if cured and not others else StateChanged)
            if lacking:
                lines = "; ".join(acting_lines(node.user or "zombie", lacking))
                raise MissingRight(f"The login on {node.name} may not run what the plan needs.", f"sudoers: {lines}")

    async def _changed(self, incident: Incident, differences: tuple[str, ...], kind: type[Refused]) -> None:
        what = "there is nothing left to cure" if kind is AlreadyCured else "the node is not as it was"
        await self._end(incident, Cancelled(f"Looked at again before acting, {what}.", differences))
        raise kind(f"Looked at again, {what}: {'; '.join(differences)}", "Check the node again for a new plan.")

    async def _end(self, incident: Incident, event: IncidentEvent) -> None:
        with contextlib.suppress(Conflict):  # whoever was first has said how it goes on
            await self.book.tell(incident, event, BOT)

    async def _note(self, incident: str, wish: str, by: str, no: Refused) -> None:
        """Put a refusal on record; a ledger that cannot be written never keeps it from whoever asked."""
        with contextlib.suppress(LedgerError):
            await self.ledger.append(HOUSE, None, WishRefused(no.name, no.sentence, wish, incident), by)

    def _now(self, incident: Incident) -> datetime:
        return now_of(self.clock, incident)
