"""From a verdict with a plan to a proposal that can be approved, or to the reason why it is not offered."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.domain.action import Plan
from bot.domain.contracts import Clock, NodeDirectory
from bot.domain.duration import span_words
from bot.domain.errors import (
    CannotDrain,
    CannotRead,
    InventoryError,
    LedgerError,
    ProtectedUnit,
    UnknownCluster,
    Unreachable,
    WouldCutOff,
    WouldStopProtected,
)
from bot.domain.events import Escalated, PlanProposed, PlanWithheld
from bot.domain.incident import Incident
from bot.domain.node import Node
from bot.domain.playbook import Playbook
from bot.domain.policy import SAME_AGAIN, Policy
from bot.domain.probe import Unread
from bot.domain.safe_text import one_line
from bot.domain.verdict import Confidence, Verdict
from bot.ledger import Ledger
from bot.probes.host import HostReading, machine_id_of
from bot.response.decision.guards import check_units_named, raised_by_stranger, units_of
from bot.response.decision.preflight import approval_bindings
from bot.response.diagnosis.figures import figures
from bot.response.execution.cluster_calls import KUBERNETES
from bot.response.execution.node_access import NodeAccess
from bot.response.execution.sudoers import acting_lines
from bot.response.incident_record import already_tried_hint

_EVER = timedelta(days=3650)
ACTING_IS_OFF = "This bot shows what would help and does not act."


@dataclass(slots=True, eq=False)
class Proposer:
    """Decides whether a plan is offered; it looks at the node and changes nothing there.

    Shape: `user` is the login that would act, for the sudoers lines that are missing. Without `clock` it is not known
    how old a verdict is.
    """

    policy: Policy
    reach: NodeAccess
    ledger: Ledger
    nodes: NodeDirectory
    user: str = ""
    clock: Clock | None = None

    async def event(
        self, verdict: Verdict, playbook: Playbook, incident: Incident | None = None
    ) -> PlanProposed | PlanWithheld | Escalated | None:
        """Return the event that follows the verdict; None where it has no plan."""
        plan = verdict.plan
        if plan is None:
            return None
        if not self.policy.acting:
            return PlanWithheld(ACTING_IS_OFF)
        node = self._node_or_none(verdict.node)
        if why := self._withheld_because(verdict, plan, node):
            return PlanWithheld(why)
        try:
            machine_id = machine_id_of(verdict)
            group = incident.group if incident is not None else ""
            record = await self.ledger.proposal_record(plan, machine_id, group, SAME_AGAIN)
        except LedgerError as error:
            return PlanWithheld(f"It is not known whether this was tried before: {error.sentence}")
        if record.tried is not None:
            return Escalated(
                f"The same plan was carried out on {verdict.node} less than a day ago, in incident {record.tried}.",
                await already_tried_hint(self.ledger, self.reach.actions, plan, record.tried),
            )
        if doubt := record.doubts(self.policy, verdict.cause or ""):
            return PlanWithheld(doubt)
        strange = incident is not None and raised_by_stranger(self.policy, incident)
        needed = self.policy.approvals_needed(len(record.nodes), strange)
        if (approvals := self.policy.most_approvers({})) is not None and approvals < needed:
            return PlanWithheld(f"{needed} people have to approve this, and [policy] names {approvals}.")
        assert node is not None
        found = await self._propose_after_look(verdict, plan, node, playbook)
        if not isinstance(found, PlanProposed):
            return found
        return replace(
            found, approvals_needed=needed, affects=(*_other_names(verdict.node, record.names), *found.affects)
        )

    def _node_or_none(self, name: str) -> Node | None:
        try:
            return self.nodes.find(name)
        except InventoryError:
            return None

    def _withheld_because(self, verdict: Verdict, plan: Plan, node: Node | None) -> str:
        if not self.policy.names_anybody:
            return "Nobody may approve: [policy] names no approvers."
        if verdict.confidence not in (Confidence.CONFIRMED, Confidence.LIKELY):
            return "A cause that is only possible is not acted upon."
        if node is None:
            return f"{verdict.node} is not in the inventory."
        if verdict.snapshot is not None and self.clock is not None:
            ago = self.clock() - verdict.snapshot.taken_at  # long, where the ledger was away meanwhile
            if ago >= self.policy.approval_expires:
                when = f"The node was read {span_words(ago)} ago"
                return f"{when}, and what would end there now is not known: check it again."
        try:
            check_units_named(self.policy, plan, self.reach.actions)
        except ProtectedUnit as no:
            return str(no)
        return ""

    async def _propose_after_look(
        self, verdict: Verdict, plan: Plan, node: Node, playbook: Playbook
    ) -> PlanProposed | PlanWithheld:
        try:
            lacking = await self.reach.lacking(node, plan.steps)
            seen = await self.reach.look(node, around=plan.steps)
            affected = await self.reach.cluster_side_effects(plan.steps, seen) if not lacking else {}
        except (UnknownCluster, CannotDrain, ProtectedUnit, WouldCutOff, WouldStopProtected) as no:
            return PlanWithheld(f"{no.name}: {no}{await self._contained_before(verdict, plan)}")
        except (Unreachable, CannotRead) as no:
            return PlanWithheld(f"The machine that the plan is for cannot be identified: {no.sentence}")
        if lacking:
            lines = acting_lines(self.user or node.user or "zombie", lacking)
            where = "cluster" if all(right[0] == KUBERNETES for right in lacking) else "node"
            return PlanWithheld(f"The login on the {where} may not run what the plan needs.", lines)
        host = verdict.snapshot.get(HostReading) if verdict.snapshot is not None else Unread("host", "not kept")
        if isinstance(host, Unread) or host.boot_id != seen.boot_id:
            return PlanWithheld("The node was booted while it was looked at, or does not say which boot it is in.")
        bound = approval_bindings(verdict, node, seen, playbook, self.policy)
        return PlanProposed.of(plan, bound, figures=figures(verdict, units_of(plan)), affects=tuple(affected))

    async def _contained_before(self, verdict: Verdict, plan: Plan) -> str:
        """Say which incident has kept work away from the node already; empty for a plan that does more."""
        if all(self.reach.actions[step.action].contains for step in plan.steps):
            with suppress(LedgerError):
                if before := await self.ledger.last_try(plan, machine_id_of(verdict), _EVER):
                    return f" Incident {before} did the same before."
        return ""


def _other_names(node: str, names: Sequence[str]) -> tuple[str, ...]:
    """Say which other names the machine has; while the bot acts on any of them, it acts on no other."""
    others = [name for name in names if name != node]
    if not others:
        return ()
    return (f"the same machine-id as {one_line(', '.join(others), 200)}: the same machine, or a copied image",)
