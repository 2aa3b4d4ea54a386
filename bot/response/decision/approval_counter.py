"""How many people have to say yes, counted again at each yes, and whether earlier ones still count."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.contracts import Ledger
from bot.domain.errors import CannotTell, NotAnApprover
from bot.domain.events import PlanProposed
from bot.domain.incident import Decision, Incident
from bot.domain.policy import Approval, ApproverLookup, Policy
from bot.response.decision import guards


@dataclass(frozen=True, slots=True)
class ApprovalCounter:
    """Counts yeses. `lookup` is None where people's present standing cannot be asked."""

    policy: Policy
    ledger: Ledger
    lookup: ApproverLookup | None = None

    async def needed(self, incident: Incident, proposal: PlanProposed) -> tuple[int, tuple[str, ...]]:
        """Return how many have to say yes now, and whose earlier yes no longer counts.

        Shape: at least the number in the proposal; nodes and askers may have been added since. For each yes that
        lapsed another yes is needed, from another person.
        Raises: CannotTell when it is not known whether an earlier yes still counts.
        """
        nodes = 1
        if self.policy.approvals_for_several > proposal.approvals_needed:
            nodes = len(await self.ledger.nodes(incident.group)) if incident.group else 1
        strange = guards.raised_by_stranger(self.policy, incident)
        needed = max(proposal.approvals_needed, self.policy.approvals_needed(nodes, strange))
        if len(incident.endorsements) + 1 < needed:
            return needed, ()
        lapsed = tuple([said.by for said in incident.endorsements if not await self._counts(incident, said)])
        return needed + len(lapsed), lapsed

    async def _counts(self, incident: Incident, said: Decision) -> bool:
        by = said.by
        earlier = Approval(
            by, "", os_user=said.event.os_user
        )  # in a terminal a name is only claimed: the login may ask
        asked = not self.policy.self_approval and guards.has_asked(self.policy, incident, earlier)
        try:
            again = await self.lookup.again(by) if self.lookup is not None else Approval(by, "")
            guards.is_named(self.policy, again)
        except NotAnApprover as no:
            if self.lookup is None and self.policy.approver_groups and not asked:  # a group may still name them
                raise CannotTell(
                    f"{by} has said yes, and it cannot be checked here whether they still may.",
                    "Say the last yes in the chat.",
                ) from no
            return False
        return not asked
