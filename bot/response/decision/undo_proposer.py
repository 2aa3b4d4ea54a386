"""Undoes what an incident did: a new incident with the inverse plan, approved like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.action import Action, Plan, Proof, Step
from bot.domain.alert import BOT, UNDO, Alert
from bot.domain.contracts import NodeDirectory
from bot.domain.entry import Append
from bot.domain.errors import (
    AlreadyDecided,
    AlreadyTried,
    CannotRead,
    CannotTell,
    Conflict,
    HostKeyRejected,
    InventoryError,
    MissingRight,
    NodeBusy,
    NothingToUndo,
    StateChanged,
    Unreachable,
)
from bot.domain.events import AlertReceived, PlanProposed, Triaged
from bot.domain.fold import fold
from bot.domain.incident import Incident
from bot.domain.policy import SAME_AGAIN, Approval, Policy
from bot.domain.safe_text import one_line
from bot.domain.verdict import Status, Verdict
from bot.ledger import Ledger
from bot.response.decision import guards
from bot.response.decision.preflight import bindings_for_version, machine_drift, unit_state_evidence, unit_state_words
from bot.response.execution.node_access import NodeAccess
from bot.response.execution.sudoers import acting_lines
from bot.response.incident_record import UNDO_TIMES, UndoableStep, short_id, undo_ids, undoable


@dataclass(frozen=True, slots=True)
class UndoProposer:
    """Proposes inverse plans; what it needs is handed in."""

    policy: Policy
    ledger: Ledger
    reach: NodeAccess
    nodes: NodeDirectory

    async def propose(self, incident: Incident, approval: Approval) -> Incident:
        """Open the incident that would undo this incident, up to its proposal.

        Raises: Refused, by its name, when there is nothing to undo, or the node is not as it was left.
        """
        done = self._steps_to_undo(incident)
        steps = tuple(step for act in reversed(done) for step in act.inverse)
        plan = Plan(incident.node, steps)
        guards.check_units_named(self.policy, plan, self.reach.actions)
        machine_id = incident.proposal.binds.get("machine_id", "") if incident.proposal is not None else ""
        again = await self.ledger.last_try(plan, machine_id, SAME_AGAIN)
        if again is not None:
            raise AlreadyTried(f"Incident {again} undid the same on {incident.node} less than a day ago.")
        try:
            node = self.nodes.find(incident.node)
            lacking = await self.reach.lacking(node, steps)
            seen = await self.reach.look(node, [*(act.step for act in done), *steps], steps)
        except HostKeyRejected as no:
            raise StateChanged(f"Another machine answers: {no.sentence}") from no
        except (Unreachable, CannotRead, InventoryError) as no:
            raise CannotTell(f"The node cannot be read: {no.sentence}", "Try again.") from no
        assert incident.proposal is not None
        if others := machine_drift(incident.proposal.binds, node, seen):
            raise StateChanged(f"Another machine answers: {'; '.join(others)}")
        for act, facts in zip(done, seen.facts, strict=False):
            action = self.reach.actions[act.step.action]
            # What failed has left less: the same is to be restored as then.
            is_as_left = act.left and action.inverse(act.step.args, facts) == action.inverse(act.step.args, act.left)
            if not is_as_left and action.judge(act.step.args, act.before, facts) is not Proof.PROVEN:
                left = f"It is not as incident {incident.id} left it: {unit_state_words(facts)}"
                raise StateChanged(left, "Look at it by hand.")
        if lacking:
            lines = "; ".join(acting_lines(node.user or "zombie", lacking))
            raise MissingRight(f"The login on {node.name} may not run what undoing needs.", f"sudoers: {lines}")
        undone = [act.step for act in done]
        begun = zip(incident.steps, incident.proposal.plan.steps, strict=False)
        kept = [step.action for record, step in begun if record.may_have_run and step not in undone]
        evidence = tuple(
            unit_state_evidence(step, facts) for step, facts in zip(steps, seen.facts[len(done) :], strict=True)
        )
        words = steps_in_words(self.reach.actions, steps)
        summary = f"Undo of incident {incident.id}: {words}. The node was not judged again."
        if kept:
            summary += f" Not undone: {', '.join(kept)}."
        verdict = Verdict(incident.node, Status.UNKNOWN, None, None, summary, evidence, plan=plan)
        version = incident.triage.playbook_version if incident.triage is not None else 0
        binds = bindings_for_version(verdict, node, seen, f"{incident.playbook} {version}", self.policy)
        needed = self.policy.approvals_needed(1, strange=False)
        as_left = {"as left": "; ".join(seen.says for seen in evidence)}
        proposal = PlanProposed.of(plan, binds, needed, as_left)
        return await self._open_incident(incident, approval, Triaged(verdict, incident.playbook, version), proposal)

    def _steps_to_undo(self, incident: Incident) -> tuple[UndoableStep, ...]:
        """The steps that may have run and have a lasting effect."""
        if not incident.steps or incident.proposal is None:
            raise NothingToUndo(f"Incident {incident.id} changed nothing.")
        if not incident.ended:
            raise NodeBusy(f"Incident {incident.id} is still {incident.state}.", "Wait until it has ended.")
        guards.check_known_actions(self.reach.actions.keys(), incident.proposal.plan)
        done = undoable(incident, self.reach.actions)
        if not done:
            raise NothingToUndo(f"Incident {incident.id} did nothing that can be undone.")
        return done

    async def _open_incident(
        self, incident: Incident, approval: Approval, triaged: Triaged, proposal: PlanProposed
    ) -> Incident:
        for number, name in enumerate(undo_ids(incident.id), 1):
            before = await self.ledger.read(name)
            found = fold(before) if before else None
            if found is not None and found.ended:
                continue
            if found is not None and found.triage is not None:
                raise AlreadyDecided(f"{found.alert.asked_by} asked for that already: it is incident {found.id}.")
            kind = approval.by.partition(":")[0]
            text = one_line(f"undo {incident.id}: {approval.reason}".rstrip(": "), 1000)
            alert = Alert(kind, f"{UNDO} {incident.id} {number}", approval.by, text, approval.os_user)
            group = short_id("group", "undo", incident.id, str(number))
            received = AlertReceived(alert, incident.node, group, incident.playbook, undoes=incident.id)
            opening = () if before else (Append(name, 0, (received,), approval.by),)
            offer = Append(name, len(before) or 1, (triaged, proposal), BOT)
            try:  # together: a crash leaves no undo that is never proposed
                return fold((*before, *await self.ledger.append_together((*opening, offer))))
            except Conflict as no:
                raise AlreadyDecided(f"Another person asked for that just now: it is incident {name}.") from no
        raise NothingToUndo(f"Undoing incident {incident.id} was proposed {UNDO_TIMES} times, and never carried out.")


def steps_in_words(actions: Mapping[str, Action], steps: Sequence[Step]) -> str:
    """Return what steps do, in words."""
    return ", then ".join(actions[step.action].title_of(step.args) for step in steps)
