"""The guards: each checks a single condition and raises its refusal by name; none of them can say yes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from bot.domain.action import Action, Facts, Plan
from bot.domain.alert import TERMINAL
from bot.domain.claim import Doubts
from bot.domain.errors import (
    AlreadyDecided,
    ApprovalExpired,
    CannotTell,
    CauseInDoubt,
    NotAnApprover,
    NotEnoughApprovers,
    NothingProposed,
    PartOfWave,
    PlanChanged,
    ProtectedUnit,
    ReasonMissing,
    SelfApproval,
    StaleRequest,
    StateChanged,
)
from bot.domain.events import GIVE_UP, GO_ON, Declined, Expired, PlanProposed, QuestionAsked
from bot.domain.incident import Incident
from bot.domain.policy import Approval, ApproverLookup, Policy
from bot.domain.protected import is_protected
from bot.domain.safe_text import one_line
from bot.ledger import Ledger

ApprovalT = TypeVar("ApprovalT", bound="PriorApproval")


def check_reason(approval: Approval) -> None:
    """Raises: ReasonMissing."""
    if not approval.reason.strip():
        raise ReasonMissing("A decision needs a reason: it goes on record.")


def check_approver(policy: Policy, approval: Approval) -> None:
    """Raises: NotAnApprover, also where nobody at all is named: that comes first, for it is what has to be written."""
    if policy.names_anybody:
        check_acting(policy)
    check_may_approve(policy, approval)


def check_acting(policy: Policy) -> None:
    """Raises: NotAnApprover where this program does not act at all."""
    if not policy.acting:
        raise NotAnApprover("Acting is off: [policy] acting is not true.")


def check_may_approve(policy: Policy, approval: Approval) -> None:
    """Raises: NotAnApprover; does not check whether acting is on."""
    kind, _, name = approval.by.partition(":")
    if not policy.may_approve(approval.by, approval.groups):
        who = one_line(name, 60)
        if not policy.names_anybody:
            key = "terminal_approvers" if kind == TERMINAL else "approvers"
            hint = f'Name an approver in zombie.toml: [policy] {key} = ["…"]'
            raise NotAnApprover(f"{who} may not approve: [policy] names no approvers.", hint)
        raise NotAnApprover(f"{who} is not an approver.", "Ask an approver: [policy] in zombie.toml.")


def check_self_approval(policy: Policy, incident: Incident, approval: Approval) -> None:
    """Raises: SelfApproval. An alert that no person raised has no asker."""
    if policy.self_approval:
        return
    if has_asked(policy, incident, replace(approval, os_user="")):
        raise SelfApproval("You asked for this check, so another person has to approve its plan.")
    if has_asked(policy, incident, approval):
        raise SelfApproval(
            f"The login {one_line(approval.os_user, 60)} asked for this check, and a login counts as one person, "
            "whatever name it claims: another person has to approve the plan.",
            "Approve from another person's login; if there is only one person: [policy] self_approval = true.",
        )


def has_asked(policy: Policy, incident: Incident, approval: Approval) -> bool:
    """True if this person asked for the incident or picked its node, under any name or from the same login."""
    mine = policy.speaker_names(approval.by, approval.os_user)
    asked = (policy.speaker_names(alert.asked_by, alert.os_user) for alert in incident.alerts if alert.asked_by)
    return any(mine & names for names in (*asked, *(policy.names_of(asker) for asker in incident.askers)))


def raised_by_stranger(policy: Policy, incident: Incident) -> bool:
    """True if an unknown person raised it: the approver may be the same person."""
    return any(asker.partition(":")[0] not in policy.kinds for asker in incident.askers)


def check_asker_or_approver(policy: Policy, incident: Incident, approval: Approval) -> None:
    """Raises: NotAnApprover for a person who neither asked nor may approve."""
    if not has_asked(policy, incident, approval):
        check_approver(policy, approval)


class PriorApproval(Protocol):
    """An earlier yes, to a plan or to a wave. In a terminal a name is only claimed, so its login counts too."""

    @property
    def by(self) -> str:
        """Who said it, as the ledger writes people."""

    @property
    def os_user(self) -> str:
        """The login that it was said from; empty in a chat."""


def check_not_yet_approved_by(
    policy: Policy, earlier: Sequence[PriorApproval], needed: int, approval: Approval
) -> None:
    """Raises: NotEnoughApprovers for a second yes of a person, also under another name of the same login."""
    mine = policy.speaker_names(approval.by, approval.os_user)
    if any(mine & policy.speaker_names(said.by, said.os_user) for said in earlier):
        raise NotEnoughApprovers(
            f"You have said yes already; {len(earlier)} of {needed} have.", "Ask another approver."
        )


async def lapsed_approvers(
    earlier: Sequence[ApprovalT], needed: int, again: Callable[[ApprovalT], Awaitable[object]]
) -> tuple[str, ...]:
    """Return whose earlier yes no longer counts, where the next is the last: for each of them another is needed.

    Shape: `again` looks at a yes once more, and raises NotAnApprover or SelfApproval for one that does not count.
    Raises: CannotTell when that is not known.
    """
    lapsed = []
    for said in earlier if len(earlier) + 1 >= needed else ():
        try:
            await again(said)
        except (NotAnApprover, SelfApproval):
            lapsed.append(said.by)
    return tuple(lapsed)


async def recheck_approval(
    policy: Policy, lookup: ApproverLookup | None, said: PriorApproval, elsewhere: str
) -> Approval:
    """Return how whoever said yes stands now; `elsewhere` is where that can be asked if not here.

    Raises: NotAnApprover when they may not approve any more; CannotTell when that is not known.
    """
    again = await lookup.again(said.by) if lookup is not None else Approval(said.by, "")
    try:
        check_may_approve(policy, again)
    except NotAnApprover as no:
        if lookup is None and policy.approver_groups:  # a group may still name them
            unknown = f"{said.by} has said yes, and it cannot be checked here whether they still may."
            raise CannotTell(unknown, elsewhere) from no
        raise
    return again


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
        strange = raised_by_stranger(self.policy, incident)
        needed = max(proposal.approvals_needed, self.policy.approvals_needed(nodes, strange))
        lapsed = await lapsed_approvers(incident.endorsements, needed, partial(self._again, incident))
        return needed + len(lapsed), lapsed

    async def _again(self, incident: Incident, said: PriorApproval) -> None:
        check_self_approval(self.policy, incident, Approval(said.by, "", os_user=said.os_user))
        await recheck_approval(self.policy, self.lookup, said, "Say the last yes in the chat.")


def check_not_begun(incident: Incident) -> None:
    """Raises: AlreadyDecided when it has ended, StateChanged once a step has begun."""
    if incident.ended:
        raise AlreadyDecided(f"The incident has been {incident.state} since {incident.updated_at:%H:%M:%S} UTC.")
    if incident.has_begun:
        raise StateChanged(
            "Its first step has begun, and a step that has begun is finished.", "The brake stops the next step."
        )


def require_open_question(incident: Incident, answer: str, asked_at: datetime | None = None) -> QuestionAsked:
    """Return the question that an answer is for.

    Shape: `asked_at` is when the question that the person saw was asked; None for the open question.
    Raises: AlreadyDecided when no question is open; StaleRequest when another is; CannotTell for an answer that
    does not fit.
    """
    if incident.question is None or incident.ended:
        raise AlreadyDecided(f"No question is open in incident {incident.id}, which is {incident.state}.")
    if asked_at is not None and asked_at != incident.asked_at:
        open_now = one_line(incident.question.question, 300)
        raise StaleRequest(f"That was about an earlier question. Open is: {open_now}", "Answer it on the card.")
    if not incident.node:
        raise CannotTell("Which node is meant has to be picked first.")
    answers = incident.question.options or (GO_ON, GIVE_UP)
    if answer not in answers:
        raise CannotTell(f"{one_line(answer, 60)!r} is not an answer to it.", f"Answer with: {', '.join(answers)}.")
    return incident.question


def require_open_proposal(incident: Incident) -> PlanProposed:
    """Return the proposal to decide.

    Raises: AlreadyDecided, with who was first; ApprovalExpired; NothingProposed.
    """
    if incident.decision is not None:
        decision = incident.decision
        word = "declined" if isinstance(decision.event, Declined) else "approved"
        raise AlreadyDecided(
            f"{decision.by} {word} it at {decision.at:%H:%M:%S} UTC: {one_line(decision.event.reason, 200)}"
        )
    if isinstance(incident.ending, Expired):
        raise ApprovalExpired(f"Nobody decided in time. {incident.ending.because}", "Check the node again.")
    if incident.proposal is None:
        why = incident.withheld.because if incident.withheld is not None else "its verdict offers no plan."
        raise NothingProposed(f"There is nothing to approve in incident {incident.id}: {why}")
    if incident.ended:
        because = getattr(incident.ending, "because", "")
        raise AlreadyDecided(
            f"The incident has been {incident.state} since {incident.updated_at:%H:%M:%S} UTC. {because}".strip()
        )
    return incident.proposal


def check_in_time(policy: Policy, incident: Incident, now: datetime) -> None:
    """Raises: ApprovalExpired."""
    within = policy.decided_within(incident)
    if incident.proposed_at is not None and now >= incident.proposed_at + within:
        minutes = within.total_seconds() / 60
        raise ApprovalExpired(f"The plan was proposed more than {minutes:g} minutes ago.", "Check the node again.")


def check_not_in_wave(incident: Incident) -> None:
    """Raises: PartOfWave for an incident that only its wave may approve."""
    if incident.wave:
        raise PartOfWave(
            f"The incident is part of {incident.wave}, which gives each node its turn.",
            f"Decide on the wave: zombie wave {incident.wave}",
        )


def check_same_plan(policy: Policy, proposal: PlanProposed, approval: Approval) -> None:
    """Raises: PlanChanged when another plan was meant, or the record or the policy has changed."""
    if approval.digest and approval.digest != proposal.digest:
        raise PlanChanged("The plan on record is not the plan you saw.", "Look at it again.")
    if not proposal.is_unaltered:
        raise PlanChanged("The plan on record was altered.", "zombie audit verify")
    if proposal.binds.get("policy") != policy.digest:
        raise PlanChanged("The policy has changed since the plan was proposed.", "Check the node again.")


def check_known_actions(actions: Collection[str], plan: Plan) -> None:
    """Raises: CannotTell for a plan with a step that this program does not know."""
    if strange := [step.action for step in plan.steps if step.action not in actions]:
        raise CannotTell(
            f"This program does not know “{one_line(strange[0], 60)}”: a newer program proposed it.", "Update it."
        )


def check_may_be_stopped(policy: Policy, units: Iterable[str]) -> None:
    """Raises: ProtectedUnit for a unit that no plan may stop, or that [act] units does not name."""
    for unit in units:
        if is_protected((unit,)):
            raise ProtectedUnit(f"{unit} is protected: without it the node or the access to it is lost.")
        if unit not in policy.units:
            raise ProtectedUnit(f"{unit} is not among the units that may be stopped.", f'[act] units = ["{unit}"]')


def check_may_be_started(policy: Policy, units: Iterable[str]) -> None:
    """Raises: ProtectedUnit for a unit that [act] start_units does not name; protected units may be started."""
    if missing := [unit for unit in units if unit not in policy.start_units]:
        those = f"{missing[0]} is" if len(missing) == 1 else f"{', '.join(missing)} are"
        line = ", ".join(f'"{unit}"' for unit in sorted({*policy.start_units, *missing}))
        raise ProtectedUnit(f"{those} not among the units that may be started.", f"[act] start_units = [{line}]")


def check_units_named(policy: Policy, plan: Plan, actions: Mapping[str, Action]) -> None:
    """Raises: ProtectedUnit for a unit of the plan that may not be stopped or started."""
    starts = [step for step in plan.steps if (action := actions.get(step.action)) and action.starts_a_unit]
    check_may_be_stopped(
        policy, (step.args["unit"] for step in plan.steps if "unit" in step.args and step not in starts)
    )
    check_may_be_started(policy, (step.args["unit"] for step in starts))


def check_no_protected_alias(action: Action, facts: Facts) -> None:
    """Raises: ProtectedUnit for a unit with a protected alias on the node; starting it is allowed."""
    if action.starts_a_unit:
        return
    names = sorted({facts.get("Id", ""), *facts.get("Names", "").split()} - {""})
    if is_protected(names):
        raise ProtectedUnit(f"It is protected, because the node knows it as {one_line(', '.join(names), 200)}.")


def units_of(plan: Plan) -> tuple[str, ...]:
    """The units of a plan's steps."""
    return tuple(step.args["unit"] for step in plan.steps if "unit" in step.args)


def check_cause_trusted(policy: Policy, incident: Incident, doubts: Doubts) -> None:
    """Raises: CauseInDoubt if its cause has come into doubt since the proposal."""
    cause = incident.verdict.cause if incident.verdict is not None else None
    check_causes_trusted(policy, (cause,) if cause is not None else (), doubts)


def check_causes_trusted(policy: Policy, causes: Sequence[str], doubts: Doubts) -> None:
    """Raises: CauseInDoubt for the first cause that is in doubt."""
    for cause in causes:
        if doubt := doubts(policy, cause):
            raise CauseInDoubt(doubt)
