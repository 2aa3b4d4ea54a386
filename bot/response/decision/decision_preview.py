"""Why a person may or may not do something to a node: every guard is asked, nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.domain.action import Action
from bot.domain.claim import busy_with
from bot.domain.contracts import ActingLedger, Clock, NodeDirectory
from bot.domain.errors import (
    AlreadyTried,
    ImpossibleEvent,
    InventoryError,
    NodeBusy,
    NothingProposed,
    NothingToUndo,
    Refused,
    UnknownIncident,
    UnreadableEntry,
)
from bot.domain.incident import Incident
from bot.domain.policy import SAME_AGAIN, Approval, Policy
from bot.domain.safe_text import one_line
from bot.response.decision import guards
from bot.response.record import IncidentRecord

VERBS = ("approve", "decline", "cancel", "answer", "undo", "brake", "release")


@dataclass(frozen=True, slots=True)
class DecisionPreview:
    """Asks the guards without deciding; what it needs is handed in."""

    policy: Policy
    record: IncidentRecord
    ledger: ActingLedger
    nodes: NodeDirectory
    clock: Clock
    actions: Mapping[str, Action]

    async def sentences(self, approval: Approval, verb: str, node: str) -> tuple[str, ...]:
        """Say yes or no, then what each guard says; an action's name means to approve a plan with it."""
        action = "" if verb in VERBS else verb
        who, what = one_line(approval.by, 80), one_line(verb, 40)  # the surface replaces ids by names
        if action and not any(action in (known, known.partition("_")[0]) for known in self.actions):
            return (f"There is no verb {what!r}.", f"There are: {', '.join((*VERBS, *self.actions))}.")
        where = "" if verb in ("brake", "release") else f" on {one_line(node, 100)}"
        try:
            answers = await self._told(approval, verb, action, node)
        except InventoryError as no:
            return (f"No: {no.sentence}",)
        against = [answer for answer in answers if isinstance(answer, Refused)]
        first = f"No: {who} may not {what}{where} now." if against else f"Yes: {who} may {what}{where} now."
        return (
            first,
            *(
                f"no, {answer.name}: {answer}" if isinstance(answer, Refused) else f"yes: {answer}"
                for answer in answers
            ),
        )

    async def _told(self, approval: Approval, verb: str, action: str, node: str) -> list[str | Refused]:
        if verb in ("brake", "release"):
            return [_asked("[policy] names them as an approver", lambda: guards.is_named(self.policy, approval))]
        self.nodes.find(node)  # raises for an unknown name
        incident = await self._incident(node, verb)
        if verb in ("decline", "cancel", "undo"):
            answers = [self._may_call_off(incident, approval)]
        else:
            answers = [_asked("[policy] names them as an approver", lambda: guards.is_approver(self.policy, approval))]
        if incident is None:
            kind = NothingToUndo if verb == "undo" else NothingProposed
            return [*answers, kind(f"No incident of {one_line(node, 100)} is open for that.")]
        answers.insert(0, f"it is about incident {incident.id}, which is {incident.state}")
        if verb == "cancel":
            return [*answers, _asked("no step has begun", lambda: guards.has_not_begun(incident))]
        if verb == "undo":
            return answers
        if verb == "answer":
            return [*answers, _asked("a question is open", lambda: _is_asked(incident))]
        answers.append(_asked("a plan waits for a decision", lambda: guards.is_undecided(incident)))
        if verb == "decline" or incident.proposal is None:
            return answers
        return [*answers, *await self._about_plan(incident, approval, action)]

    def _may_call_off(self, incident: Incident | None, approval: Approval) -> str | Refused:
        if incident is not None and guards.has_asked(self.policy, incident, approval):
            return "they asked for it"
        return _asked("[policy] names them as an approver", lambda: guards.is_approver(self.policy, approval))

    async def _about_plan(self, incident: Incident, approval: Approval, action: str) -> list[str | Refused]:
        policy, proposal, now = self.policy, incident.proposal, incident.clamped(self.clock())
        assert proposal is not None
        record = await self.ledger.deciding(incident.id, SAME_AGAIN)
        assert record is not None
        plan, marks = proposal.plan, record.marks
        answers: list[str | Refused] = []
        if action:
            steps = [step.action for step in plan.steps]
            has = any(action in (name, name.partition("_")[0]) for name in steps)
            lacks = NothingProposed(f"The plan is different: {', '.join(steps)}.")
            answers.append(f"the plan has it: {', '.join(steps)}" if has else lacks)
        answers += [
            _asked("another person asked", lambda: guards.is_not_the_asker(policy, incident, approval)),
            _asked("they have not said yes yet", lambda: guards.is_first_yes(policy, incident, approval)),
            _asked("it is not too late", lambda: guards.is_in_time(policy, incident, now)),
            _asked("plan and policy are as proposed", lambda: guards.is_the_same_plan(policy, proposal, approval)),
            _asked("[act] names every unit", lambda: guards.units_are_named(policy, plan, self.actions)),
            _asked("the brake is off", lambda: guards.is_released(record.pulled)),
            _asked("people mark its cause right often enough", lambda: guards.is_trusted(policy, incident, marks)),
            _asked("it is not in quiet hours", lambda: guards.is_not_quiet(policy, now)),
        ]
        held = record.hold
        busy = held is not None and held.incident != incident.id
        answers.append(NodeBusy(busy_with(held, incident.node)) if busy and held else "nothing else acts on it")
        tried = record.tried not in (None, incident.id)
        answers.append(
            AlreadyTried(f"Incident {record.tried} did the same today.") if tried else "not tried in the last 24 h"
        )
        if incident.approvals_needed > 1:
            answers.append(f"{len(incident.endorsements)} of {incident.approvals_needed} have said yes so far")
        return answers

    async def _incident(self, node: str, verb: str) -> Incident | None:
        """The newest incident of a node to which the verb can apply."""
        for summary in await self.ledger.incidents(only_open=verb != "undo", node=node):
            try:
                incident = await self.record.find(summary.id)
            except (ImpossibleEvent, UnreadableEntry, UnknownIncident):
                continue
            if verb != "undo" or (incident.ended and incident.steps):
                return incident
        return None


def _asked(so: str, guard: Callable[[], object]) -> str | Refused:
    try:
        guard()
    except Refused as no:
        return no
    return so


def _is_asked(incident: Incident) -> object:
    options: Sequence[str] = incident.question.options if incident.question is not None else ()
    return guards.is_asked(incident, next(iter(options), "go on"))
